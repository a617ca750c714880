package drain

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"parkade"
	"parkade/store"
	"parkade/store/crash"
)

// grace is how long a drain may take to see its cycle through once it was told to
// stop. What isn't stored by then stays in the queue.
const grace = 15 * time.Second

// worker drains one queue, one session after the other.
type worker struct {
	*status
	queue    parkade.Queue
	broker   Broker
	store    *store.Store
	log      *slog.Logger
	accepted func() bool   // a person accepted what a preflight asks about
	again    chan struct{} // a person wants it to try now
	maxBody  int64
	minFree  int64

	source parkade.SourceID
	facts  parkade.QueueFacts // what was known last
	pace   pace
	share  share
	retry  *backoff.ExponentialBackOff
	tries  int // how often an undecodable head was tried again
}

// errTaken says that "the next N" are taken.
var errTaken = errors.New("all that were asked for are taken")

// newRetry waits from a second to a minute, give or take a quarter.
func newRetry() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: time.Second, RandomizationFactor: 0.25, Multiplier: 2, MaxInterval: time.Minute,
	}
}

// run drains until ctx ends or "the next N" are taken. Whatever fails is waited
// for: that is a state to show, and no reason to give up.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.session(ctx)
		if ctx.Err() != nil || errors.Is(err, errTaken) {
			return
		}
		w.rest(ctx, w.excuse(err))
	}
}

// excuse turns what ended a session into why the drain doesn't run, and for how
// long.
func (w *worker) excuse(err error) *halt {
	if h, ok := errors.AsType[*halt](err); ok {
		return h
	}
	pause := w.retry.NextBackOff()
	w.log.Warn("drain interrupted", "queue", w.queue.Name, "vhost", w.queue.Vhost, "err", err, "retry_in", pause)
	return &halt{parkade.Waiting, reason(err), "", pause}
}

// rest waits as h says, until ctx ends or a person wants another try.
func (w *worker) rest(ctx context.Context, h *halt) {
	var over <-chan time.Time
	var until time.Time
	if h.wait > 0 {
		timer := time.NewTimer(h.wait)
		defer timer.Stop()
		over, until = timer.C, w.now().Add(h.wait)
	}
	if h.phase == parkade.Stopped && h.wait == recheck {
		until = time.Time{} // it looks again, which promises nothing
	}
	w.explain(h.phase, h.why, h.remedy, until)
	select {
	case <-ctx.Done():
	case <-over:
	case <-w.again:
		w.tries = 0
	}
}

// session drains over one connection until something ends it. It ends in good
// order, with a nil error, when ctx does.
func (w *worker) session(ctx context.Context) error {
	if w.view().Phase != parkade.Stopped {
		w.enter(parkade.Connecting) // one that only looks again stays stopped
	}
	var err error
	if w.source, err = w.store.Source(ctx, w.queue); err != nil {
		return storeFails(err)
	}
	if err := w.storeReady(ctx); err != nil {
		return err
	}
	waits := w.slowly("The management API of " + w.queue.Broker)
	err = w.preflight(ctx)
	waits.Stop()
	if err != nil {
		return err
	}
	if w.view().Phase != parkade.Connecting {
		w.enter(parkade.Connecting) // else it goes on saying who is silent
	}
	w.pace.begin(w.facts.AverageBytes)
	w.pace.careful = w.facts.NeedsCare()
	defer w.share.free()
	prefetch, err := w.room(ctx)
	if err != nil {
		return err
	}
	waits = w.slowly("RabbitMQ " + w.queue.Broker)
	intake, err := w.broker.OpenIntake(ctx, w.queue.Vhost, w.queue.Name, prefetch, heartbeat)
	waits.Stop()
	if err != nil {
		return err
	}
	defer func() { intake.Close(time.Now().Add(5 * time.Second)) }()
	// Nothing can be delivered before the first consume, so the session begins
	// when its connection stands: only then is it sure that the node is up.
	up, err := w.up(ctx)
	if err != nil {
		return storeFails(err)
	}
	begun, err := w.store.BeginSession(ctx, w.source, up, heartbeat)
	if err != nil {
		return storeFails(err)
	}
	crash.Point("drain.session")
	w.log.Info("drain connected", "queue", w.queue.Name, "vhost", w.queue.Vhost, "session", begun.ID)
	s := &session{Session: begun, intake: intake, prefetch: prefetch}
	return w.cycles(ctx, s)
}

// slow is how long connecting may take until it says what it waits for.
const slow = 5 * time.Second

// slowly explains that somebody who was asked hasn't answered yet, unless it is
// stopped before.
func (w *worker) slowly(asked string) *time.Timer {
	return time.AfterFunc(slow, func() {
		w.update(func(d *parkade.Drain) {
			if d.Phase == parkade.Connecting {
				d.Why = asked + " hasn't answered yet."
			}
		})
	})
}

// cycles runs one cycle after the other, while there is room on the disk.
func (w *worker) cycles(ctx context.Context, s *session) error {
	disk, end := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() { defer close(done); w.watchDisk(disk, end) }()
	defer func() { end(nil); <-done }()
	for disk.Err() == nil && w.left() != 0 {
		if err := w.cycle(disk, s); err != nil {
			return w.judge(s, err)
		}
		w.retry.Reset()
	}
	last, cancel := w.through(ctx)
	defer cancel()
	if err := w.store.EndSession(last, s.Session); err != nil {
		return err
	}
	if w.left() == 0 {
		return errTaken
	}
	return context.Cause(disk)
}

// through returns a context for what has to be seen through: it outlives ctx by
// grace.
func (w *worker) through(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel() }
}
