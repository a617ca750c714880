package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// shopAttempts is how often an order of the shop is handled before it is dead.
const shopAttempts = 4

// shopConsumer works through the shop's orders.
type shopConsumer struct {
	broker   broker
	topology ShopTopology
	switches *switches
	counts   *shopCounts
	log      *slog.Logger
}

// run works until ctx ends.
func (c *shopConsumer) run(ctx context.Context) error {
	r := reading{
		broker: c.broker, name: c.topology.Prefix + "shop consumer", queue: c.topology.Main(),
		declare: c.topology.Declare, take: c.take, log: c.log,
	}
	return keep(ctx, c.log, "shop consumer", r.session)
}

// take brings one delivery to an end: handled, waiting to be tried again, or dead.
// It returns an error where it did none of these, and the session must end.
func (c *shopConsumer) take(ctx context.Context, d amqp.Delivery, copies *publisher) error {
	order, err := parseOrder(d.Body)
	if err != nil { // another attempt would read the same bytes
		return c.bury(d, &failure{"MalformedBody", err.Error()})
	}
	attempt := attemptOf(d)
	err = c.handle(ctx, d, order, attempt)
	if err == nil {
		crash("shop-handled")
		c.counts.handled.Add(1)
		return d.Ack(false) // only now: the work is done
	}
	failed, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	crash("shop-failed")
	c.counts.failed.Add(1)
	c.log.Info("shop order failed", "message_id", d.MessageId, "failure", failed.kind, "attempt", attempt)
	if attempt >= shopAttempts {
		return c.bury(d, failed)
	}
	again := copyOf(d, c.broker.user(), failed)
	again.Headers[HeaderAttempt] = attempt + 1
	// The default exchange leads straight to the queue: no binding can be missing.
	if err := copies.publish(ctx, "", c.topology.Retry(), again); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	crash("shop-copied")
	return d.Ack(false) // only now: twice rather than never
}

// bury sends d to the dead-letter queue, by the dead-letter exchange.
func (c *shopConsumer) bury(d amqp.Delivery, why *failure) error {
	c.counts.dead.Add(1)
	c.log.Warn("shop order dead", "message_id", d.MessageId, "failure", why.kind)
	return d.Reject(false)
}

// attemptOf is which attempt a delivery is, counted from 1. The count travels with
// the message, and the broker knows nothing of it: a message without one is new, or
// somebody replays it to be tried as if it were.
func attemptOf(d amqp.Delivery) int64 { return max(1, integer(d.Headers[HeaderAttempt])) }

// handle is the work that an order takes. It is slow and fails as the headers of d
// ask for, and where the shop has a fault that waits for its fix.
func (c *shopConsumer) handle(ctx context.Context, d amqp.Delivery, o Order, attempt int64) error {
	if ms := integer(d.Headers[HeaderSlow]); ms > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(min(ms, maxSlowMillis)) * time.Millisecond):
		}
	}
	if attempt <= integer(d.Headers[HeaderFailures]) {
		return &failure{"TimeoutError", "the warehouse did not answer within 2 s"}
	}
	if _, fixed := c.switches.state(); fixed {
		return nil
	}
	return o.billable()
}
