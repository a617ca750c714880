package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// InvoiceIssued is the routing key and the message type of a new invoice.
const InvoiceIssued = "invoice.issued"

// remembered is how many message ids the ledger holds. A repeat that comes later
// than so many other orders makes a second invoice.
const remembered = 200_000

// Invoice is the body of an invoice.issued message.
type Invoice struct {
	OrderID  int64     `json:"order_id"`
	IssuedAt time.Time `json:"issued_at"`
	Currency string    `json:"currency"`
	Total    int64     `json:"total_cents"`
}

// handler turns orders into invoices, one for each message id.
type handler struct {
	topology Topology
	switches *switches
	counts   *counts
	ledger   *recent[struct{}] // the message ids that are done
}

func newHandler(t Topology, s *switches, c *counts) *handler {
	return &handler{t, s, c, newRecent[struct{}](remembered)}
}

// handle makes the invoice of an order that arrived as d, and tells others. An
// order whose message id is done already is done.
//
// A *failure is the order's own: it may be tried again later. Any other error
// says nothing about the order.
//
// The event comes before the ledger: if we die in between, the repeat publishes
// it a second time under the same message id, which its readers can tell. The
// other way round it would be lost.
func (h *handler) handle(ctx context.Context, d amqp.Delivery, o Order, events *publisher) error {
	if _, done := h.ledger.get(d.MessageId); done {
		h.counts.duplicates.Add(1)
		return nil
	}
	if err := h.stumble(ctx, d); err != nil {
		return err
	}
	if _, fixed := h.switches.state(); !fixed {
		if err := o.billable(); err != nil {
			return err
		}
	}
	event, err := invoiceEvent(d.MessageId, o, time.Now())
	if err != nil {
		return err
	}
	if err := events.publish(ctx, h.topology.Billing(), InvoiceIssued, event); err != nil {
		return fmt.Errorf("tell of the invoice: %w", err)
	}
	h.ledger.put(d.MessageId, struct{}{})
	h.counts.invoiced.Add(1)
	return nil
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

// invoiceEvent says that the order which came as message id has its invoice. The
// id of the event follows from it, so that every repeat has the same.
func invoiceEvent(id string, o Order, now time.Time) (amqp.Publishing, error) {
	body, err := json.Marshal(Invoice{o.ID, now.UTC(), o.Currency, o.Total})
	if err != nil {
		return amqp.Publishing{}, fmt.Errorf("encode invoice: %w", err)
	}
	return amqp.Publishing{
		ContentType:   "application/json",
		DeliveryMode:  amqp.Persistent,
		MessageId:     InvoiceIssued + ":" + id,
		CorrelationId: id,
		Timestamp:     now,
		Type:          InvoiceIssued,
		AppId:         "billing",
		Body:          body,
	}, nil
}
