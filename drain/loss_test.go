package drain_test

import (
	"context"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/drain"
)

func identical(int) amqp.Publishing {
	return amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte(`{"order":1}`)}
}

// kinds runs a test on a classic and on a quorum queue, each in a vhost of its own.
func kinds(t *testing.T, test func(t *testing.T, p place, q parkade.Queue)) {
	t.Helper()
	for _, kind := range []string{brokertest.Classic, brokertest.Quorum} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, brokertest.Main(t))
			var args amqp.Table
			if kind == brokertest.Quorum {
				args = amqp.Table{"x-delivery-limit": 1000000}
			}
			brokertest.Queue(t, p.url, kind, "orders.parking", args)
			test(t, p, p.queue(t, "orders.parking"))
		})
	}
}

// copies counts possible copies, and how often a message was recognised.
func copies(t *testing.T, p place) (flagged, seen int64) {
	t.Helper()
	page := parkade.Page{Limit: 500}
	for more := true; more; {
		var ms []parkade.Message
		var err error
		if ms, more, err = p.store.Messages(t.Context(), parkade.Filter{}, page); err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			page.Before = m.ID
			seen += m.SeenAgain
			if m.CopyOf != 0 {
				flagged++
			}
		}
	}
	return flagged, seen
}

// cut makes the third cycle of the first session lose its connection at a step.
func cut(b drain.Broker, step string) drain.Broker {
	open, sessions := b.OpenIntake, 0
	b.OpenIntake = func(ctx context.Context, vhost, queue string, prefetch int, heartbeat time.Duration) (drain.Intake, error) {
		in, err := open(ctx, vhost, queue, prefetch, heartbeat)
		if sessions++; sessions > 1 || err != nil {
			return in, err
		}
		cycle := 0
		at := func(here string) {
			if cycle == 3 && here == step {
				in.Close(time.Now())
			}
		}
		collect, ack, prove := in.Collect, in.Ack, in.Prove
		in.Collect = func(ctx context.Context, tag string, l drain.Limits) ([]parkade.Delivery, error) {
			cycle++
			l.Delivered = func() { at("delivered") }
			all, err := collect(ctx, tag, l)
			at("collected")
			return all, err
		}
		in.Ack = func() error { err := ack(); at("acked"); return err }
		in.Prove = func(p int) error { err := prove(p); at("proven"); return err }
		return in, nil
	}
	return b
}

func TestIdenticalMessagesAreStoredOnceWhereverTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	const n = 1000
	for _, step := range []string{"delivered", "collected", "acked", "proven"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			kinds(t, func(t *testing.T, p place, q parkade.Queue) {
				brokertest.PublishN(t, p.url, "", q.Name, n, identical)
				s, _ := supervise(t, drain.Options{
					Store: p.store, Brokers: map[string]drain.Broker{"main": cut(wired(t, p.broker), step)}, Rules: []drain.Rule{{Queue: q, Auto: true}},
				})
				brokertest.Eventually(t, "the queue drained", func() bool {
					return parked(t, p.store) >= n && state(s, q).Phase == parkade.Listening
				})
				brokertest.WaitReady(t, p.url, q.Name, 0)
				flagged, seen := copies(t, p)
				// On a quorum queue a message that was proven may come back, and without an
				// id nobody can tell (ADR 13).
				mayFlag := strings.HasSuffix(t.Name(), "quorum")
				if got := parked(t, p.store); got != n || flagged != 0 && !mayFlag {
					t.Errorf("%d rows for %d messages, %d of them called possible copies", got, n, flagged)
				}
				if step == "collected" && seen == 0 {
					t.Error("no copy was recognised: the loss didn't happen")
				}
			})
		})
	}
}

func TestForcedClosesLoseNothingAndDoubleNothingSilently(t *testing.T) {
	t.Parallel()
	const n, rounds = 1000, 3
	kinds(t, func(t *testing.T, p place, q parkade.Queue) {
		s, _ := supervise(t, drain.Options{
			Store: p.store, Brokers: map[string]drain.Broker{"main": wired(t, p.broker)}, Rules: []drain.Rule{{Queue: q, Auto: true}},
		})
		for range rounds {
			brokertest.Eventually(t, "a connection to close", func() bool {
				return brokertest.CloseConnections(t, p.broker, p.url, "drain "+q.Name) > 0
			})
			brokertest.PublishN(t, p.url, "", q.Name, n/rounds, identical)
		}
		brokertest.Eventually(t, "the queue drained", func() bool {
			return parked(t, p.store) >= n/rounds*rounds && state(s, q).Phase == parkade.Listening
		})
		brokertest.WaitReady(t, p.url, q.Name, 0)
		flagged, seen := copies(t, p)
		rows, published := parked(t, p.store), int64(n/rounds*rounds)
		if rows-flagged > published || published > rows+seen {
			t.Errorf("%d published, %d rows, %d of them possible copies, %d recognised", published, rows, flagged, seen)
		}
	})
}
