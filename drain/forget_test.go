package drain_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/drain"
	"parkade/store/storetest"
)

// A queue that is gone stays in view only where somebody would miss it.
func TestQueueThatVanishedIsForgottenUnlessSomethingNamesIt(t *testing.T) {
	t.Parallel()
	var vanished atomic.Bool
	b := faulty(ordinary(), func(drain.Limits) ([]parkade.Delivery, error) { return nil, nil })
	names := []string{"nothing.parking", "stored.parking", "stopped.parking", "named.parking", "globbed.parking"}
	b.Candidates = func(context.Context) ([]drain.Candidate, error) {
		if vanished.Load() {
			return nil, nil
		}
		var all []drain.Candidate
		for _, name := range names {
			all = append(all, drain.Candidate{Vhost: "/", Name: name})
		}
		return all, nil
	}
	b.Facts = func(context.Context, string, string) (parkade.QueueFacts, error) {
		return parkade.QueueFacts{Known: true, Missing: vanished.Load()}, nil
	}
	q := func(name string) parkade.Queue { return parkade.Queue{Broker: "main", Vhost: "/", Name: name} }
	st := storetest.Open(t)
	storetest.Park(t, st, q("stored.parking"), storetest.Delivery("a", "x"))
	if err := st.Want(t.Context(), q("stopped.parking"), false, false, "ann", "not now"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Source(t.Context(), q("drained once, long ago")); err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64
	s, _ := supervise(t, drain.Options{
		Store: st, Brokers: map[string]drain.Broker{"main": b},
		Rules: []drain.Rule{{Queue: q("named.parking")}, {Queue: q("globbed.*")}},
		Clock: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	})
	brokertest.Eventually(t, "all that are there", func() bool {
		return len(s.Drains()) == len(names)+1 && !state(s, q("stored.parking")).Missing
	})
	vanished.Store(true)
	later.Store(int64(time.Minute)) // when it searches again
	brokertest.Eventually(t, "what is gone forgotten", func() bool { return len(s.Drains()) == 3 })
	for _, name := range []string{"stored.parking", "stopped.parking", "named.parking"} {
		if d := state(s, q(name)); d.Queue.Name != name || !d.Missing {
			t.Errorf("%s is %+v", name, d)
		}
	}
	vanished.Store(false)
	later.Store(int64(2 * time.Minute))
	brokertest.Eventually(t, "all there again", func() bool {
		return len(s.Drains()) == len(names) && !state(s, q("stopped.parking")).Missing
	})
}
