package replay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parkade"
	"parkade/store"
	"parkade/store/crash"
)

// Runner sends what operations claim. There is one in a process.
type Runner struct {
	store   *store.Store
	brokers map[string]Broker
	log     *slog.Logger

	wake chan struct{}

	mu   sync.Mutex
	work map[parkade.OperationID]*work

	tidying   bool
	tidyAfter time.Time // not before
}

// NewRunner returns a runner that does nothing before Run.
func NewRunner(s *store.Store, brokers map[string]Broker, log *slog.Logger) *Runner {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Runner{store: s, brokers: brokers, log: log, wake: make(chan struct{}, 1), work: make(map[parkade.OperationID]*work)}
}

// Run works through every operation that is or becomes active, until ctx ends. It
// then interrupts them: what was sent gets up to ten seconds for its confirm.
func (r *Runner) Run(ctx context.Context) error {
	changed, stop := r.store.Subscribe(store.Operations)
	defer stop()
	var all sync.WaitGroup
	for ctx.Err() == nil {
		due, err := r.look(ctx, &all)
		if err != nil && ctx.Err() == nil {
			r.log.Error("operations can't be read", "err", err)
		}
		again := time.NewTimer(due)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-r.wake:
		case <-again.C:
		}
		again.Stop()
	}
	crash.Point("stop.jobs")
	all.Wait()
	return nil
}

// lookAgain is after how long operations are read again even if nothing tells of
// a change: the read before may have failed.
const lookAgain = 5 * time.Second

// look starts work on operations that are active or due, and tells the others that
// theirs may have changed. It returns when to look again at the latest.
func (r *Runner) look(ctx context.Context, all *sync.WaitGroup) (time.Duration, error) {
	again := lookAgain
	due, err := r.store.StartDue(ctx)
	if err != nil {
		return again, err
	}
	if due > 0 {
		again = min(again, due)
	}
	active, err := r.store.Active(ctx)
	if err != nil {
		return again, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tidy(ctx, all)
	for _, w := range r.work {
		w.nudge()
	}
	for _, op := range active {
		if !moves(op.State) || r.work[op.ID] != nil {
			continue
		}
		w := newWork(r, op)
		r.work[op.ID] = w
		all.Go(func() {
			w.run(ctx)
			r.forget(op.ID)
		})
	}
	return again, nil
}

// forget ends the work on an operation, which may have been resumed meanwhile.
func (r *Runner) forget(id parkade.OperationID) {
	r.mu.Lock()
	delete(r.work, id)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// moves reports whether an operation in state s has something to be done.
func moves(s parkade.OperationState) bool {
	switch s {
	case parkade.Canary, parkade.Running, parkade.Pausing, parkade.Cancelling:
		return true
	case parkade.Scheduled, parkade.Watching, parkade.Paused, parkade.Interrupted, parkade.Cancelled, parkade.Finished:
	}
	return false
}

// claims reports whether an operation in state s may take its next messages.
func claims(s parkade.OperationState) bool { return s == parkade.Running || s == parkade.Canary }

// Wait is why an operation that runs doesn't get on at the moment, such as a
// broker that can't be reached. The zero Wait is that nothing is in its way.
type Wait struct {
	Why   string    // a sentence
	Until time.Time // when it is tried again; zero: as soon as it can be
}

// Waiting says what is in the way of an operation now. Followers of
// store.Operations are told when that changes.
func (r *Runner) Waiting(id parkade.OperationID) Wait {
	r.mu.Lock()
	w := r.work[id]
	r.mu.Unlock()
	if w == nil {
		return Wait{}
	}
	return *w.waits.Load()
}
