package replay

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"

	"parkade"
)

// place is where a publisher connects to.
type place struct{ broker, vhost string }

// lane is an operation's way to one place. It opens its publisher when there is
// something to send, and again after every loss.
type lane struct {
	place   place
	open    *Publisher // nil: none
	opening bool
	since   time.Time // when the opening began
	after   time.Time // not to be opened before
	trouble string    // why it couldn't be opened: a sentence, or ""
	retry   *backoff.ExponentialBackOff
	known   map[string]bool // exchanges that have taken a message
	bound   map[string]bool // exchanges of ours that open has bound
}

// event is what a lane tells its operation.
type event struct {
	lane   *lane
	result *parkade.Result // what became of one send
	opened *Publisher
	err    error // why it couldn't be opened
	over   bool  // its publisher is over, and every result was told
}

func newLane(p place) *lane {
	return &lane{place: p, known: make(map[string]bool), retry: &backoff.ExponentialBackOff{
		InitialInterval: time.Second, RandomizationFactor: 0.25, Multiplier: 2, MaxInterval: time.Minute,
	}}
}

// dial opens the lane's publisher and forwards its results until it is over, which
// the end of ctx brings about. It tells all of that as events, for which there is
// always room.
func (l *lane) dial(ctx context.Context, b Broker, purpose string, events chan<- event) {
	p, err := b.OpenPublisher(ctx, l.place.vhost, purpose)
	if err != nil {
		events <- event{lane: l, err: err}
		return
	}
	defer context.AfterFunc(ctx, p.Close)()
	events <- event{lane: l, opened: &p}
	for r := range p.Results {
		events <- event{lane: l, result: &r}
	}
	events <- event{lane: l, over: true}
}

// alone reports whether s is to be sent with nothing else on its way: then a
// refusal is certain, and leaves no neighbour in doubt.
func (l *lane) alone(s parkade.Send, b Broker) bool {
	return s.Risky || !l.known[s.Draft.Exchange] || b.Risky(s.Draft)
}

// learn remembers whether an exchange takes messages.
func (l *lane) learn(exchange string, o parkade.Outcome) {
	switch o {
	case parkade.Confirmed, parkade.Unroutable, parkade.Nacked:
		l.known[exchange] = true
		l.retry.Reset()
	case parkade.Refused, parkade.Unknown:
		delete(l.known, exchange)
	case parkade.Intent, parkade.NotSent:
	}
}
