package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// Window is how many sends may be without a result that was read from Results.
const Window = 1024

// heartbeat of publishing connections; those of drains are told theirs.
const heartbeat = 10 * time.Second

// ErrNotSent says that nothing of a message was written, because the publisher is
// over.
var ErrNotSent = errors.New("not sent")

// Publisher sends messages over a connection and channel of its own, and says of
// each what became of it. One goroutine sends; results may be read by another.
// After a loss or a refusal it is over, and a new one is opened.
type Publisher struct {
	broker  *Broker
	session *session
	channel *amqp.Channel
	closed  chan *amqp.Error
	returns chan amqp.Return
	results chan parkade.Result
	timeout time.Duration // of a confirm
	slots   chan struct{} // one for each flight that isn't in results yet

	mu      sync.Mutex
	over    bool
	flights chan *flight // in order of sending

	blocking blocking
}

// flight is one message on its way.
type flight struct {
	send    parkade.Send
	written chan struct{} // closed when the publish call returned
	confirm *amqp.DeferredConfirmation
	err     error
}

// OpenPublisher connects for publishing into vhost. purpose says in RabbitMQ's own
// pages what for: "parkade-3kq5x2ab 1.0 replay 7".
func (b *Broker) OpenPublisher(ctx context.Context, vhost, purpose string) (*Publisher, error) {
	s, err := b.dial(ctx, vhost, b.connectionName(purpose), heartbeat)
	if err != nil {
		return nil, err
	}
	p := &Publisher{
		broker:  b,
		session: s,
		closed:  make(chan *amqp.Error, 1),
		results: make(chan parkade.Result, Window),
		timeout: b.cfg.ConfirmTimeout,
		slots:   make(chan struct{}, Window),
		flights: make(chan *flight, Window),
	}
	err = s.call(func() (err error) {
		if p.channel, err = s.conn.Channel(); err != nil {
			return err
		}
		p.channel.NotifyClose(p.closed)
		// Room for every return of a window: the client drops what nobody takes for 5 s.
		p.returns = p.channel.NotifyReturn(make(chan amqp.Return, Window+1))
		return p.channel.Confirm(false)
	})
	if err != nil {
		s.cut()
		return nil, parkade.Errorf(parkade.Unavailable, "RabbitMQ %s ended the connection before anything was sent.", b.cfg.Name).Because(err)
	}
	go p.blocking.watch(s.conn.NotifyBlocked(make(chan amqp.Blocking, 8)))
	go p.collect()
	return p, nil
}

// Send publishes s as mandatory. It returns an error only where nothing was
// written; then there is no result. Otherwise exactly one follows in Results,
// whatever happens. It waits while RabbitMQ takes no more, and while Window sends
// are without a result that was read.
func (p *Publisher) Send(s parkade.Send) error {
	if err := Check(s.Draft, p.broker.Limits()); err != nil {
		return err
	}
	if s.Stamp == "" || s.Draft.Headers.Text(parkade.ReplayIDHeader) != s.Stamp {
		return fmt.Errorf("replay %s lacks its stamp", s.Replay) // a return of it couldn't be told
	}
	p.slots <- struct{}{}
	f := &flight{send: s, written: make(chan struct{})}
	p.mu.Lock()
	if p.over || p.channel.IsClosed() {
		p.mu.Unlock()
		<-p.slots
		return ErrNotSent
	}
	p.flights <- f
	p.mu.Unlock()
	p.session.wire.say(emptyIn(s.Draft.Properties))
	f.confirm, f.err = p.channel.PublishWithDeferredConfirm(s.Draft.Exchange, s.Draft.RoutingKey, true, false, writeMessage(s.Draft))
	close(f.written)
	return nil
}

// Results returns what became of the sends, in their order. It is closed once the
// publisher is over and every send has its result.
func (p *Publisher) Results() <-chan parkade.Result { return p.results }

// Blocked reports whether RabbitMQ takes no messages at the moment, since when,
// and why in its words: an alarm for memory or disk.
func (p *Publisher) Blocked() (since time.Time, why string, blocked bool) { return p.blocking.state() }

// Close ends the publisher at once: what is unconfirmed becomes unknown, so whoever
// can reads the results first. Results then closes by itself.
func (p *Publisher) Close() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	if len(p.slots) == 0 {
		p.session.close(time.Now().Add(2 * time.Second))
	}
	p.session.cut()
}
