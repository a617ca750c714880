package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// producer places orders at the rate of its switches.
type producer struct {
	broker   broker
	topology Topology
	switches *switches
	counts   *counts
	log      *slog.Logger

	last   time.Time         // when the last order was placed
	outbox []amqp.Publishing // placed and not confirmed; in memory, so a crash loses it
}

// run works until ctx ends.
func (p *producer) run(ctx context.Context) error {
	return keep(ctx, p.log, "producer", p.session)
}

// session publishes over one connection. Whatever goes wrong ends it: the next
// one declares the topology again, which cures a missing queue, and begins with
// the order whose confirm never came. That may publish it twice, under the same
// message id, which the consumer is ready for; the other choice is to lose it.
func (p *producer) session(ctx context.Context) error {
	conn, err := p.broker.dial(ctx, p.topology.Prefix+"billing producer")
	if err != nil {
		return err
	}
	defer hangUp(conn)
	closed := conn.NotifyClose(make(chan *amqp.Error, 1))
	if err := p.topology.Declare(conn); err != nil {
		return err
	}
	publisher, err := newPublisher(conn)
	if err != nil {
		return err
	}
	p.log.Info("placing orders", "exchange", p.topology.Orders())
	for {
		for len(p.outbox) > 0 {
			if err := publisher.publish(ctx, p.topology.Orders(), OrderPlaced, p.outbox[0]); err != nil {
				return fmt.Errorf("place order: %w", err)
			}
			p.outbox = p.outbox[1:]
			p.counts.published.Add(1)
		}
		traffic, _ := p.switches.state()
		due, timer := p.next(traffic.Rate)
		select {
		case <-ctx.Done():
			return nil
		case reason := <-closed:
			return lost(reason)
		case <-p.switches.changed:
		case now := <-timer:
			p.last = due
			if p.outbox, err = place(now, traffic); err != nil {
				return err
			}
		}
	}
}

// next says when the next order is due, and fires then; never, at a rate of 0.
// Time spent on publishing is made up for, but not more than a second of it.
func (p *producer) next(rate float64) (due time.Time, timer <-chan time.Time) {
	if rate == 0 {
		return time.Time{}, nil
	}
	due = p.last.Add(time.Duration(float64(time.Second) / rate))
	if oldest := time.Now().Add(-time.Second); due.Before(oldest) {
		due = oldest
	}
	return due, time.After(time.Until(due))
}

// place makes up one order and returns what is to be published for it.
func place(now time.Time, t Traffic) ([]amqp.Publishing, error) {
	order := newOrder(now)
	msg := amqp.Publishing{
		Headers:      amqp.Table{},
		ContentType:  "application/json",
		DeliveryMode: amqp.Persistent, // survives a restart of the broker
		MessageId:    rand.Text(),     // set once, here: every copy and every retry of this order has the same
		Timestamp:    now,
		Type:         OrderPlaced,
		AppId:        "shop",
	}
	fault := t.draw()
	switch fault {
	case poison:
		order.spoil()
	case transient:
		msg.Headers[HeaderFailures] = int64(t.TransientFailures)
	case noID:
		msg.MessageId = ""
	case none, malformed:
	}
	var err error
	if msg.Body, err = json.Marshal(order); err != nil {
		return nil, fmt.Errorf("encode order: %w", err)
	}
	if fault == malformed {
		msg.Body = mangle(msg.Body)
	}
	if chance(t.Slow) {
		msg.Headers[HeaderSlow] = int64(t.SlowMillis)
	}
	if chance(t.Duplicate) {
		return []amqp.Publishing{msg, msg}, nil
	}
	return []amqp.Publishing{msg}, nil
}

// mangle returns what arrives instead of body when somebody upstream is broken.
func mangle(body []byte) []byte {
	switch mathrand.N(3) {
	case 0:
		return body[:len(body)/2] // cut off
	case 1:
		return append(body[:len(body)-1:len(body)-1], ",}"...) // glued together by hand
	default:
		return []byte("<html><head><title>502 Bad Gateway</title></head><body>upstream timed out</body></html>\n")
	}
}
