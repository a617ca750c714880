package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// prefetch bounds what lies here unacknowledged: enough to hide the way to the
// broker, little enough for another consumer to get its share.
const prefetch = 20

const consumerTag = "pipeline"

// reading is a consumer of one queue that handles one delivery after the other.
type reading struct {
	broker  broker
	name    string // of the connection
	queue   string
	declare func(*amqp.Connection) error
	// take brings one delivery to an end, with a publisher for copies of it. Its
	// error ends the session.
	take func(ctx context.Context, d amqp.Delivery, copies *publisher) error
	log  *slog.Logger
}

// session consumes until ctx ends or anything goes wrong that isn't a message's
// fault. RabbitMQ then delivers again what has no ack yet.
//
// Reading and publishing have a connection each, since a broker that is short of
// memory or disk stops reading from a connection that publishes, acks included.
func (r reading) session(ctx context.Context) error {
	publishing, err := r.broker.dial(ctx, r.name+", publishing")
	if err != nil {
		return err
	}
	defer hangUp(publishing)
	if err := r.declare(publishing); err != nil {
		return err
	}
	copies, err := newPublisher(publishing)
	if err != nil {
		return err
	}
	conn, err := r.broker.dial(ctx, r.name)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	readingClosed := conn.NotifyClose(make(chan *amqp.Error, 1))
	publishingClosed := publishing.NotifyClose(make(chan *amqp.Error, 1))
	ch, deliveries, err := r.consume(conn)
	if err != nil {
		return err
	}
	defer endConsumer(conn, ch)
	r.log.Info("consuming", "queue", r.queue)
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
			if err := r.take(ctx, d, copies); err != nil {
				return err
			}
		}
	}
}

func (r reading) consume(conn *amqp.Connection) (*amqp.Channel, <-chan amqp.Delivery, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, nil, fmt.Errorf("open channel: %w", err)
	}
	if err := ch.Qos(prefetch, 0, false); err != nil {
		return nil, nil, fmt.Errorf("set the prefetch: %w", err)
	}
	const autoAck = false // the broker keeps a message until we say that it is done
	deliveries, err := ch.Consume(r.queue, consumerTag, autoAck, false, false, false, nil)
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
