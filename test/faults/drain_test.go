package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
)

// killing is the points of the drain at which it is killed, once or several
// times in a row, and what the protocol promises then.
type killing struct {
	name    string
	kills   []string
	promise promise
}

// promises is what p comes to on the queues of s: on a quorum queue a message of a
// proven batch may come back, and without an id it can't be told from one that never
// was here (ADR 13).
func (s site) promises(p promise) promise {
	if p == exactly && s.kind == brokertest.Quorum {
		return exactWithID
	}
	return p
}

func TestNothingIsLostOrDoubledWhenTheDrainIsKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	// After one loss everything is recognised, but for what ADR 13 says. A second one before the recovery is
	// over may leave possible copies of the last batch, and with ids not even that.
	tests := []killing{
		{"before it consumes", []string{"drain.session"}, exactly},
		{"messages in hand", []string{"drain.delivered"}, exactly},
		{"messages of the second batch in hand", []string{"drain.delivered@2"}, exactly},
		{"consumer cancelled", []string{"drain.cancelled"}, exactly},
		{"consumer cancelled again", []string{"drain.cancelled@2"}, exactly},
		{"in the transaction that stores", []string{"drain.txn1_open"}, exactly},
		{"in the second transaction that stores", []string{"drain.txn1_open@2"}, exactly},
		{"stored, not acknowledged", []string{"drain.txn1_done"}, exactly},
		{"second batch stored, not acknowledged", []string{"drain.txn1_done@2"}, exactly},
		{"acknowledged, not proven", []string{"drain.acked"}, exactly},
		{"second batch acknowledged, not proven", []string{"drain.acked@2"}, exactly},
		{"proven, not recorded", []string{"drain.proof_read"}, exactly},
		{"second batch proven, not recorded", []string{"drain.proof_read@2"}, exactly},
		{"between two cycles", []string{"drain.txn2_done"}, exactly},
		{"acknowledged, and then others in hand", []string{"drain.acked", "drain.delivered"}, exactWithID},
		{"while it recognises what came back", []string{"drain.txn1_done", "drain.matched"}, exactWithID},
		{"while it recognises the last that came back", []string{"drain.txn1_done", "drain.matched@64"}, exactWithID},
		{"while it marks a possible copy", []string{"drain.txn1_done", "drain.delivered", "drain.twin"}, exactWithID},
		{"at every step of one recovery", []string{"drain.txn1_done@2", "drain.txn1_open", "drain.txn1_done", "drain.acked", "drain.proof_read"}, exactWithID},
	}
	eachSite(t, func(t *testing.T, s site) {
		const n = 200 // some batches of 64 and more
		published := make([]ledger, len(tests))
		for i, tt := range tests {
			published[i] = ledger{}
			brokertest.PublishN(t, s.amqp, "", s.queue(t, tt.name), n, published[i].mixed)
		}
		for i, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				awaitFigures(t, s, tt.name, n)
				d := s.dashboard(t, tt.name)
				for _, point := range tt.kills {
					killedAt(t, d, point, nil)
				}
				s.drainToTheEnd(t, d, tt.name)
				published[i].check(t, opened(t, d), s.promises(tt.promise))
			})
		}
	})
}

// awaitFigures waits until the management API knows how large the messages of a
// queue are: only then a drain begins with more than one message.
func awaitFigures(t *testing.T, s site, queue string, n int64) {
	t.Helper()
	brokertest.Eventually(t, "the figures of "+queue, func() bool {
		var q struct {
			Messages int64
			Bytes    int64 `json:"message_bytes"`
		}
		return s.broker.Queue(t, s.amqp, queue, &q) && q.Messages >= n && q.Bytes > 0
	})
}

func TestNothingIsLostWhenTenThousandAreDrainedOverEveryPoint(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s site) {
		const n = 10_000
		published := ledger{}
		queue := s.queue(t, "kill.parking")
		brokertest.PublishN(t, s.amqp, "", queue, n, published.mixed)
		awaitFigures(t, s, queue, 1)
		d := s.dashboard(t, queue)
		for _, point := range []string{
			"drain.session", "drain.delivered@3", "drain.cancelled@2", "drain.txn1_open@3", "drain.txn1_done@3", "drain.matched@7",
			"drain.txn1_done@2", "drain.delivered", "drain.twin@3", "drain.acked@3", "drain.proof_read@2", "drain.txn2_done@3",
		} {
			killedAt(t, d, point, nil)
		}
		s.drainToTheEnd(t, d, queue)
		published.check(t, opened(t, d), exactWithID)
	})
}

func TestNothingIsLostWhenTheDrainIsKilledAtRandom(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s site) {
		const kills, each, step = 20, 500, 25
		published := ledger{}
		queue := s.queue(t, "kill.parking")
		d := s.dashboard(t, queue)
		for kill := range kills {
			d.Run()
			killed := make(chan struct{})
			go func() {
				defer close(killed)
				time.Sleep(rand.N(time.Second)) // it takes a third of that to connect
				d.Kill()
			}()
			for i := 0; i < each; i += step { // there is always something on its way
				brokertest.PublishN(t, s.amqp, "", queue, step, published.from(kill*each+i))
			}
			<-killed
		}
		s.drainToTheEnd(t, d, queue)
		published.check(t, opened(t, d), exactWithID)
	})
}

// Since 4.0 a message that was dead-lettered after a delivery is called redelivered
// at its first delivery from the parking queue, too. Whoever takes that for a
// second copy loses it.
func TestNothingIsLostWhenWhatWasRejectedIsDrained(t *testing.T) {
	t.Parallel()
	tests := []killing{
		{"stored, not acknowledged", []string{"drain.txn1_done"}, exactWithID},
		{"acknowledged, not proven", []string{"drain.acked"}, exactWithID},
		{"proven, not recorded", []string{"drain.proof_read"}, exactWithID},
	}
	eachSite(t, func(t *testing.T, s site) {
		for odd, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if !s.broker.AtLeast(4, 0) {
					tt.promise = s.promises(exactly)
				}
				const n = 100
				published := ledger{}
				queue := s.queue(t, tt.name)
				work := brokertest.Queue(t, s.amqp, s.kind, tt.name+" work", s.lasting(amqp.Table{
					"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue,
				}))
				brokertest.PublishN(t, s.amqp, "", work, n, published.mixed)
				// One more in front of every second case: which of each two comes first
				// depends on the queue type, and batches have even sizes.
				brokertest.PublishN(t, s.amqp, "", queue, odd%2, published.from(2*n))
				rejectAll(t, s, work, queue, n, published.from(n))
				awaitFigures(t, s, queue, 2*n)
				d := s.dashboard(t, queue)
				for _, point := range tt.kills {
					killedAt(t, d, point, nil)
				}
				s.drainToTheEnd(t, d, queue)
				published.check(t, opened(t, d), tt.promise)
			})
		}
	})
}

// rejectAll rejects n messages of a work queue and publishes another one straight
// into the parking queue after each. So a batch may end in a message that is really
// new, which is what lets the protocol be certain of it.
func rejectAll(t *testing.T, s site, work, queue string, n int, next func(i int) amqp.Publishing) {
	t.Helper()
	dead, straight := brokertest.Channel(t, s.amqp), brokertest.Channel(t, s.amqp)
	if err := straight.Confirm(false); err != nil {
		t.Fatal(err)
	}
	deliveries, err := dead.Consume(work, "", false, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		d, ok := <-deliveries
		if !ok {
			t.Fatalf("the broker ended the consumer after %d of %d", i, n)
		}
		if err := d.Reject(false); err != nil {
			t.Fatal(err)
		}
		confirm, err := straight.PublishWithDeferredConfirm("", queue, false, false, next(i))
		if err != nil {
			t.Fatal(err)
		}
		if acked, err := confirm.WaitContext(t.Context()); err != nil || !acked {
			t.Fatalf("message %d: %t, %v", n+i, acked, err)
		}
	}
}
