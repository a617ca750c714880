package replay_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/replay"
	"parkade/store"
)

func TestEveryMessageIsConfirmedAndAtTheTargetOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const n = 2000
	target := brokertest.Queue(t, p.url, brokertest.Quorum, "orders.work", nil)
	id := p.replay(t, p.park(t, n), target, 0)
	p.run(t, wired(t, p.broker))
	op := p.await(t, id, parkade.Finished)
	if op.Counts[parkade.Confirmed] != n {
		t.Errorf("the counts are %v", op.Counts)
	}
	brokertest.WaitReady(t, p.url, target, n)
	if got := p.arrived(t, id, target); got != n {
		t.Errorf("%d arrived, want %d", got, n)
	}
}

func TestWhatDoesNotArriveIsSaidToBeWhatItIs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	brokertest.Exchange(t, p.url, "direct", "orders")
	full := brokertest.Queue(t, p.url, brokertest.Classic, "full", amqp.Table{"x-max-length": 1, "x-overflow": "reject-publish"})
	brokertest.Publish(t, p.url, "", full, amqp.Publishing{Body: []byte("first")})
	open := brokertest.Queue(t, p.url, brokertest.Classic, "open", nil)
	cases := []struct {
		exchange, key string
		want          parkade.Outcome
	}{
		{"", open, parkade.Confirmed},
		{"orders", "nobody", parkade.Unroutable},
		{"no such exchange", "", parkade.Refused},
		{"", full, parkade.Nacked},
		{"orders", strings.Repeat("k", 256), parkade.Refused}, // our own check: it never leaves
		{"", open, parkade.Confirmed},
	}
	messages, _, err := p.store.Selection(t.Context(), p.park(t, len(cases)))
	if err != nil {
		t.Fatal(err)
	}
	items := make([]store.Planned, len(cases))
	for i, c := range cases {
		items[i] = store.Planned{Message: messages[i].ID, Version: 1, Exchange: c.exchange, RoutingKey: c.key}
	}
	id := p.create(t, items, 0)
	p.run(t, wired(t, p.broker))
	p.await(t, id, parkade.Finished)
	got, err := p.store.Items(t.Context(), id, "", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		r := got[i].Replay
		if r.Outcome != c.want || (r.Why == "") != (c.want == parkade.Confirmed) {
			t.Errorf("to %q with %.10q: %q (%s), want %q", c.exchange, c.key, r.Outcome, r.Why, c.want)
		}
		m, err := p.store.Message(t.Context(), got[i].Message)
		if err != nil || m.State != c.want.Next() {
			t.Errorf("its message is %q, want %q (%v)", m.State, c.want.Next(), err)
		}
	}
	if n := p.arrived(t, id, open); n != 2 {
		t.Errorf("%d arrived, want 2", n)
	}
}

func TestPauseStopsAtOnceAndResumeFinishes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const n = 400
	target := brokertest.Queue(t, p.url, brokertest.Quorum, "orders.work", nil)
	id := p.replay(t, p.park(t, n), target, 100)
	p.run(t, wired(t, p.broker))
	brokertest.Eventually(t, "a confirm", func() bool { return p.operation(t, id).Counts[parkade.Confirmed] > 0 })
	if err := p.store.Pause(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	paused := p.await(t, id, parkade.Paused)
	if paused.Counts[parkade.Intent] != 0 || paused.Counts[parkade.Confirmed] > n/2 {
		t.Errorf("paused with %v", paused.Counts)
	}
	brokertest.WaitReady(t, p.url, target, int(paused.Counts[parkade.Confirmed]))
	if err := p.store.Resume(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	if op := p.await(t, id, parkade.Finished); op.Counts[parkade.Confirmed] != n {
		t.Errorf("finished with %v", op.Counts)
	}
	brokertest.WaitReady(t, p.url, target, n)
	if got := p.arrived(t, id, target); got != n {
		t.Errorf("%d arrived, want %d", got, n)
	}
}

func TestCancelGivesBackWhatWasNotSent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	target := brokertest.Queue(t, p.url, brokertest.Classic, "orders.work", nil)
	id := p.replay(t, p.park(t, 100), target, 20)
	p.run(t, wired(t, p.broker))
	brokertest.Eventually(t, "a confirm", func() bool { return p.operation(t, id).Counts[parkade.Confirmed] > 0 })
	if err := p.store.Cancel(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	op := p.await(t, id, parkade.Cancelled)
	free, _, err := p.store.Count(t.Context(), parkade.Filter{State: parkade.Parked}, 1000)
	if err != nil || free+op.Counts[parkade.Confirmed] != 100 {
		t.Errorf("%d are parked again and %d confirmed (%v)", free, op.Counts[parkade.Confirmed], err)
	}
	brokertest.WaitReady(t, p.url, target, int(op.Counts[parkade.Confirmed]))
}

func TestShutdownInterruptsAndResumeSendsTheRestOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const n = 3000
	target := brokertest.Queue(t, p.url, brokertest.Quorum, "orders.work", nil)
	id := p.replay(t, p.park(t, n), target, 0)
	b := wired(t, p.broker)
	_, stop := p.run(t, b)
	brokertest.Eventually(t, "a confirm", func() bool { return p.operation(t, id).Counts[parkade.Confirmed] > 0 })
	stop()
	op := p.operation(t, id)
	if op.State != parkade.Interrupted || op.Why == "" || op.Counts[parkade.Intent] != 0 {
		t.Fatalf("after the shutdown it is %s (%q) with %v", op.State, op.Why, op.Counts)
	}
	if err := p.store.Resume(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	p.run(t, b)
	op = p.await(t, id, parkade.Finished)
	if op.Counts[parkade.Confirmed]+op.Counts[parkade.Unknown] != n {
		t.Errorf("finished with %v", op.Counts)
	}
	if got := p.arrived(t, id, target); int64(got) < op.Counts[parkade.Confirmed] {
		t.Errorf("%d arrived, %d are called confirmed", got, op.Counts[parkade.Confirmed])
	}
}

func TestLostConnectionLeavesOnlyWhatFlewInDoubt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const n = 3000
	target := brokertest.Queue(t, p.url, brokertest.Quorum, "orders.work", nil)
	id := p.replay(t, p.park(t, n), target, 0)
	b := wired(t, p.broker)
	var opened atomic.Int64
	dial := b.OpenPublisher
	b.OpenPublisher = func(ctx context.Context, vhost, purpose string) (replay.Publisher, error) {
		pub, err := dial(ctx, vhost, purpose)
		if opened.Add(1) > 1 || err != nil {
			return pub, err
		}
		send, sent := pub.Send, 0
		pub.Send = func(s parkade.Send) error {
			err := send(s)
			if sent++; sent == 1000 {
				pub.Close() // cuts the socket with what is on it
			}
			return err
		}
		return pub, nil
	}
	p.run(t, b)
	brokertest.Eventually(t, "the end of it", func() bool {
		op := p.operation(t, id)
		if op.State == parkade.Paused { // many in doubt in a row pause it
			if err := p.store.Resume(t.Context(), id, "ann"); err != nil {
				t.Fatal(err)
			}
		}
		return op.State == parkade.Finished
	})
	op := p.operation(t, id)
	doubt := op.Counts[parkade.Unknown]
	if op.Counts[parkade.Confirmed]+doubt != n || doubt == 0 || doubt > 1000 || opened.Load() < 2 {
		t.Errorf("finished over %d connections with %v", opened.Load(), op.Counts)
	}
	p.arrived(t, id, target)
}

func TestSilentBrokerDoesNotKeepTheProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.replay(t, p.park(t, 5), "orders.work", 0)
	sent := make(chan parkade.Send, 10)
	_, stop := p.run(t, silent(sent))
	<-sent
	began := time.Now()
	stop()
	if took := time.Since(began); took < 9*time.Second || took > 15*time.Second {
		t.Errorf("stopping took %s, want about 10 s for confirms", took)
	}
	op := p.operation(t, id)
	if op.State != parkade.Interrupted || op.Counts[parkade.Unknown] != 1 || op.Counts[parkade.Intent] != 0 {
		t.Errorf("it is %s with %v", op.State, op.Counts)
	}
}

// silent takes messages and confirms none until it is closed.
func silent(sent chan<- parkade.Send) replay.Broker {
	return replay.Broker{
		OpenPublisher: func(context.Context, string, string) (replay.Publisher, error) {
			results := make(chan parkade.Result, 10)
			var mu sync.Mutex
			var flying []parkade.Send
			return replay.Publisher{
				Results: results,
				Send: func(s parkade.Send) error {
					mu.Lock()
					defer mu.Unlock()
					flying = append(flying, s)
					sent <- s
					return nil
				},
				Blocked: func() (time.Time, string, bool) { return time.Time{}, "", false },
				Close: func() {
					mu.Lock()
					defer mu.Unlock()
					for _, s := range flying {
						results <- parkade.Result{Replay: s.Replay, Outcome: parkade.Unknown, Why: "cut"}
					}
					close(results)
				},
			}, nil
		},
		Check: func(parkade.Draft) error { return nil },
		Risky: func(parkade.Draft) bool { return false },
	}
}
