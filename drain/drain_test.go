package drain_test

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/drain"
	"parkade/store"
)

func TestNextTakesExactlyThatMany(t *testing.T) {
	t.Parallel()
	p := newPlace(t, brokertest.Main(t))
	brokertest.Queue(t, p.url, brokertest.Classic, "orders.parking", nil)
	brokertest.PublishN(t, p.url, "", "orders.parking", 37, identical)
	q := p.queue(t, "orders.parking")
	s, _ := supervise(t, drain.Options{Store: p.store, Brokers: map[string]drain.Broker{"main": wired(t, p.broker)}})
	if err := s.Next(t.Context(), q, 10, false, "ann"); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, "the drain at rest", func() bool { return state(s, q).Phase == parkade.PausedHere })
	if got := parked(t, p.store); got != 10 {
		t.Errorf("%d are stored, want 10", got)
	}
	brokertest.WaitReady(t, p.url, "orders.parking", 27)
	if d := state(s, q); d.Why != "ann asked for the next 10 messages: they are taken." {
		t.Errorf("it rests because %q", d.Why)
	}
}

func TestBrakeStopsEveryDrainAndReleasesItAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, brokertest.Main(t))
	names := []string{"a.parking", "b.parking"}
	var rules []drain.Rule
	for _, name := range names {
		brokertest.Queue(t, p.url, brokertest.Classic, name, nil)
	}
	rules = append(rules, drain.Rule{Queue: p.queue(t, "*.parking"), Auto: true})
	s, _ := supervise(t, drain.Options{Store: p.store, Brokers: map[string]drain.Broker{"main": wired(t, p.broker)}, Rules: rules})
	everyone := func(phase parkade.Phase) func() bool {
		return func() bool {
			return state(s, p.queue(t, names[0])).Phase == phase && state(s, p.queue(t, names[1])).Phase == phase
		}
	}
	brokertest.Eventually(t, "both drains listening", everyone(parkade.Listening))
	if err := s.Brake(t.Context(), true, "ann", "The database is down."); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, "both drains at rest", everyone(parkade.PausedHere))
	if why := state(s, p.queue(t, names[0])).Why; why != "The brake is on, by ann. The database is down." {
		t.Errorf("it rests because %q", why)
	}
	brokertest.PublishN(t, p.url, "", names[0], 5, identical)
	brokertest.WaitReady(t, p.url, names[0], 5)
	if err := s.Next(t.Context(), p.queue(t, names[0]), 1, false, "bob"); err == nil {
		t.Error("the next one is taken in spite of the brake")
	}
	if err := s.Brake(t.Context(), false, "ann", ""); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, "the five stored", func() bool { return parked(t, p.store) == 5 })
}

func TestQueueThatDrainingWouldDeleteIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, brokertest.Main(t))
	if _, err := brokertest.Channel(t, p.url).QueueDeclare("orders.parking", true, true, false, false, nil); err != nil {
		t.Fatal(err)
	}
	brokertest.PublishN(t, p.url, "", "orders.parking", 3, identical)
	q := p.queue(t, "orders.parking")
	s, _ := supervise(t, drain.Options{
		Store: p.store, Brokers: map[string]drain.Broker{"main": wired(t, p.broker)}, Rules: []drain.Rule{{Queue: q, Auto: true}},
	})
	brokertest.Eventually(t, "the drain stopped", func() bool { return state(s, q).Phase == parkade.Stopped })
	if d := state(s, q); d.Why == "" || d.Remedy == "" || d.Findings[0].Code != "auto-delete" {
		t.Errorf("it says %q, %q, %v", d.Why, d.Remedy, d.Findings)
	}
	if kind, _ := parkade.Explain(s.Start(t.Context(), q, true, "ann", "")); kind != parkade.Conflict {
		t.Errorf("a person's start is answered with kind %d", kind)
	}
	brokertest.WaitReady(t, p.url, "orders.parking", 3)
	if parked(t, p.store) != 0 {
		t.Error("something was drained")
	}
}

func TestOtherConsumersNeedAPersonsWord(t *testing.T) {
	t.Parallel()
	p := newPlace(t, brokertest.Main(t))
	brokertest.Queue(t, p.url, brokertest.Classic, "orders.parking", nil)
	if _, err := brokertest.Channel(t, p.url).ConsumeWithContext(t.Context(), "orders.parking", "theirs", false, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	q := p.queue(t, "orders.parking")
	b := wired(t, p.broker)
	brokertest.Eventually(t, "the other consumer counted", func() bool {
		f, err := b.Facts(t.Context(), q.Vhost, q.Name)
		return err == nil && f.OtherConsumers == 1
	})
	s, _ := supervise(t, drain.Options{Store: p.store, Brokers: map[string]drain.Broker{"main": b}, Rules: []drain.Rule{{Queue: q, Auto: true}}})
	brokertest.Eventually(t, "the drain stopped", func() bool { return state(s, q).Phase == parkade.Stopped })
	if err := s.Start(t.Context(), q, false, "ann", ""); err == nil {
		t.Error("it starts although nobody accepted the other consumer")
	}
	if err := s.Start(t.Context(), q, true, "ann", "they are told"); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, "the drain listening", func() bool { return state(s, q).Phase == parkade.Listening })
}

func TestStoppingEndsTheSessionCleanly(t *testing.T) {
	t.Parallel()
	p := newPlace(t, brokertest.Main(t))
	brokertest.Queue(t, p.url, brokertest.Classic, "orders.parking", nil)
	q := p.queue(t, "orders.parking")
	o := drain.Options{Store: p.store, Brokers: map[string]drain.Broker{"main": wired(t, p.broker)}, Rules: []drain.Rule{{Queue: q, Auto: true}}}
	s, stop := supervise(t, o)
	brokertest.PublishN(t, p.url, "", "orders.parking", 500, identical)
	brokertest.Eventually(t, "a message stored", func() bool { return state(s, q).Drained > 0 })
	began := time.Now()
	stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
	taken := parked(t, p.store)
	brokertest.WaitReady(t, p.url, "orders.parking", 500-int(taken))
	// Its fence is what a session would leave that wasn't ended cleanly.
	source, err := p.store.Source(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	next, err := p.store.BeginSession(t.Context(), source, true, 10*time.Second)
	if err != nil || next.FenceUntil.After(time.Now()) {
		t.Errorf("the session after it has to wait until %s (%v)", next.FenceUntil, err)
	}
}

func TestStoreOnAFullDiskHoldsAndRecovers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, brokertest.Main(t))
	disk := smallDisk(t)
	s, err := store.Open(t.Context(), filepath.Join(disk.folder, "parkade.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	brokertest.Queue(t, p.url, brokertest.Classic, "orders.parking", nil)
	q := p.queue(t, "orders.parking")
	d, _ := supervise(t, drain.Options{
		Store: s, Brokers: map[string]drain.Broker{"main": wired(t, p.broker)}, Rules: []drain.Rule{{Queue: q, Auto: true}}, MinFree: 1,
	})
	brokertest.Eventually(t, "the drain listening", func() bool { return state(d, q).Phase == parkade.Listening })
	disk.fill(t)
	body := make([]byte, 100_000)
	brokertest.PublishN(t, p.url, "", "orders.parking", 40, func(i int) amqp.Publishing {
		return amqp.Publishing{MessageId: strconv.Itoa(i), DeliveryMode: amqp.Persistent, Body: body}
	})
	brokertest.Eventually(t, "the drain held", func() bool { return state(d, q).Phase == parkade.Held })
	held := state(d, q)
	if held.Why == "" || held.Remedy == "" {
		t.Errorf("it is held because %q, %q", held.Why, held.Remedy)
	}
	brokertest.Eventually(t, "each of the 40 in the store or in the queue", func() bool {
		var queue struct{ Messages int64 } // those in the drain's hand included
		p.broker.Queue(t, p.url, q.Name, &queue)
		return parked(t, s)+queue.Messages == 40
	})
	disk.clear(t)
	brokertest.Eventually(t, "all of them stored", func() bool { return parked(t, s) == 40 })
	brokertest.WaitReady(t, p.url, q.Name, 0)
}
