package faults

import (
	"testing"
	"time"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

// closings is how often a connection is closed in the middle of the work. Each
// time the dashboard waits a second before it connects again.
const closings = 3

func TestNothingIsLostWhenTheConnectionOfADrainIsClosed(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s site) {
		const n, step = 10_000, 50
		published := ledger{}
		queue := s.queue(t, "cut.parking")
		d := s.dashboard(t, queue)
		d.Run()
		d.Ready()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range closings {
				brokertest.CloseConnections(t, s.broker, s.amqp, "drain")
			}
		}()
		for i := 0; i < n; i += step { // there is something on its way until the last is closed
			brokertest.PublishN(t, s.amqp, "", queue, step, published.from(i))
			select {
			case <-done:
			case <-time.After(20 * time.Millisecond):
			}
		}
		<-done
		s.awaitRest(t, d, queue)
		d.Stop()
		published.check(t, opened(t, d), exactWithID)
	})
}

func TestNoReplayIsLostOrClaimedWhenItsConnectionIsClosed(t *testing.T) {
	t.Parallel()
	eachNewSite(t, func(t *testing.T, s site) {
		r := stocked(t, s, "cut", 6000)
		r.Run()
		r.Ready()
		op := r.order(parkade.Parked, straight(r.target), 250) // a connection shows some 5 s after it opened
		for range closings {
			brokertest.CloseConnections(t, s.broker, s.amqp, "replay "+op.ID)
			before := r.confirmed(op)
			r.Eventually("it goes on", time.Minute, func() bool { // it pauses after many without a confirm
				r.resume(op)
				return r.confirmed(op) > before+100
			})
		}
		r.finish(op)
		r.insist(t)
		r.check(t)
	})
}

// A killed classic queue hands out again what it had taken acks for, and calls all
// of it redelivered. So there may be possible copies, with ids too.
func TestNothingIsLostWhenTheBrokerIsKilled(t *testing.T) {
	if !soak() {
		t.Skip("minutes long, run by make soak")
	}
	t.Parallel()
	const n, kills, each = 20_000, 2, 2000
	node := brokertest.Node(t, "4.3")
	vhost := brokertest.Vhost(t, node.Broker)
	for _, kind := range []string{brokertest.Classic, brokertest.Quorum} {
		t.Run(kind, func(t *testing.T) {
			s, published := site{node.Broker, vhost, kind}, ledger{}
			queue := s.queue(t, kind+".parking")
			node.Stop() // see Kill9: a queue has to have been there for a while
			node.Start()
			brokertest.PublishN(t, vhost, "", queue, n, published.mixed)
			d := s.dashboard(t, queue)
			d.Run()
			d.Ready()
			var drained int64
			for range kills {
				drained = s.awaitMore(t, d, queue, drained+each)
				node.Kill9()
				t.Logf("killed when %d of %d were drained", drained, n)
				node.Start()
			}
			s.awaitRest(t, d, queue)
			d.Stop()
			published.check(t, opened(t, d), marked)
		})
	}
}

// awaitMore waits until a drain has taken more than before messages, and returns
// how many.
func (s site) awaitMore(t *testing.T, d *dashtest.Dashboard, queue string, before int64) (drained int64) {
	t.Helper()
	d.Eventually("more messages drained", time.Minute, func() bool {
		drained = s.drain(t, d, queue).Drained
		return drained > before
	})
	return drained
}
