package pipeline

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"
)

// producer places orders at the rate of its switches. It knows no broker: an order
// is placed once it is committed, together with the event that says so, and the
// relay does the rest.
type producer struct {
	topology Topology
	db       *database
	switches *switches
	log      *slog.Logger

	last time.Time // when the last order was placed
}

// run works until ctx ends.
func (p *producer) run(ctx context.Context) error {
	return keep(ctx, p.log, "producer", p.session)
}

// session places orders until ctx ends or the database fails. An order that could
// not be committed isn't there, and nobody was told that it is.
func (p *producer) session(ctx context.Context) error {
	for {
		traffic, _ := p.switches.state()
		due, timer := p.next(traffic.Rate)
		select {
		case <-ctx.Done():
			return nil
		case <-p.switches.changed:
		case now := <-timer:
			p.last = due
			order, placed, err := p.makeUp(now, traffic)
			if err != nil {
				return err
			}
			if err := p.place(ctx, order, placed); err != nil {
				return fmt.Errorf("place order: %w", err)
			}
		}
	}
}

// place writes an order and the event that announces it: both or neither. With a
// publish instead of the second row, a crash between the two would leave an order
// that nobody hears of, or the other way round a message about no order.
func (p *producer) place(ctx context.Context, o Order, placed event) error {
	err := p.db.write(ctx, func(tx *sql.Tx) error {
		err := p.db.exec(ctx, tx, `INSERT INTO orders (order_id, message_id, currency, total_cents, placed_at) VALUES (?, ?, ?, ?, ?)`,
			o.ID, placed.ID, o.Currency, o.Total, o.PlacedAt.UnixMilli())
		if err != nil {
			return err
		}
		crash("order-written")
		if err := p.db.put(ctx, tx, placed); err != nil {
			return err
		}
		crash("order-announced")
		return nil
	})
	crash("order-committed")
	return err
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

// makeUp makes up one order and the event for it, with the faults of the traffic.
func (p *producer) makeUp(now time.Time, t Traffic) (Order, event, error) {
	order := newOrder(now)
	e := event{
		ID:        rand.Text(), // set once, here: every copy and every retry of this order has the same
		Exchange:  p.topology.Orders(),
		Type:      OrderPlaced,
		AppID:     "shop",
		Headers:   map[string]int64{},
		CreatedAt: now,
	}
	fault := t.draw()
	switch fault {
	case poison:
		order.spoil()
	case transient:
		e.Headers[HeaderFailures] = int64(t.TransientFailures)
	case noID:
		e.Headers[headerNoID] = 1
	case none, malformed:
	}
	if chance(t.Slow) {
		e.Headers[HeaderSlow] = int64(t.SlowMillis)
	}
	if chance(t.Duplicate) {
		e.Headers[headerTwice] = 1
	}
	var err error
	if e.Body, err = json.Marshal(order); err != nil {
		return order, e, fmt.Errorf("encode order: %w", err)
	}
	if fault == malformed {
		e.Body = mangle(e.Body)
	}
	return order, e, nil
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
