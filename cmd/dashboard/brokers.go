package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"parkade"
	"parkade/broker"
	"parkade/config"
	"parkade/drain"
	"parkade/replay"
)

// rabbits are the brokers of a configuration, by name.
type rabbits map[string]*broker.Broker

// newRabbits prepares them; id is that of the store, or "" where there is none yet.
func newRabbits(c *config.Config, id string, log *slog.Logger) (rabbits, error) {
	all := rabbits{}
	var errs []error
	for _, b := range c.Brokers {
		r, err := broker.New(broker.Config{Name: b.Name, AMQP: b.AMQP.Reveal(), Management: b.Management.Reveal(), Program: version, Store: id}, log)
		errs = append(errs, err)
		all[b.Name] = r
	}
	return all, errors.Join(errs...)
}

func (r rabbits) close() {
	for _, b := range r {
		b.Close()
	}
}

func (r rabbits) forDrains() map[string]drain.Broker {
	all := make(map[string]drain.Broker, len(r))
	for name, b := range r {
		all[name] = forDrains(b)
	}
	return all
}

// forDrains gives drains what they need of a broker.
func forDrains(b *broker.Broker) drain.Broker {
	return drain.Broker{
		OpenIntake: func(ctx context.Context, vhost, queue string, prefetch int, heartbeat time.Duration) (drain.Intake, error) {
			in, err := b.OpenIntake(ctx, vhost, queue, prefetch, heartbeat)
			if err != nil {
				return drain.Intake{}, err
			}
			return drain.Intake{
				Collect: func(ctx context.Context, name string, l drain.Limits) ([]parkade.Delivery, error) {
					return in.Collect(ctx, name, broker.Cycle(l))
				},
				Ack: in.Ack, Prove: in.Prove, Close: in.Close,
			}, nil
		},
		Facts: b.Facts,
		Alive: b.Alive,
		Depth: b.Depth,
		Queues: func(ctx context.Context, vhost string) ([]drain.Candidate, error) {
			queues, err := b.Queues(ctx, vhost)
			all := make([]drain.Candidate, len(queues))
			for i, q := range queues {
				all[i] = drain.Candidate{Vhost: q.Vhost, Name: q.Name, Ready: q.Ready}
			}
			return all, err
		},
		Candidates: func(ctx context.Context) ([]drain.Candidate, error) {
			queues, err := b.Candidates(ctx)
			all := make([]drain.Candidate, len(queues))
			for i, q := range queues {
				all[i] = drain.Candidate{Vhost: q.Queue.Vhost, Name: q.Queue.Name, Ready: q.Ready}
			}
			return all, err
		},
		Poison: func(err error) (string, bool) {
			e, ok := errors.AsType[*broker.PoisonError](err)
			if !ok {
				return "", false
			}
			return e.Detail, true
		},
		TooBig: func(err error) (int64, bool) {
			e, ok := errors.AsType[*broker.TooBigError](err)
			if !ok {
				return 0, false
			}
			return e.Bytes, true
		},
	}
}

func (r rabbits) forReplays() map[string]replay.Broker {
	all := make(map[string]replay.Broker, len(r))
	for name, b := range r {
		all[name] = forReplays(b)
	}
	return all
}

// forReplays gives replays what they need of a broker.
func forReplays(b *broker.Broker) replay.Broker {
	return replay.Broker{
		OpenPublisher: func(ctx context.Context, vhost, purpose string) (replay.Publisher, error) {
			p, err := b.OpenPublisher(ctx, vhost, purpose)
			if err != nil {
				return replay.Publisher{}, err
			}
			return replay.Publisher{Send: p.Send, Bind: p.Bind, Results: p.Results(), Blocked: p.Blocked, Close: p.Close}, nil
		},
		Topology: b.Topology,
		Version:  b.KnownVersion,
		Check:    func(d parkade.Draft) error { return broker.Check(d, b.Limits()) },
		Risky:    func(d parkade.Draft) bool { return broker.Risky(d, b.Limits()) },
		MayBind:  b.MayBind, RemoveExchange: b.RemoveExchange,
	}
}

// drainRules says what the configuration has about queues to be drained.
func drainRules(c *config.Config) []drain.Rule {
	var all []drain.Rule
	for _, b := range c.Brokers {
		for _, p := range b.Parking {
			all = append(all, drain.Rule{Queue: parkade.Queue{Broker: b.Name, Vhost: p.Vhost, Name: p.Queue}, Auto: p.Auto})
		}
	}
	return all
}

// replayRule says what the configuration has about replays out of a queue.
func replayRule(c *config.Config, q parkade.Queue) replay.Rule {
	p, _ := c.Parking(q)
	rule := replay.Rule{To: p.Replay.Target.To, Policy: parkade.Policy{ResetHeaders: p.Replay.ResetHeaders}, Rate: p.Replay.Rate}
	if t := p.Replay.Fallback(); t != nil {
		rule.Fallback = *t
	}
	return rule
}
