package pipeline

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// InvoiceIssued is the routing key and the message type of a new invoice.
const InvoiceIssued = "invoice.issued"

// Invoice is the body of an invoice.issued message.
type Invoice struct {
	OrderID  int64     `json:"order_id"`
	IssuedAt time.Time `json:"issued_at"`
	Currency string    `json:"currency"`
	Total    int64     `json:"total_cents"`
}

// errProcessed says that another transaction has handled the message already.
var errProcessed = errors.New("message processed already")

// handler turns orders into invoices, one for each message id.
type handler struct {
	topology Topology
	switches *switches
	counts   *counts
	db       *database
}

// handle makes the invoice of an order that arrived as d, and tells others. An
// order whose message id is done already is done.
//
// A *failure is the order's own: it may be tried again later. Any other error
// says nothing about the order.
func (h *handler) handle(ctx context.Context, d amqp.Delivery, o Order) error {
	done, err := h.processed(ctx, d.MessageId)
	if err == nil && !done {
		if err := h.work(ctx, d, o); err != nil {
			return err
		}
		err = h.invoice(ctx, d.MessageId, o, time.Now())
	}
	switch {
	case done || errors.Is(err, errProcessed): // by a look, or at the last moment
		h.counts.duplicates.Add(1)
		return nil
	case err == nil:
		h.counts.invoiced.Add(1)
		return nil
	case h.db.PingContext(ctx) == nil:
		return &failure{"DatabaseError", err.Error()} // the database is there, and won't have this order
	}
	return fmt.Errorf("handle order: %w", err)
}

// processed looks whether a message is done. It saves the work of most repeats;
// what two consumers do at the same time it can't see.
func (h *handler) processed(ctx context.Context, id string) (bool, error) {
	var n int
	err := h.db.QueryRowContext(ctx, h.db.bind(`SELECT COUNT(*) FROM processed_messages WHERE message_id = ?`), id).Scan(&n)
	return n > 0, err
}

// work is what an order takes before its invoice can be written. It fails as the
// headers of d ask for, and where billing has a fault that waits for its fix.
func (h *handler) work(ctx context.Context, d amqp.Delivery, o Order) error {
	if err := h.stumble(ctx, d); err != nil {
		return err
	}
	if _, fixed := h.switches.state(); fixed {
		return nil
	}
	return o.billable()
}

// invoice writes all that comes of an order in one transaction: that its message
// is processed, the invoice, and the event that tells of it. It returns
// errProcessed, and writes nothing, where the message was processed meanwhile.
func (h *handler) invoice(ctx context.Context, id string, o Order, now time.Time) error {
	body, err := json.Marshal(Invoice{o.ID, now.UTC(), o.Currency, o.Total})
	if err != nil {
		return fmt.Errorf("encode invoice: %w", err)
	}
	return h.db.write(ctx, func(tx *sql.Tx) error {
		// First, so that a second consumer waits here until we are done, and then fails.
		err := h.db.exec(ctx, tx, `INSERT INTO processed_messages (message_id, processed_at) VALUES (?, ?)`, id, now.UnixMilli())
		if h.db.repeated(err) { // of this statement: any other duplicate is a failure like any other
			return errProcessed
		}
		if err != nil {
			return err
		}
		crash("message-noted")
		err = h.db.exec(ctx, tx, `INSERT INTO invoices (order_id, message_id, currency, total_cents, issued_at) VALUES (?, ?, ?, ?, ?)`,
			o.ID, id, o.Currency, o.Total, now.UnixMilli())
		if err != nil {
			return err
		}
		crash("invoice-written")
		err = h.db.put(ctx, tx, event{
			ID:            rand.Text(), // once for all, since this transaction happens once
			Exchange:      h.topology.Billing(),
			Type:          InvoiceIssued,
			AppID:         "billing",
			CorrelationID: id,
			Body:          body,
			CreatedAt:     now,
		})
		crash("invoice-announced")
		return err
	})
}

// stumble is slow and fails as the headers of d ask for.
func (h *handler) stumble(ctx context.Context, d amqp.Delivery) error {
	if ms := integer(d.Headers[HeaderSlow]); ms > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(min(ms, maxSlowMillis)) * time.Millisecond):
		}
	}
	if h.topology.attempts(d.Headers) < integer(d.Headers[HeaderFailures]) {
		return &failure{"TimeoutError", "the tax service did not answer within 2 s"}
	}
	return nil
}
