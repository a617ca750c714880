package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	amqp "github.com/rabbitmq/amqp091-go"
)

// explained is how many orders' last failures are remembered.
const explained = 10_000

// consumer works through the orders.
type consumer struct {
	broker   broker
	topology Topology
	handler  *handler
	counts   *counts
	log      *slog.Logger

	// Why orders failed last, by message id. RabbitMQ doesn't let a consumer write
	// that on a message which it rejects.
	failures *recent[failure]
}

// run works until ctx ends.
func (c *consumer) run(ctx context.Context) error {
	return keep(ctx, c.log, "consumer", c.session)
}

// session consumes until ctx ends or anything goes wrong that isn't an order's
// fault. What RabbitMQ delivers again is safe: the database knows what is done.
// Without a database nothing is taken, so that no delivery is used up by an outage.
func (c *consumer) session(ctx context.Context) error {
	if err := c.handler.db.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	r := reading{
		broker: c.broker, name: c.topology.Prefix + "billing consumer", queue: c.topology.Work(),
		declare: c.topology.Declare, take: c.take, log: c.log,
	}
	return r.session(ctx)
}

// take brings one delivery to an end: done, waiting to be tried again, or parked.
// It returns an error where it did none of these, and the session must end.
func (c *consumer) take(ctx context.Context, d amqp.Delivery, copies *publisher) error {
	crash("delivery-taken")
	order, hopeless := c.inspect(d)
	if hopeless != nil {
		return c.park(ctx, d, copies, copyOf(d, c.broker.user(), hopeless))
	}
	err := c.handler.handle(ctx, d, order)
	if err == nil {
		crash("delivery-handled")
		return d.Ack(false) // only now: all that the order asks for is committed
	}
	failed, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	crash("delivery-failed")
	c.counts.failed.Add(1)
	c.log.Info("order failed", "message_id", d.MessageId, "failure", failed.kind)
	return c.retry(ctx, d, copies, failed)
}

// retry sees to it that d is tried again later, if it may.
func (c *consumer) retry(ctx context.Context, d amqp.Delivery, copies *publisher, why *failure) error {
	switch c.topology.Mode {
	case Delayed:
		return d.Reject(true) // not a nack: that doesn't count as a failure
	case Graduated:
		failed := c.topology.attempts(d.Headers) + 1
		again := copyOf(d, c.broker.user(), why)
		again.Headers[HeaderAttempt] = failed
		if failed >= maxAttempts {
			return c.park(ctx, d, copies, again)
		}
		delete(again.Headers, "x-death") // counted in now; 4.x forgets it at the next death, 3.x would count it again
		level := c.topology.levels()[failed-1]
		if err := copies.publish(ctx, level.exchange, d.RoutingKey, again); err != nil {
			return fmt.Errorf("retry: %w", err)
		}
		crash("copy-waiting")
		return d.Ack(false) // only now: twice rather than never
	case Waiting:
	}
	c.failures.put(d.MessageId, *why)
	return d.Reject(false) // not requeued: it goes to the wait queue by the dead-letter exchange
}

// park puts the copy of d into the parking queue, and acks d when the broker has
// the copy. If we die in between, the message is parked twice, under one id.
func (c *consumer) park(ctx context.Context, d amqp.Delivery, copies *publisher, parked amqp.Publishing) error {
	// The default exchange leads straight to the queue: no binding can be missing.
	if err := copies.publish(ctx, "", c.topology.Parking(), parked); err != nil {
		return fmt.Errorf("park: %w", err)
	}
	crash("copy-parked")
	c.counts.parked.Add(1)
	c.log.Warn("order parked", "message_id", d.MessageId, "failure", parked.Headers[HeaderExceptionType])
	return d.Ack(false)
}

// inspect returns the order in d, or why handling d is hopeless.
func (c *consumer) inspect(d amqp.Delivery) (Order, *failure) {
	if d.MessageId == "" {
		return Order{}, &failure{"MissingMessageID", "without a message id nobody can tell a repeat from a second order"}
	}
	var order Order
	if err := json.Unmarshal(d.Body, &order); err != nil {
		return Order{}, &failure{"MalformedBody", err.Error()}
	}
	if c.topology.Mode != Delayed && c.topology.attempts(d.Headers) >= maxAttempts {
		if last, known := c.failures.get(d.MessageId); known {
			return Order{}, &last
		}
		return Order{}, &failure{"TooManyAttempts", "it failed five times; why, only the process knows that tried"}
	}
	return order, nil
}
