// Package faults kills the real dashboard, at random and at every named point of
// its work, cuts its connections and kills its broker, and counts afterwards what
// the store and the broker hold.
package faults

import (
	"flag"
	"os"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/store"
	"parkade/test/dashtest"
)

// atOnce is how many tests run at once: they mostly wait for brokers and disks.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	code := m.Run()
	dashtest.Cleanup()
	os.Exit(code)
}

// site is a vhost of one test's own, and the type of the queues in it.
type site struct {
	broker brokertest.Broker
	amqp   string
	kind   string
}

// soak reports whether everything runs, however long it takes.
func soak() bool { return os.Getenv("PARKADE_SOAK") != "" }

// eachSite runs a test on every broker, with classic and with quorum queues on the
// newest one, and with one of them on each older one; make soak has both on all.
func eachSite(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		kinds := []string{brokertest.Classic, brokertest.Quorum}
		switch {
		case soak() || b.AtLeast(4, 3):
		case b.AtLeast(4, 0):
			kinds = kinds[1:]
		default:
			kinds = kinds[:1]
		}
		for _, kind := range kinds {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				test(t, site{b, brokertest.Vhost(t, b), kind})
			})
		}
	})
}

// eachNewSite is eachSite for what is the same on every broker: older ones have
// their turn in make soak.
func eachNewSite(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	eachSite(t, func(t *testing.T, s site) {
		if !s.everything() {
			t.Skip("run by make soak")
		}
		test(t, s)
	})
}

// everything reports whether cases run here that are the same on every broker.
func (s site) everything() bool { return soak() || s.broker.AtLeast(4, 3) }

// queue declares a queue that keeps its messages however often they come back.
func (s site) queue(t *testing.T, name string) string {
	t.Helper()
	return brokertest.Queue(t, s.amqp, s.kind, name, s.lasting(nil))
}

func (s site) lasting(args amqp.Table) amqp.Table {
	if s.kind == brokertest.Quorum {
		if args == nil {
			args = amqp.Table{}
		}
		args["x-delivery-limit"] = 1_000_000
	}
	return args
}

// dashboard is one that drains a queue as soon as it runs.
func (s site) dashboard(t *testing.T, queue string) *dashtest.Dashboard {
	t.Helper()
	return dashtest.New(t, dashtest.Config{Broker: s.broker, AMQP: s.amqp, Parking: []dashtest.Parking{{Queue: queue, Auto: true}}})
}

// killedAt runs the dashboard until it kills itself at a point of its work. do,
// where not nil, brings it there.
func killedAt(t *testing.T, d *dashtest.Dashboard, point string, do func()) {
	t.Helper()
	d.Run("PARKADE_CRASH=" + point)
	if do != nil {
		d.Ready()
		do()
	}
	if err := d.Exited(time.Minute); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("at %s the process ended with %v, want a kill", point, err)
	}
}

// draining is what the API says of one drain.
type draining struct {
	Vhost, Queue, Phase string
	Holding, Drained    int64
}

func (s site) drain(t *testing.T, d *dashtest.Dashboard, queue string) draining {
	t.Helper()
	vhost := brokertest.VhostName(t, s.amqp)
	var drains struct{ Items []draining }
	d.Get("/drains", &drains)
	for _, one := range drains.Items {
		if one.Vhost == vhost && one.Queue == queue {
			return one
		}
	}
	return draining{}
}

// awaitRest waits until the drain of a queue has listened for a second and got
// nothing. A queue's own count wouldn't do: that of a quorum queue is a moment old.
func (s site) awaitRest(t *testing.T, d *dashtest.Dashboard, queue string) {
	t.Helper()
	d.Eventually("the queue is empty and nothing is on its way", 2*time.Minute, func() bool {
		one := s.drain(t, d, queue)
		return one.Phase == string(parkade.Listening) && one.Holding == 0 && brokertest.Ready(t, s.amqp, queue) == 0
	})
}

// drainToTheEnd runs the dashboard until its queue is empty, and stops it in good
// order.
func (s site) drainToTheEnd(t *testing.T, d *dashtest.Dashboard, queue string) {
	t.Helper()
	d.Run()
	d.Ready()
	s.awaitRest(t, d, queue)
	d.Stop()
}

// opened is the store of a dashboard that has ended.
func opened(t *testing.T, d *dashtest.Dashboard) *store.Store {
	t.Helper()
	sound(t, d.Store())
	s, err := store.Open(t.Context(), d.Store(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func everything(t *testing.T, s *store.Store) []parkade.Message {
	t.Helper()
	var all []parkade.Message
	page := parkade.Page{Limit: 500}
	for {
		ms, more, err := s.Messages(t.Context(), parkade.Filter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ms...)
		if !more {
			return all
		}
		page.Before = ms[len(ms)-1].ID
	}
}
