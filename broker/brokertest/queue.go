package brokertest

import (
	"fmt"
	"maps"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// The queue types that [Queue] declares.
const (
	Classic = "classic"
	Quorum  = "quorum"
)

// connectionName marks this package's own connections.
const connectionName = "brokertest"

// Connection opens a connection that is closed when the test ends.
func Connection(tb testing.TB, amqpURL string) *amqp.Connection {
	tb.Helper()
	conn, err := dial(amqpURL)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Channel opens a channel on a connection of its own, closed when the test ends.
func Channel(tb testing.TB, amqpURL string) *amqp.Channel {
	tb.Helper()
	ch, err := Connection(tb, amqpURL).Channel()
	if err != nil {
		tb.Fatal(err)
	}
	return ch
}

// Queue declares a durable queue of the given type with more arguments, if any,
// and returns its name.
func Queue(tb testing.TB, amqpURL, kind, name string, arguments amqp.Table) string {
	tb.Helper()
	args := amqp.Table{"x-queue-type": kind}
	maps.Copy(args, arguments)
	once(tb, amqpURL, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, args)
		return err
	})
	return name
}

// Exchange declares a durable exchange and returns its name.
func Exchange(tb testing.TB, amqpURL, kind, name string) string {
	tb.Helper()
	once(tb, amqpURL, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclare(name, kind, true, false, false, false, nil)
	})
	return name
}

// Bind binds a queue to an exchange.
func Bind(tb testing.TB, amqpURL, queue, key, exchange string) {
	tb.Helper()
	once(tb, amqpURL, func(ch *amqp.Channel) error {
		return ch.QueueBind(queue, key, exchange, false, nil)
	})
}

// Publish publishes messages in order and returns once the broker has confirmed
// all of them. A message that it nacks, or that reaches no queue, fails the test.
func Publish(tb testing.TB, amqpURL, exchange, key string, messages ...amqp.Publishing) {
	tb.Helper()
	PublishN(tb, amqpURL, exchange, key, len(messages), func(i int) amqp.Publishing { return messages[i] })
}

// PublishN is [Publish] for n messages that are made on the way, from 0 up.
func PublishN(tb testing.TB, amqpURL, exchange, key string, n int, message func(i int) amqp.Publishing) {
	tb.Helper()
	const window = 256 // confirms in flight
	once(tb, amqpURL, func(ch *amqp.Channel) error {
		if err := ch.Confirm(false); err != nil {
			return err
		}
		returns := ch.NotifyReturn(make(chan amqp.Return, window))
		var flying []*amqp.DeferredConfirmation
		settle := func(confirms []*amqp.DeferredConfirmation) error {
			if err := await(tb, confirms); err != nil {
				return err
			}
			if len(returns) > 0 {
				return fmt.Errorf("a message to exchange %q with key %q reached no queue", exchange, key)
			}
			return nil
		}
		for i := range n {
			confirm, err := ch.PublishWithDeferredConfirmWithContext(tb.Context(), exchange, key, true, false, message(i))
			if err != nil {
				return fmt.Errorf("publish %d of %d: %w", i+1, n, err)
			}
			if flying = append(flying, confirm); len(flying) == window {
				if err := settle(flying[:1]); err != nil {
					return err
				}
				flying = flying[1:]
			}
		}
		return settle(flying)
	})
}

func await(tb testing.TB, confirms []*amqp.DeferredConfirmation) error {
	tb.Helper()
	for _, c := range confirms {
		if acked, err := c.WaitContext(tb.Context()); err != nil {
			return err
		} else if !acked {
			return fmt.Errorf("the broker nacked message %d", c.DeliveryTag)
		}
	}
	return nil
}

// Ready returns how many messages lie ready in a queue. A quorum queue takes a
// moment to count what was just published or acknowledged, see [WaitReady].
func Ready(tb testing.TB, amqpURL, queue string) int {
	tb.Helper()
	var found amqp.Queue
	once(tb, amqpURL, func(ch *amqp.Channel) (err error) {
		found, err = ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		return err
	})
	return found.Messages
}

// WaitReady waits until exactly n messages lie ready in a queue.
func WaitReady(tb testing.TB, amqpURL, queue string, n int) {
	tb.Helper()
	got := 0
	deadline := time.Now().Add(20 * time.Second)
	for got = Ready(tb, amqpURL, queue); got != n; got = Ready(tb, amqpURL, queue) {
		if time.Now().After(deadline) {
			tb.Fatalf("%d messages are ready in %s, want %d", got, queue, n)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Take consumes n messages from a queue, acknowledges them and returns them in the
// order of their arrival.
func Take(tb testing.TB, amqpURL, queue string, n int) []amqp.Delivery {
	tb.Helper()
	taken := make([]amqp.Delivery, 0, n)
	once(tb, amqpURL, func(ch *amqp.Channel) error {
		if err := ch.Qos(max(n, 1), 0, false); err != nil {
			return err
		}
		deliveries, err := ch.ConsumeWithContext(tb.Context(), queue, "", false, false, false, false, nil)
		if err != nil {
			return err
		}
		timeout := time.After(20 * time.Second)
		for len(taken) < n {
			select {
			case d, ok := <-deliveries:
				if !ok {
					return fmt.Errorf("the broker ended the consumer on %s after %d messages of %d", queue, len(taken), n)
				}
				taken = append(taken, d)
			case <-timeout:
				return fmt.Errorf("%s gave %d messages, want %d", queue, len(taken), n)
			}
		}
		if n == 0 {
			return nil
		}
		// One ack for all and an answered call after it: acks of a channel that
		// closes at once are partly lost on quorum queues (measured).
		if err := taken[n-1].Ack(true); err != nil {
			return err
		}
		_, err = ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		return err
	})
	return taken
}

// once runs use on a channel of its own and fails the test with its error.
func once(tb testing.TB, amqpURL string, use func(ch *amqp.Channel) error) {
	tb.Helper()
	conn, err := dial(amqpURL)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err == nil {
		err = use(ch)
	}
	if err != nil {
		tb.Fatal(err)
	}
	if err := ch.Close(); err != nil {
		tb.Fatal(err)
	}
}

func dial(amqpURL string) (*amqp.Connection, error) {
	return amqp.DialConfig(amqpURL, amqp.Config{Properties: amqp.Table{"connection_name": connectionName}})
}
