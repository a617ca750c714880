package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/singleflight"
)

const (
	// patience is how long a publish may take, a new connection included. The
	// caller has an answer at most hangUpTimeout later.
	patience = 4 * time.Second
	// publishers bounds the channels of a link, and so what it publishes at a time.
	publishers = 64
)

var errNoAnswer = errors.New("the broker does not answer in time")

// link publishes for many callers at once over one connection, which is opened
// when it is first needed and again when it was lost. Whoever publishes has a
// channel alone meanwhile.
type link struct {
	broker  broker
	name    string // of the connection
	declare func(*amqp.Connection) error

	dials singleflight.Group // at most one connection is opened at a time
	slots chan struct{}      // one for each publish under way

	mu      sync.Mutex
	current *session // the last one that was opened
}

// session is one connection with the channels that nobody uses just now.
type session struct {
	conn *amqp.Connection
	idle chan *publisher
}

func newLink(b broker, name string, declare func(*amqp.Connection) error) *link {
	return &link{broker: b, name: name, declare: declare, slots: make(chan struct{}, publishers)}
}

// publish returns nil once the broker has msg in a queue. After errUnroutable and
// errNacked it has nothing; after any other error nobody knows.
//
// A publish that has begun is seen through even if ctx ends: the caller has left,
// but the message may be on its way, and the channel is good for the next one only
// when the answer to this one is in.
func (l *link) publish(ctx context.Context, exchange, key string, msg amqp.Publishing) error {
	if ctx.Err() != nil {
		return ctx.Err() // nothing has begun
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return errNoAnswer
	}
	s, err := l.session(ctx)
	if err != nil {
		return err
	}
	// A broker that stops reading would hold us in a write for ever, and nothing else
	// ends one. All others on this connection wait for the same broker.
	stop := context.AfterFunc(ctx, func() { hangUp(s.conn) })
	defer stop()
	p, err := s.publisher()
	if err != nil {
		return err
	}
	err = p.publish(ctx, exchange, key, msg)
	switch {
	case err == nil, errors.Is(err, errUnroutable), errors.Is(err, errNacked):
		s.idle <- p // has a place for each slot
	case ctx.Err() != nil:
		return errors.Join(errNoAnswer, err)
	}
	return err // else p is given up: its channel, or the whole connection, is gone
}

// open returns the open connection, or nil.
func (l *link) open() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil || l.current.conn.IsClosed() {
		return nil
	}
	return l.current
}

// session returns the connection, opening it if there is none.
func (l *link) session(ctx context.Context) (*session, error) {
	if s := l.open(); s != nil {
		return s, nil
	}
	dialed := l.dials.DoChan("", func() (any, error) { return nil, l.dial() })
	select {
	case d := <-dialed:
		if s := l.open(); d.Err != nil || s != nil {
			return s, d.Err
		}
		return nil, errors.New("connection lost")
	case <-ctx.Done():
		return nil, errNoAnswer
	}
}

// dial replaces a connection that is lost. It belongs to no caller in particular.
func (l *link) dial() error {
	if l.open() != nil {
		return nil // somebody was faster
	}
	conn, err := l.broker.dial(context.Background(), l.name)
	if err != nil {
		return err
	}
	impatience := time.AfterFunc(handshakeTimeout, func() { hangUp(conn) }) // it may stop answering right here
	defer impatience.Stop()
	if err := l.declare(conn); err != nil {
		hangUp(conn)
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = &session{conn: conn, idle: make(chan *publisher, publishers)}
	return nil
}

// publisher returns a channel that nobody else uses.
func (s *session) publisher() (*publisher, error) {
	select {
	case p := <-s.idle:
		return p, nil
	default:
		return newPublisher(s.conn)
	}
}

// close ends the connection. A publish after that opens another.
func (l *link) close() {
	if s := l.open(); s != nil {
		hangUp(s.conn)
	}
}
