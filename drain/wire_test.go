package drain_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
	"parkade/drain"
	"parkade/store"
	"parkade/store/storetest"
)

// wired returns the drain's view of a real broker.
func wired(t *testing.T, b brokertest.Broker) drain.Broker {
	t.Helper()
	rabbit, err := broker.New(broker.Config{Name: "main", AMQP: b.AMQP, Management: b.Management}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rabbit.Close)
	return drain.Broker{
		OpenIntake: func(ctx context.Context, vhost, queue string, prefetch int, heartbeat time.Duration) (drain.Intake, error) {
			in, err := rabbit.OpenIntake(ctx, vhost, queue, prefetch, heartbeat)
			if err != nil {
				return drain.Intake{}, err
			}
			return drain.Intake{
				Collect: func(ctx context.Context, name string, l drain.Limits) ([]parkade.Delivery, error) {
					return in.Collect(ctx, name, broker.Cycle{
						Messages: l.Messages, Bytes: l.Bytes, MaxBody: l.MaxBody, Linger: l.Linger, Longest: l.Longest, Careful: l.Careful, Delivered: l.Delivered,
					})
				},
				Ack: in.Ack, Prove: in.Prove, Close: in.Close,
			}, nil
		},
		Facts: rabbit.Facts,
		Alive: rabbit.Alive,
		Depth: rabbit.Depth,
		Queues: func(ctx context.Context, vhost string) ([]drain.Candidate, error) {
			queues, err := rabbit.Queues(ctx, vhost)
			var all []drain.Candidate
			for _, q := range queues {
				all = append(all, drain.Candidate{Vhost: q.Vhost, Name: q.Name, Ready: q.Ready})
			}
			return all, err
		},
		Candidates: func(ctx context.Context) ([]drain.Candidate, error) {
			queues, err := rabbit.Candidates(ctx)
			var all []drain.Candidate
			for _, q := range queues {
				all = append(all, drain.Candidate{Vhost: q.Queue.Vhost, Name: q.Queue.Name, Ready: q.Ready})
			}
			return all, err
		},
		Poison: func(err error) (string, bool) {
			p, ok := errors.AsType[*broker.PoisonError](err)
			if !ok {
				return "", false
			}
			return p.Detail, true
		},
		TooBig: func(err error) (int64, bool) {
			p, ok := errors.AsType[*broker.TooBigError](err)
			if !ok {
				return 0, false
			}
			return p.Bytes, true
		},
	}
}

// place is a vhost of one test's own on a real broker.
type place struct {
	broker brokertest.Broker
	url    string
	store  *store.Store
}

func newPlace(t *testing.T, b brokertest.Broker) place {
	t.Helper()
	return place{b, brokertest.Vhost(t, b), storetest.Open(t)}
}

func (p place) queue(t *testing.T, name string) parkade.Queue {
	t.Helper()
	return parkade.Queue{Broker: "main", Vhost: brokertest.VhostName(t, p.url), Name: name}
}

// supervise runs a supervisor until the test ends or stop is called.
func supervise(t *testing.T, o drain.Options) (s *drain.Supervisor, stop func()) {
	t.Helper()
	s = drain.New(o)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return s, stop
}

// state returns the drain of one queue.
func state(s *drain.Supervisor, q parkade.Queue) parkade.Drain {
	for _, d := range s.Drains() {
		if d.Queue == q {
			return d
		}
	}
	return parkade.Drain{}
}

func parked(t *testing.T, s *store.Store) int64 {
	t.Helper()
	n, _, err := s.Count(t.Context(), parkade.Filter{State: parkade.Parked}, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
