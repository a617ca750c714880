package replay_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
	"parkade/replay"
	"parkade/store"
	"parkade/store/storetest"
)

// wired returns the replays' view of a real broker.
func wired(t *testing.T, b brokertest.Broker) replay.Broker {
	t.Helper()
	rabbit, err := broker.New(broker.Config{Name: "main", AMQP: b.AMQP, Management: b.Management}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rabbit.Close)
	return replay.Broker{
		OpenPublisher: func(ctx context.Context, vhost, purpose string) (replay.Publisher, error) {
			p, err := rabbit.OpenPublisher(ctx, vhost, purpose)
			if err != nil {
				return replay.Publisher{}, err
			}
			return replay.Publisher{Send: p.Send, Bind: p.Bind, Results: p.Results(), Blocked: p.Blocked, Close: p.Close}, nil
		},
		Topology: rabbit.Topology,
		Check:    func(d parkade.Draft) error { return broker.Check(d, rabbit.Limits()) },
		Risky:    func(d parkade.Draft) bool { return broker.Risky(d, rabbit.Limits()) },
		MayBind:  rabbit.MayBind, RemoveExchange: rabbit.RemoveExchange,
	}
}

// place is a vhost of one test's own on a real broker, and a store.
type place struct {
	broker brokertest.Broker
	url    string
	store  *store.Store
	queue  parkade.Queue // where the messages were parked
}

func newPlace(t *testing.T) place {
	t.Helper()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	return place{b, url, storetest.Open(t), parkade.Queue{Broker: "main", Vhost: brokertest.VhostName(t, url), Name: "orders.parking"}}
}

// park stores n messages with ids from 0 up.
func (p place) park(t *testing.T, n int) []parkade.MessageID {
	t.Helper()
	all := make([]parkade.Delivery, n)
	for i := range all {
		all[i] = storetest.Delivery(strconv.Itoa(i), `{"order":`+strconv.Itoa(i)+`}`)
	}
	return storetest.Park(t, p.store, p.queue, all...)
}

// replay creates an operation that sends messages straight into a queue.
func (p place) replay(t *testing.T, ids []parkade.MessageID, target string, perSecond float64) parkade.OperationID {
	t.Helper()
	messages, _, err := p.store.Selection(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	items := make([]store.Planned, len(messages))
	for i, m := range messages {
		items[i] = store.Planned{Message: m.ID, Version: m.Version, LastReplay: m.LastReplay, RoutingKey: target}
	}
	return p.create(t, items, perSecond)
}

func (p place) create(t *testing.T, items []store.Planned, perSecond float64) parkade.OperationID {
	t.Helper()
	op, _, err := p.store.Create(t.Context(), store.NewOperation{Verb: parkade.Replay, Items: items, By: "ann", Rate: perSecond})
	if err != nil {
		t.Fatal(err)
	}
	return op.ID
}

// run runs a runner until the test ends or stop is called.
func (p place) run(t *testing.T, b replay.Broker) (r *replay.Runner, stop func()) {
	t.Helper()
	r = replay.NewRunner(p.store, map[string]replay.Broker{"main": b}, nil)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return r, stop
}

// operation reads an operation.
func (p place) operation(t *testing.T, id parkade.OperationID) parkade.Operation {
	t.Helper()
	op, err := p.store.Operation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// await waits until an operation is in a state, and returns it.
func (p place) await(t *testing.T, id parkade.OperationID, state parkade.OperationState) parkade.Operation {
	t.Helper()
	brokertest.Eventually(t, "operation "+string(state), func() bool { return p.operation(t, id).State == state })
	return p.operation(t, id)
}

// records returns what became of each message of an operation, by stamp.
func (p place) records(t *testing.T, id parkade.OperationID) map[string]parkade.ReplayRecord {
	t.Helper()
	all := map[string]parkade.ReplayRecord{}
	for after, more := int64(0), true; more; {
		items, err := p.store.Items(t.Context(), id, "", after, 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			after = i.Position
			if i.Replay != nil {
				all[i.Replay.Stamp] = *i.Replay
			}
		}
		more = len(items) > 0
	}
	return all
}

// arrived checks what is in the target against what the operation says, and
// returns how many arrived: each confirmed one is there, once; of the others only
// unknown ones may be.
func (p place) arrived(t *testing.T, id parkade.OperationID, target string) int {
	t.Helper()
	n := 0
	brokertest.Eventually(t, "a figure of the target that stays", func() bool {
		before := n
		n = brokertest.Ready(t, p.url, target)
		return n == before
	})
	seen := map[string]bool{}
	records := p.records(t, id)
	for _, d := range brokertest.Take(t, p.url, target, n) {
		stamp := stampOf(d)
		if seen[stamp] {
			t.Errorf("replay %s is there twice", stamp)
		}
		seen[stamp] = true
		if r, ok := records[stamp]; !ok || r.Outcome != parkade.Confirmed && r.Outcome != parkade.Unknown {
			t.Errorf("replay %s is there although it is %q", stamp, r.Outcome)
		}
	}
	for stamp, r := range records {
		if r.Outcome == parkade.Confirmed && !seen[stamp] {
			t.Errorf("replay %s is called confirmed and isn't there", stamp)
		}
	}
	return n
}

func stampOf(d amqp.Delivery) string {
	stamp, _ := d.Headers[parkade.ReplayIDHeader].(string)
	return stamp
}
