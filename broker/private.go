package broker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// declare declares an exchange of ours and binds queue to it. It is a fanout, since it is bound to one
// queue and takes every key, and not durable, since it lives as long as an
// operation. It isn't auto-delete: a message that meets no queue is to be returned,
// and not to end the channel.
func declare(ch *amqp.Channel, exchange, queue string) error {
	if err := ch.ExchangeDeclare(exchange, amqp.ExchangeFanout, false, false, false, false, nil); err != nil {
		return err
	}
	return ch.QueueBind(queue, "", exchange, false, nil)
}

// Bind declares an exchange of ours and binds queue to it; both may be so already.
// It is called by who calls Send. A refusal, such as for want of a permission, is
// Forbidden and leaves the publisher as it was; after any other error it is over.
func (p *Publisher) Bind(exchange, queue string) error {
	err := p.session.call(func() error {
		ch, err := p.session.conn.Channel() // its own: a refusal closes it
		if err != nil {
			return err
		}
		defer ch.Close()
		return declare(ch, exchange, queue)
	})
	if why := refusal(err, queue); why != "" {
		return parkade.Errorf(parkade.Forbidden, "%s", why).Because(err)
	}
	if err != nil {
		return fmt.Errorf("bind %s: %w", exchange, err)
	}
	return nil
}

// refusal phrases why the broker refuses an exchange of ours, or its binding.
func refusal(err error, queue string) string {
	e, ok := errors.AsType[*amqp.Error](err)
	if !ok || !e.Server {
		return ""
	}
	switch e.Code {
	case amqp.AccessRefused, amqp.NotFound, amqp.PreconditionFailed, amqp.ResourceLocked:
		return fmt.Sprintf("RabbitMQ doesn't let us bind an exchange of ours to %s: %s.", queue, brokerWords(e))
	}
	return ""
}

// RemoveExchange deletes an exchange of ours with its bindings. One that is gone
// already, or that we can't have declared, is no error.
func (b *Broker) RemoveExchange(ctx context.Context, vhost, exchange string) error {
	return b.brief(ctx, vhost, func(ch *amqp.Channel) error {
		err := ch.ExchangeDelete(exchange, false, false)
		if e, ok := errors.AsType[*amqp.Error](err); ok && e.Server && (e.Code == amqp.NotFound || e.Code == amqp.AccessRefused) {
			return nil
		}
		return err
	})
}

// brief opens a connection for a few calls.
func (b *Broker) brief(ctx context.Context, vhost string, use func(ch *amqp.Channel) error) error {
	s, err := b.dial(ctx, vhost, b.connectionName("bindings"), heartbeat)
	if err != nil {
		return err
	}
	defer s.close(time.Now().Add(2 * time.Second))
	defer context.AfterFunc(ctx, s.cut)()
	return s.call(func() error {
		ch, err := s.conn.Channel()
		if err != nil {
			return err
		}
		return use(ch)
	})
}

// MayBind reports why the login may not send into queue by an exchange of ours, as
// a sentence; "" is that it may. The management API tells that only to
// administrators, and only of logins that RabbitMQ keeps itself. Otherwise it isn't
// known, unless it is to be tried: then an exchange of ours that nobody publishes to
// is bound to the queue, and removed at once.
func (b *Broker) MayBind(ctx context.Context, vhost, queue string, try bool) (why string, known bool) {
	if why, known = b.permitted(ctx, vhost, queue); known || !try {
		return why, known
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	probe := parkade.PrivateExchange + ".probe-" + hex.EncodeToString(id[:])
	var refused string
	err := b.brief(ctx, vhost, func(ch *amqp.Channel) error {
		err := declare(ch, probe, queue)
		refused = refusal(err, queue)
		return err
	})
	if err == nil || refused != "" { // declared perhaps, and then not bound
		if gone := b.RemoveExchange(ctx, vhost, probe); gone != nil {
			b.log.Warn("an exchange of ours is left", "exchange", probe, "vhost", vhost, "err", gone)
		}
	}
	if err != nil && refused == "" {
		return "", false
	}
	return refused, true
}

// permitted is MayBind by what the management API says.
func (b *Broker) permitted(ctx context.Context, vhost, queue string) (why string, known bool) {
	uri, err := amqp.ParseURI(b.cfg.AMQP)
	if err != nil {
		return "", false
	}
	var may struct{ Configure, Write, Read string }
	if err := b.get(ctx, &may, nil, "permissions", vhost, uri.Username); err != nil {
		return "", false
	}
	ours := parkade.PrivateExchange + ".x"
	for _, need := range []struct{ name, pattern, of string }{
		{"configure", may.Configure, ours}, {"write", may.Write, ours}, {"read", may.Read, ours}, {"write", may.Write, queue},
	} {
		allowed, err := permits(need.pattern, need.of)
		if err != nil {
			return "", false
		}
		if !allowed {
			what := "exchanges of ours"
			if need.of == queue {
				what = queue
			}
			return fmt.Sprintf("The login %s lacks the permission %s on %s. It needs configure, write and read on ^parkade\\. and write on the queue.", uri.Username, need.name, what), true
		}
	}
	return "", true
}

// permits reports whether a permission's pattern covers a name, as RabbitMQ matches
// it: unanchored, and an empty pattern covers nothing.
func permits(pattern, name string) (bool, error) {
	if pattern == "" {
		return false, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false, err // PCRE knows more than we do
	}
	return re.MatchString(name), nil
}
