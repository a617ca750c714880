package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// idle is how long a relay sleeps when it sent nothing.
	idle = time.Second
	// sweep is how often sent rows that are old enough are deleted.
	sweep = time.Minute
)

// relay publishes what is in the outbox. Several may work on one outbox, in as
// many processes.
type relay struct {
	broker   broker
	topology Topology
	db       *database
	switches *switches
	counts   *counts
	log      *slog.Logger

	retention time.Duration // for how long sent rows are kept
	swept     time.Time
}

// run works until ctx ends.
func (r *relay) run(ctx context.Context) error {
	return keep(ctx, r.log, "relay", r.session)
}

// session publishes over one connection. What isn't taken ends it: the next one
// comes after a pause and declares the topology again, which cures a missing
// queue. A confirm that never came leaves its row unsent, so it is published
// again under the same message id, which its readers are ready for; the other
// choice is to lose it.
func (r *relay) session(ctx context.Context) error {
	conn, err := r.broker.dial(ctx, r.topology.Prefix+"billing relay")
	if err != nil {
		return err
	}
	defer hangUp(conn)
	closed := conn.NotifyClose(make(chan *amqp.Error, 1))
	if err := r.topology.Declare(conn); err != nil {
		return err
	}
	publisher, err := newPublisher(conn)
	if err != nil {
		return err
	}
	r.log.Info("publishing the outbox")
	for {
		sent, err := r.round(ctx, publisher)
		if err != nil {
			return err
		}
		pause := idle
		if sent > 0 {
			pause = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case reason := <-closed:
			return lost(reason)
		case <-time.After(pause):
		}
	}
}

// round sends a batch, and deletes old rows when it is time.
func (r *relay) round(ctx context.Context, p *publisher) (sent int, err error) {
	if r.switches.relayIsStopped() {
		return 0, nil
	}
	if now := time.Now(); now.Sub(r.swept) >= sweep {
		if err := r.db.forget(ctx, now.Add(-r.retention)); err != nil {
			return 0, fmt.Errorf("delete what was sent long ago: %w", err)
		}
		r.swept = now
	}
	c, err := r.db.claim(ctx, time.Now())
	if err != nil {
		return 0, fmt.Errorf("claim outbox rows: %w", err)
	}
	crash("relay-claimed")
	sent, err = r.send(ctx, p, c)
	crash("relay-sent")
	if ended := c.end(context.WithoutCancel(ctx)); ended != nil {
		return 0, errors.Join(err, fmt.Errorf("mark what was sent: %w", ended))
	}
	crash("relay-marked")
	return sent, err
}

// send publishes the rows of c, the oldest first, and notes what became of each. A
// row that isn't taken holds up none of the others. The error says that the
// session must end.
func (r *relay) send(ctx context.Context, p *publisher, c *claim) (sent int, trouble error) {
	for _, e := range c.events {
		if ctx.Err() != nil {
			break
		}
		err := r.publish(ctx, p, e)
		crash("relay-confirmed")
		if err == nil {
			c.sent(e, time.Now())
			sent++
			continue
		}
		dead := c.failed(e, err, time.Now())
		r.log.Warn("outbox row not sent", "message_id", e.ID, "type", e.Type, "attempts", e.attempts+1, "dead", dead, "err", err)
		trouble = fmt.Errorf("publish from the outbox: %w", err)
		if !errors.Is(err, errUnroutable) && !errors.Is(err, errNacked) {
			break // nobody knows what the next answer would belong to
		}
	}
	return sent, trouble
}

// publish returns nil once the broker has e in a queue.
func (r *relay) publish(ctx context.Context, p *publisher, e event) error {
	msg, err := e.publishing()
	if err != nil {
		return err
	}
	for range sabotage(&msg) {
		if err := p.publish(ctx, e.Exchange, e.Type, msg); err != nil {
			return err
		}
		if e.Type == OrderPlaced {
			r.counts.published.Add(1)
		}
	}
	return nil
}
