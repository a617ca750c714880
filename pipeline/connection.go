package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/cenkalti/backoff/v5"
	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	handshakeTimeout = 5 * time.Second
	longestPause     = 5 * time.Second // between two attempts to reach the broker
	hangUpTimeout    = 2 * time.Second
)

// broker is where RabbitMQ is. The URL may hold a password, so it appears in no
// log and in no error.
type broker struct {
	url   string
	vhost string // wins over the one in the URL, unless it is empty
}

// validate says what is wrong with the URL, without repeating it.
func (b broker) validate() error {
	if _, err := amqp.ParseURI(b.url); err != nil {
		return errors.New("the broker's address must be a URL like amqp://user:password@host:5672/vhost")
	}
	return nil
}

// user is the name that the broker knows us by.
func (b broker) user() string {
	uri, err := amqp.ParseURI(b.url)
	if err != nil {
		return ""
	}
	return uri.Username
}

func (b broker) vhostName() string {
	uri, err := amqp.ParseURI(b.url)
	if b.vhost != "" || err != nil {
		return b.vhost
	}
	return uri.Vhost
}

// dial opens a connection that shows up under name in the management pages.
//
// The client's own recovery stays off: it reopens the same channel object, so an
// ack that is late from before the loss would ack another message of the new
// session.
func (b broker) dial(ctx context.Context, name string) (*amqp.Connection, error) {
	if err := b.validate(); err != nil {
		return nil, backoff.Permanent(err)
	}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	conn, err := amqp.DialConfig(b.url, amqp.Config{
		Vhost:      b.vhost,
		Heartbeat:  10 * time.Second,
		Properties: properties,
		Dial: func(network, addr string) (net.Conn, error) {
			dialer := net.Dialer{Timeout: handshakeTimeout}
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			// The client lifts this deadline once the handshake is done.
			return conn, conn.SetDeadline(time.Now().Add(handshakeTimeout))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

// hangUp closes conn, and doesn't wait for a broker that has stopped reading.
func hangUp(conn *amqp.Connection) {
	_ = conn.CloseDeadline(time.Now().Add(hangUpTimeout)) // a lost connection is closed already
}

// keep runs session again and again until ctx ends, with growing pauses in
// between: a broker that is away is waited for. A session that returns a
// backoff.Permanent error is not repeated, and keep returns that error.
func keep(ctx context.Context, log *slog.Logger, part string, session func(context.Context) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = longestPause
	attempt := func() (struct{}, error) {
		began := time.Now()
		err := session(ctx)
		if time.Since(began) > longestPause {
			pauses.Reset() // it worked for a while, so this is a new trouble
		}
		return struct{}{}, err
	}
	_, err := backoff.Retry(ctx, attempt,
		backoff.WithBackOff(pauses),
		backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, pause time.Duration) {
			log.Warn("broker session ended", "part", part, "err", err, "retry_in", pause)
		}))
	if ctx.Err() == nil {
		return err
	}
	return nil // we were asked to stop, and did
}

// lost explains the end of a connection that nobody here asked for.
func lost(reason *amqp.Error) error {
	if reason == nil {
		return errors.New("connection closed")
	}
	return fmt.Errorf("connection lost: %w", reason)
}
