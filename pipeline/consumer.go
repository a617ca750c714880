package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// prefetch bounds what lies here unacknowledged: enough to hide the way to the
	// broker, little enough for another consumer to get its share.
	prefetch = 20
	// explained is how many orders' last failures are remembered.
	explained = 10_000
)

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
// fault. RabbitMQ then delivers again what has no ack yet, which is safe: the
// database knows what is done. Without a database nothing is taken, so that no
// delivery is used up by an outage.
//
// Reading and publishing have a connection each, since a broker that is short of
// memory or disk stops reading from a connection that publishes, acks included.
func (c *consumer) session(ctx context.Context) error {
	if err := c.handler.db.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	publishing, err := c.broker.dial(ctx, c.topology.Prefix+"billing consumer, publishing")
	if err != nil {
		return err
	}
	defer hangUp(publishing)
	if err := c.topology.Declare(publishing); err != nil {
		return err
	}
	copies, err := newPublisher(publishing)
	if err != nil {
		return err
	}
	reading, err := c.broker.dial(ctx, c.topology.Prefix+"billing consumer")
	if err != nil {
		return err
	}
	defer hangUp(reading)
	readingClosed := reading.NotifyClose(make(chan *amqp.Error, 1))
	publishingClosed := publishing.NotifyClose(make(chan *amqp.Error, 1))
	ch, deliveries, err := c.consume(reading)
	if err != nil {
		return err
	}
	defer endConsumer(reading, ch)
	c.log.Info("handling orders", "queue", c.topology.Work())
	for {
		select {
		case <-ctx.Done():
			return nil
		case reason := <-readingClosed:
			return lost(reason)
		case reason := <-publishingClosed:
			return lost(reason)
		case d, ok := <-deliveries:
			if !ok {
				return errors.New("the broker ended the consumer")
			}
			if err := c.take(ctx, d, copies); err != nil {
				return err
			}
		}
	}
}

const consumerTag = "billing"

func (c *consumer) consume(conn *amqp.Connection) (*amqp.Channel, <-chan amqp.Delivery, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, nil, fmt.Errorf("open channel: %w", err)
	}
	if err := ch.Qos(prefetch, 0, false); err != nil {
		return nil, nil, fmt.Errorf("set the prefetch: %w", err)
	}
	const autoAck = false // the broker keeps a message until we say that it is done
	deliveries, err := ch.Consume(c.topology.Work(), consumerTag, autoAck, false, false, false, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("consume: %w", err)
	}
	return ch, deliveries, nil
}

// endConsumer ends the consumer before its connection goes. RabbitMQ answers when
// it has taken what was acked before; without that, closing right after an ack
// can lose the ack. A broker that has stopped reading is not waited for.
func endConsumer(conn *amqp.Connection, ch *amqp.Channel) {
	impatience := time.AfterFunc(hangUpTimeout, func() { hangUp(conn) })
	defer impatience.Stop()
	_ = ch.Cancel(consumerTag, false) // a lost connection has none any more
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
