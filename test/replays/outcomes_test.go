package replays

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

func TestEachReplayEndsInItsOwnTrueOutcome(t *testing.T) {
	t.Parallel()
	stranger := func(t *testing.T, s stage) amqp.Publishing {
		t.Helper()
		m := died(theOne, normal)
		m.UserId, _, _ = strings.Cut(strings.TrimPrefix(s.amqp, "amqp://"), ":") // who publishes it, and not the dashboard
		return m
	}
	tests := map[string]struct {
		origin  parkade.Origin // of the one
		message func(t *testing.T, s stage) amqp.Publishing
		then    func(t *testing.T, s stage) // once the operation was made and before it is sent
		want    parkade.Outcome
		why     string
	}{
		"its binding is deleted": {
			origin: parkade.Origin{Exchange: "orders", RoutingKey: "gone", Queue: "orders.gone"},
			then: func(t *testing.T, s stage) {
				t.Helper()
				if err := brokertest.Channel(t, s.amqp).QueueUnbind("orders.gone", "gone", "orders", nil); err != nil {
					t.Fatal(err)
				}
			},
			want: parkade.Unroutable, why: "No queue is bound there",
		},
		"its exchange is deleted": {
			origin: parkade.Origin{Exchange: "brittle", RoutingKey: placed, Queue: "brittle.order.placed"},
			then: func(t *testing.T, s stage) {
				t.Helper()
				if err := brokertest.Channel(t, s.amqp).ExchangeDelete("brittle", false, false); err != nil {
					t.Fatal(err)
				}
			},
			want: parkade.Refused, why: "no exchange 'brittle'",
		},
		"its queue is full": {
			origin: parkade.Origin{RoutingKey: "full", Queue: "full"},
			want:   parkade.Nacked, why: "it is full",
		},
		"its queue is full, and others might not be": {
			origin: parkade.Origin{Exchange: "orders", RoutingKey: "full", Queue: "full"},
			want:   parkade.Unknown, why: "At least one queue refused it",
		},
		"we may not publish there": {
			origin: parkade.Origin{Exchange: "closed", RoutingKey: placed, Queue: "closed.order.placed"},
			want:   parkade.Refused, why: "access to exchange 'closed'",
		},
		"it has another's user id": {message: stranger, want: parkade.Confirmed},
	}
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := limited(t, b)
		shop(t, s.amqp)
		var queues []string
		for name := range tests {
			queues = append(queues, brokertest.Queue(t, s.amqp, brokertest.Quorum, name+".parking", amqp.Table{"x-delivery-limit": 1_000_000}))
		}
		s = s.open(queues...)
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				s := s
				s.t = t
				one := died(theOne, tt.origin)
				if tt.message != nil {
					one = tt.message(t, s)
				}
				all := s.park(name+".parking", one)
				op := s.begin(order(parkade.Target{To: parkade.ToAuto}, map[string]any{"delay": "1h"}, all...))
				if tt.then != nil {
					tt.then(t, s)
				}
				s.Post("/operations/"+op.ID+"/resume", nil, nil)
				op = s.finish(op)
				records := s.wantTrue(op, all, s.arrivals(normal.Queue, "orders.gone", "brittle.order.placed", "closed.order.placed"))
				for i, r := range records {
					switch {
					case i != theOne && r.Outcome != parkade.Confirmed:
						t.Errorf("its neighbour %d is %s: %s", i, r.Outcome, r.Why)
					case i == theOne && (r.Outcome != tt.want || !strings.Contains(r.Why, tt.why)):
						t.Errorf("it is %s (%s), want %s because %q", r.Outcome, r.Why, tt.want, tt.why)
					}
				}
				brokertest.WaitReady(t, s.amqp, "full", 1) // the filler
			})
		}
	})
}
