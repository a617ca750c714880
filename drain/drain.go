// Package drain takes messages out of parking queues into the store: which queues
// and by whose consent, whether that is safe, and the cycle by which no crash, of
// this process or of RabbitMQ, loses or silently doubles a message.
package drain

import (
	"context"
	"log/slog"
	"time"

	"parkade"
	"parkade/store"
)

// heartbeat is that of a drain's connection. RabbitMQ gives up a frozen client
// after about three of them.
const heartbeat = 10 * time.Second

// Broker is what drains need of one broker.
type Broker struct {
	OpenIntake func(ctx context.Context, vhost, queue string, prefetch int, heartbeat time.Duration) (Intake, error)
	Facts      func(ctx context.Context, vhost, queue string) (parkade.QueueFacts, error) // our own consumers don't count
	Queues     func(ctx context.Context, vhost string) ([]Candidate, error)               // all queues of a vhost
	Candidates func(ctx context.Context) ([]Candidate, error)                             // likely parking queues of all vhosts
	Alive      func(ctx context.Context) error                                            // whether the management API answers
	Depth      func(ctx context.Context, vhost, queue string) parkade.Reading             // messages that are ready

	// Poison reports whether an error of Collect says that the client can't decode
	// the message at the head of the queue, and what it said about it.
	Poison func(err error) (detail string, poison bool)

	// TooBig reports whether an error of Collect says that a body is over MaxBody,
	// and how big it is.
	TooBig func(err error) (bytes int64, tooBig bool)
}

// Candidate is a queue that could be drained.
type Candidate struct {
	Vhost string
	Name  string
	Ready int64 // -1: not known
}

// Intake is one connection that takes messages out of one queue, in cycles of
// Collect, Ack and Prove. After any error it is of no more use than to be closed.
type Intake struct {
	// Collect consumes under this name, which is new every time, waits for a first
	// message, goes on to the limits, cancels, and returns all that was delivered.
	// When ctx ends it returns what there is, without an error.
	Collect func(ctx context.Context, name string, limits Limits) ([]parkade.Delivery, error)
	Ack     func() error             // all of the last Collect
	Prove   func(prefetch int) error // the call whose answer proves that the ack was handled
	Close   func(deadline time.Time)
}

// Limits end a Collect, whichever is reached first.
type Limits struct {
	Messages  int           // the prefetch that is in force
	Bytes     int64         // of bodies and headers
	MaxBody   int64         // a longer body is an error that TooBig knows
	Linger    time.Duration // without a further message
	Longest   time.Duration // since the first message
	Careful   bool          // on a loss, what is in hand comes with the error
	Delivered func()        // called when a limit is reached, before the consumer is cancelled
}

// Rule is what the configuration says about the queues that it matches.
type Rule struct {
	Queue parkade.Queue // its Name may be a glob
	Auto  bool          // drained without being asked; else a person starts it
}

// Options are the settings of a Supervisor.
type Options struct {
	Store   *store.Store
	Brokers map[string]Broker
	Rules   []Rule // the first that matches a queue holds for it
	Clock   func() time.Time
	Log     *slog.Logger

	MaxBody int64 // bytes; a drain stops at a larger message; 128 MiB where 0
	MinFree int64 // bytes of free disk below which nothing is drained; 1 GiB or 5 %, whichever is more, where 0
}
