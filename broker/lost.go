package broker

import (
	"errors"
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// ErrLost says that a session is over without having been closed: everything of
// it that is only in memory is forgotten, and the store alone decides.
var ErrLost = errors.New("session lost")

// PoisonError says that the client can't decode the message at the head of the
// queue, at prefetch 1, or one near it: such a message ends every session. It is
// an ErrLost, too.
type PoisonError struct {
	Detail string // the client library's words
}

func (e *PoisonError) Error() string { return "undecodable message: " + e.Detail }
func (e *PoisonError) Unwrap() error { return ErrLost }

// TooBigError says that a body is over the limit that the caller set; the session
// was cut, so it is an ErrLost, too.
type TooBigError struct {
	Bytes int64
}

func (e *TooBigError) Error() string { return fmt.Sprintf("body of %d bytes", e.Bytes) }
func (e *TooBigError) Unwrap() error { return ErrLost }

// lost says why a session ended: reason is what the channel's NotifyClose got, or
// nil, and err is what a call returned, or nil.
func (i *Intake) lost(reason *amqp.Error, err error) error {
	if reason == nil {
		reason, _ = errors.AsType[*amqp.Error](err)
	}
	switch {
	case i.session.silent.Load():
		return i.because(parkade.Unavailable, "RabbitMQ %s didn't answer for %s.", i.broker, i.session.timeout)
	case reason == nil && err == nil:
		return i.because(parkade.Unavailable, "RabbitMQ ended the consumer on %s.", i.queue)
	case reason == nil:
		return i.because(parkade.Unavailable, "The connection to RabbitMQ %s was lost: %s.", i.broker, cause(err))
	case undecodable(reason):
		return &PoisonError{Detail: reason.Reason}
	case !reason.Server:
		return i.because(parkade.Unavailable, "The connection to RabbitMQ %s was lost: %s.", i.broker, brokerWords(reason))
	case reason.Code == amqp.NotFound:
		return i.because(parkade.NotFound, "The queue %s can't be read: %s.", i.queue, brokerWords(reason))
	case reason.Code == amqp.AccessRefused:
		return i.because(parkade.Forbidden, "The queue %s may not be read: %s.", i.queue, brokerWords(reason))
	}
	return i.because(parkade.Unavailable, "RabbitMQ %s ended the session: %s.", i.broker, brokerWords(reason))
}

func (i *Intake) because(kind parkade.Kind, format string, args ...any) error {
	return parkade.Errorf(kind, format, args...).Because(ErrLost)
}

// undecodable reports whether the client library itself ended the connection
// because it couldn't read what the broker sent. It reports a broken network with
// the same code, so its words tell.
func undecodable(e *amqp.Error) bool {
	if e.Server || e.Code != amqp.FrameError {
		return false
	}
	for _, known := range []*amqp.Error{amqp.ErrSyntax, amqp.ErrFrameTooLarge, amqp.ErrFrame} {
		if strings.Contains(e.Reason, known.Reason) {
			return true
		}
	}
	return false
}
