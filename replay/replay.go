// Package replay works out where messages would be sent, and sends them: planned
// as a person saw it, claimed before anything leaves, and with the broker's word
// for each.
package replay

import (
	"context"
	"time"

	"parkade"
)

// Broker is what replays need of one broker.
type Broker struct {
	// OpenPublisher connects for publishing into a vhost; purpose names the
	// connection.
	OpenPublisher func(ctx context.Context, vhost, purpose string) (Publisher, error)

	// Topology reads the exchanges, queues and bindings of a vhost.
	Topology func(ctx context.Context, vhost string) (parkade.Topology, error)

	// Version is the broker's version as far as it is known; nil: it isn't.
	Version func() string

	// Check reports why the broker wouldn't take a draft, as a sentence, or nil; nil: nothing
	// is checked.
	Check func(d parkade.Draft) error

	// Risky reports whether the broker may refuse a draft for what is in it.
	Risky func(d parkade.Draft) bool

	// MayBind reports why the login may not send into a queue by an exchange of ours,
	// as a sentence; "" is that it may. Where that isn't known by asking, try finds it
	// out. nil: there are no exchanges of ours.
	MayBind func(ctx context.Context, vhost, queue string, try bool) (why string, known bool)

	// RemoveExchange deletes an exchange of ours, if it is there.
	RemoveExchange func(ctx context.Context, vhost, exchange string) error

	// Quiet sees to it that nothing is taken out of a parking queue, and reports
	// whether that is so by now; nil: nothing ever is. Nothing is given back to a
	// queue before it is quiet.
	Quiet func(q parkade.Queue) bool
}

// Publisher is one connection that publishes, for one goroutine. After a loss or a
// refusal it is of no more use.
type Publisher struct {
	// Send publishes. An error means that nothing was written, because the
	// publisher is over; otherwise exactly one result follows.
	Send func(s parkade.Send) error

	// Bind declares an exchange of ours, bound to queue. A refusal is Forbidden; after
	// any other error the publisher is over.
	Bind func(exchange, queue string) error

	// Results has what became of the sends, in their order. It is closed when the
	// publisher is over and every send has its result.
	Results <-chan parkade.Result

	// Blocked reports whether, and why, the broker takes nothing at the moment.
	Blocked func() (since time.Time, why string, blocked bool)

	// Close ends the publisher: what is unconfirmed becomes unknown.
	Close func()
}

// Rule is what the configuration says about replays out of a parking queue.
type Rule struct {
	// To prefers one way where both are possible: through the original exchange,
	// or straight into the failed queue. ToAuto takes what is safe.
	To parkade.To

	// Fallback is where messages go that don't tell where they came from; the
	// zero Target is nowhere.
	Fallback parkade.Target

	Policy parkade.Policy
	Rate   float64 // messages a second at most; 0 is no limit
}
