package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// confirmTimeout bounds the wait for a confirm: a queue that has lost its quorum
// and a broker under a memory alarm both stay silent for as long as it takes.
const confirmTimeout = 5 * time.Second

var (
	errUnroutable = errors.New("no queue took the message")
	errNacked     = errors.New("the broker refused the message")
)

// publisher publishes one message at a time on a channel that nobody else uses,
// so a return and a confirm can only belong to the message in hand.
type publisher struct {
	ch      *amqp.Channel
	returns chan amqp.Return
}

func newPublisher(conn *amqp.Connection) (*publisher, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open channel: %w", err)
	}
	if err := ch.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask for confirms: %w", err)
	}
	return &publisher{ch, ch.NotifyReturn(make(chan amqp.Return, 1))}, nil
}

// publish returns nil once the broker has msg in a queue and says so. After
// errUnroutable and errNacked the broker has nothing and the publisher can be
// used again. After any other error nobody knows, and the publisher must be
// given up: the answer to this message may still come, and must not be taken
// for the answer to the next.
//
// It sees the message through even if ctx ends meanwhile, for at most
// confirmTimeout.
func (p *publisher) publish(ctx context.Context, exchange, key string, msg amqp.Publishing) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmTimeout)
	defer cancel()
	const mandatory, immediate = true, false // mandatory: without it a message that fits no queue is confirmed and gone
	confirm, err := p.ch.PublishWithDeferredConfirmWithContext(ctx, exchange, key, mandatory, immediate, msg)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	acked, err := confirm.WaitContext(ctx)
	if err != nil {
		return fmt.Errorf("wait for the confirm: %w", err)
	}
	// The broker sends a return before the confirm of the same message, and the
	// client hands it over before it resolves the confirm.
	select {
	case _, returned := <-p.returns: // closed together with the channel
		if returned {
			return errUnroutable
		}
	default:
	}
	if acked {
		return nil
	}
	if p.ch.IsClosed() {
		return errors.New("channel closed before the confirm") // "not acked" is how the client reports this too
	}
	return errNacked
}
