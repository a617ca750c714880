package pipeline

import (
	"errors"
	"fmt"

	"github.com/cenkalti/backoff/v5"
	amqp "github.com/rabbitmq/amqp091-go"
)

type exchange struct{ name, kind string }

type queue struct {
	name      string
	arguments amqp.Table
	exchange  string // that it is bound to, if any
	key       string
}

// declare makes durable exchanges and queues, or finds that they are there. Where
// they are there with other settings it says differs, and trying again is no use.
func declare(conn *amqp.Connection, differs string, exchanges []exchange, queues []queue) error {
	ch, err := conn.Channel() // of its own, because a refused declaration closes it
	if err != nil {
		return fmt.Errorf("open channel: %w", err)
	}
	if err := declareOn(ch, exchanges, queues); err != nil {
		if refused := (*amqp.Error)(nil); errors.As(err, &refused) && refused.Code == amqp.PreconditionFailed {
			return backoff.Permanent(fmt.Errorf("%s: %w", differs, err))
		}
		return err
	}
	return ch.Close()
}

func declareOn(ch *amqp.Channel, exchanges []exchange, queues []queue) error {
	for _, e := range exchanges {
		if err := ch.ExchangeDeclare(e.name, e.kind, true, false, false, false, nil); err != nil {
			return fmt.Errorf("declare exchange %s: %w", e.name, err)
		}
	}
	for _, q := range queues {
		if _, err := ch.QueueDeclare(q.name, true, false, false, false, q.arguments); err != nil {
			return fmt.Errorf("declare queue %s: %w", q.name, err)
		}
		if q.exchange == "" {
			continue
		}
		if err := ch.QueueBind(q.name, q.key, q.exchange, false, nil); err != nil {
			return fmt.Errorf("bind queue %s: %w", q.name, err)
		}
	}
	return nil
}
