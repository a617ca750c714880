package drain_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/drain"
	"parkade/store/storetest"
)

// faulty is a broker that hands out what next returns, for what a real one can't
// be made to do at will.
func faulty(facts parkade.QueueFacts, next func(limits drain.Limits) ([]parkade.Delivery, error)) drain.Broker {
	return drain.Broker{
		OpenIntake: func(context.Context, string, string, int, time.Duration) (drain.Intake, error) {
			return drain.Intake{
				Collect: func(ctx context.Context, _ string, l drain.Limits) ([]parkade.Delivery, error) {
					all, err := next(l)
					if len(all) == 0 && err == nil {
						<-ctx.Done()
					}
					return all, err
				},
				Ack: func() error { return nil }, Prove: func(int) error { return nil }, Close: func(time.Time) {},
			}, nil
		},
		Facts:      func(context.Context, string, string) (parkade.QueueFacts, error) { return facts, nil },
		Queues:     func(context.Context, string) ([]drain.Candidate, error) { return nil, nil },
		Candidates: func(context.Context) ([]drain.Candidate, error) { return nil, nil },
		Alive:      func(context.Context) error { return nil },
		Depth:      func(context.Context, string, string) parkade.Reading { return parkade.Reading{Err: "not asked"} },
		Poison:     func(err error) (string, bool) { return "syntax error", errors.Is(err, errPoison) },
		TooBig:     func(err error) (int64, bool) { return 200 << 20, errors.Is(err, errTooBig) },
	}
}

var (
	errPoison = errors.New("poison")
	errTooBig = errors.New("too big")
	errLost   = errors.New("lost")
)

func ordinary() parkade.QueueFacts {
	return parkade.QueueFacts{Known: true, Version: "4.3.6", Type: "classic", Durable: true, AverageBytes: 1000}
}

func destroying() parkade.QueueFacts {
	f := ordinary()
	f.Version, f.Type, f.DeliveryLimit = "4.0.5", "quorum", new(int64(20))
	return f
}

// drained runs a drain of storetest.Queue over b until the test ends.
func drained(t *testing.T, b drain.Broker) (p place, s *drain.Supervisor) {
	t.Helper()
	p = place{store: storetest.Open(t)}
	s, _ = supervise(t, drain.Options{
		Store: p.store, Brokers: map[string]drain.Broker{"main": b}, Rules: []drain.Rule{{Queue: storetest.Queue(), Auto: true}},
	})
	return p, s
}

func TestUndecodableHeadStopsOnceTheGoodOnesAreTaken(t *testing.T) {
	t.Parallel()
	for name, facts := range map[string]parkade.QueueFacts{"queue without a limit": ordinary(), "queue that destroys": destroying()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var good atomic.Int64
			good.Store(3) // then comes the bad one
			p, s := drained(t, faulty(facts, func(l drain.Limits) ([]parkade.Delivery, error) {
				if int64(l.Messages) > good.Load() {
					return nil, errPoison // delivered together with it
				}
				good.Add(-1)
				return []parkade.Delivery{storetest.Delivery("", "good")}, nil
			}))
			end := parkade.Stopped
			if facts.Unlimited() {
				end = parkade.Waiting // it costs nothing to try again, later
			}
			brokertest.Eventually(t, "the head called undecodable", func() bool {
				d := state(s, storetest.Queue())
				return d.Phase == end && strings.Contains(d.Why, "syntax error") && d.Remedy != ""
			})
			if n := parked(t, p.store); n != 3 {
				t.Errorf("%d good ones are stored, want 3", n)
			}
			if d := state(s, storetest.Queue()); d.Until.IsZero() != (end == parkade.Stopped) {
				t.Errorf("it tries again at %s", d.Until)
			}
		})
	}
}

func TestBodyOverTheLimitStops(t *testing.T) {
	t.Parallel()
	var alone atomic.Bool
	_, s := drained(t, faulty(ordinary(), func(l drain.Limits) ([]parkade.Delivery, error) {
		alone.Store(l.Messages == 1)
		return nil, errTooBig
	}))
	brokertest.Eventually(t, "the drain stopped", func() bool { return state(s, storetest.Queue()).Phase == parkade.Stopped })
	if d := state(s, storetest.Queue()); !strings.Contains(d.Why, "200 MiB") || !alone.Load() {
		t.Errorf("it stopped at one message at a time %t, because %q", alone.Load(), d.Why)
	}
}

func TestCarefulDrainStoresWhatItHasInHandWhenTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	p, s := drained(t, faulty(destroying(), func(l drain.Limits) ([]parkade.Delivery, error) {
		if calls.Add(1) > 1 {
			return nil, nil
		}
		if l.Messages != 1 || !l.Careful {
			t.Errorf("it asks for %d messages, careful %t", l.Messages, l.Careful)
		}
		return []parkade.Delivery{storetest.Delivery("", "last chance")}, errLost
	}))
	brokertest.Eventually(t, "it stored", func() bool { return parked(t, p.store) == 1 })
	if !state(s, storetest.Queue()).Careful {
		t.Error("it isn't called careful")
	}
}

func TestLostSessionIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	_, s := drained(t, faulty(ordinary(), func(drain.Limits) ([]parkade.Delivery, error) {
		if calls.Add(1) == 1 {
			return nil, errLost
		}
		return nil, nil
	}))
	brokertest.Eventually(t, "a second session", func() bool {
		return calls.Load() == 2 && state(s, storetest.Queue()).Phase == parkade.Listening
	})
}

func TestPrefetchFollowsTheSizeOfMessages(t *testing.T) {
	t.Parallel()
	big := storetest.Delivery("", strings.Repeat("x", 16<<20))
	var asked atomic.Int64
	var calls atomic.Int64
	drained(t, faulty(ordinary(), func(l drain.Limits) ([]parkade.Delivery, error) {
		asked.Store(int64(l.Messages))
		if calls.Add(1) == 1 {
			return []parkade.Delivery{big}, nil
		}
		return nil, nil
	}))
	brokertest.Eventually(t, "four of 16 MiB asked for after one came", func() bool { return calls.Load() == 2 && asked.Load() == 4 })
}

func TestLargeQueueIsTakenInFewCycles(t *testing.T) {
	t.Parallel()
	p := newPlace(t, brokertest.Main(t))
	brokertest.Queue(t, p.url, brokertest.Classic, "orders.parking", nil)
	const n = 5000
	brokertest.PublishN(t, p.url, "", "orders.parking", n, identical)
	q := p.queue(t, "orders.parking")
	b := wired(t, p.broker)
	var cycles atomic.Int64
	open := b.OpenIntake
	b.OpenIntake = func(ctx context.Context, vhost, queue string, prefetch int, heartbeat time.Duration) (drain.Intake, error) {
		in, err := open(ctx, vhost, queue, prefetch, heartbeat)
		collect := in.Collect
		in.Collect = func(ctx context.Context, tag string, l drain.Limits) ([]parkade.Delivery, error) {
			cycles.Add(1)
			return collect(ctx, tag, l)
		}
		return in, err
	}
	supervise(t, drain.Options{Store: p.store, Brokers: map[string]drain.Broker{"main": b}, Rules: []drain.Rule{{Queue: q, Auto: true}}})
	brokertest.Eventually(t, "all stored", func() bool { return parked(t, p.store) == n })
	if c := cycles.Load(); c > 40 {
		t.Errorf("%d cycles for %d messages", c, n)
	}
}

func TestMessageInTwoQueuesIsTwoMessages(t *testing.T) {
	t.Parallel()
	p := newPlace(t, brokertest.Main(t))
	for _, name := range []string{"a.parking", "b.parking"} {
		brokertest.Queue(t, p.url, brokertest.Classic, name, nil)
		brokertest.Publish(t, p.url, "", name, amqp.Publishing{MessageId: "1", DeliveryMode: amqp.Persistent})
	}
	supervise(t, drain.Options{
		Store: p.store, Brokers: map[string]drain.Broker{"main": wired(t, p.broker)},
		Rules: []drain.Rule{{Queue: p.queue(t, "?.parking"), Auto: true}},
	})
	brokertest.Eventually(t, "both stored", func() bool { return parked(t, p.store) == 2 })
}
