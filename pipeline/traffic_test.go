package pipeline_test

import (
	"net/http"
	"testing"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

func TestNoOrderIsLostWhenConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{Traffic: pipeline.Traffic{Rate: 40, Poison: 20, Transient: 20, TransientFailures: 2}})
		state := func() pipeline.State { return s.call(http.MethodGet, "/", "") }
		for _, part := range []string{"billing consumer", "billing consumer, publishing", "billing relay"} {
			brokertest.CloseConnections(t, b, s.url, part)
			before := state().Counts
			brokertest.Eventually(t, "orders placed and handled after "+part+" was closed", func() bool {
				now := state().Counts
				return now.Published > before.Published+20 && now.Invoiced > before.Invoiced+20
			})
		}
		s.call(http.MethodPatch, "/traffic", `{"rate": 0}`)
		parked := map[string]bool{} // by message id: one may be parked twice
		settles(t, "every order that was placed invoiced or parked", func() bool {
			for _, d := range brokertest.Take(t, s.url, s.Parking(), brokertest.Ready(t, s.url, s.Parking())) {
				parked[d.MessageId] = true
			}
			now := state().Counts
			return now.Invoiced+int64(len(parked)) == state().Database.Orders
		})
		if len(parked) < 10 {
			t.Errorf("only %d orders were parked, so this says little", len(parked))
		}
	})
}

func TestOutboxGrowsWhileTheRelayIsStopped(t *testing.T) {
	t.Parallel()
	s := start(t, brokertest.Main(t), pipeline.Options{RelayStopped: true, Traffic: pipeline.Traffic{Rate: 50}})
	state := func() pipeline.State { return s.call(http.MethodGet, "/", "") }
	brokertest.Eventually(t, "orders that nobody hears of", func() bool { now := state(); return now.Database != nil && now.Database.OutboxPending > 20 })
	if now := state(); !now.RelayStopped || now.Counts.Published > 0 || now.Database.OutboxPending != now.Database.Orders {
		t.Errorf("with the relay stopped: %+v, %+v", now.Counts, *now.Database)
	}
	s.call(http.MethodPatch, "/traffic", `{"rate": 0}`)
	if s.call(http.MethodPost, "/relay/start", "").RelayStopped {
		t.Error("the relay does not start")
	}
	brokertest.Eventually(t, "an invoice for each order, and no backlog", func() bool {
		now := state()
		return now.Database.Invoices == now.Database.Orders && now.Database.OutboxPending == 0
	})
	if !s.call(http.MethodPost, "/relay/stop", "").RelayStopped {
		t.Error("the relay does not stop")
	}
}

func TestFaultsOfTheTrafficAllShow(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	s := start(t, b, pipeline.Options{Topology: pipeline.Topology{Prefix: "demo."}, Traffic: pipeline.Traffic{
		Rate: 15, Poison: 20, Transient: 20, Malformed: 20, NoID: 20, Slow: 5, Duplicate: 20, TransientFailures: 2, SlowMillis: 20,
	}})
	seen := map[any]bool{}
	settles(t, "every kind of failure in the parking queue", func() bool {
		for _, d := range brokertest.Take(t, s.url, s.Parking(), brokertest.Ready(t, s.url, s.Parking())) {
			seen[d.Headers["x-exception-type"]] = true
		}
		return seen["ValidationError"] && seen["UnknownCurrencyError"] && seen["TotalMismatchError"] &&
			seen["MalformedBody"] && seen["MissingMessageID"]
	})
	brokertest.Eventually(t, "invoices, duplicates, and figures of the queues", func() bool {
		state := s.call(http.MethodGet, "/", "")
		return state.Counts.Invoiced > 0 && state.Counts.Duplicates > 0 && len(state.Queues) == 4 && state.Queues[2].Name == "demo.orders.parking"
	})
}
