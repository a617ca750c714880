package replay

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"parkade"
	"parkade/store"
	"parkade/store/crash"
)

// What may be on its way: intents without a recorded outcome, which is what a
// crash leaves in doubt; and how many are claimed at once.
const (
	window      = 1024
	windowBytes = 64 << 20
	chunk       = 512
	chunkBytes  = 16 << 20

	recordWithin = 100 * time.Millisecond // outcomes that no claim takes along
	confirmsFor  = 10 * time.Second       // at the end of the process
)

// work is one operation being worked through, by one goroutine that everything
// below belongs to.
type work struct {
	*Runner
	op     parkade.Operation
	events chan event
	nudged chan struct{}
	waits  atomic.Pointer[Wait]

	state     parkade.OperationState
	exhausted bool // nothing is left to be claimed
	queue     []parkade.Send
	flying    map[parkade.ReplayID]flight
	bytes     int64 // of queue and flying
	alone     bool  // the one that is flying must not get company
	done      []parkade.Result
	doneSince time.Time
	sent      int64

	committing bool        // a transaction is under way; it brings what it did
	commits    chan commit // room for that one

	limiter *rate.Limiter
	sendAt  time.Time // of the head of queue; zero: not reserved yet
	lanes   map[place]*lane
	dials   sync.WaitGroup
	stuck   time.Duration // how long the store is left alone after it failed
}

// commit is what a transaction did: recorded done, and claimed up to limit.
type commit struct {
	done  []parkade.Result
	since time.Time
	limit int
	chunk store.Chunk
	err   error
}

// flight is one message on its way.
type flight struct {
	lane     *lane
	exchange string
	bytes    int64
}

func newWork(r *Runner, op parkade.Operation) *work {
	limit := rate.Inf
	if op.Rate > 0 {
		limit = rate.Limit(op.Rate)
	}
	w := &work{
		Runner: r, op: op, state: op.State,
		events: make(chan event, 2*window), nudged: make(chan struct{}, 1), commits: make(chan commit, 1),
		flying: make(map[parkade.ReplayID]flight), lanes: make(map[place]*lane), limiter: rate.NewLimiter(limit, 1),
	}
	w.waits.Store(&Wait{})
	return w
}

// nudge has the work look at its operation's state.
func (w *work) nudge() {
	select {
	case w.nudged <- struct{}{}:
	default:
	}
}

// run works until the operation is over, paused or cancelled, or ctx ends. In
// every case nothing of it is on its way when it returns.
func (w *work) run(ctx context.Context) {
	lanes, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer w.dials.Wait()
	defer cut()
	// Also for a send that a broker which takes nothing holds up.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(confirmsFor, cut) })()
	for {
		w.absorb(ctx)
		if ctx.Err() != nil {
			if w.committing {
				w.committed(ctx, <-w.commits)
			}
			w.interrupt(lanes)
			return
		}
		if !claims(w.state) {
			w.giveBack()
		}
		switch {
		case w.claimable(), w.recordable():
			w.commit(ctx, w.room())
		case w.idle():
			return
		default:
			w.wait(ctx, w.send(lanes))
		}
	}
}

// idle reports whether there is nothing to send and nothing to wait for.
func (w *work) idle() bool { return len(w.queue) == 0 && len(w.flying) == 0 && !w.committing }

// claimable reports whether it is time for the next chunk: at full speed as soon as
// there is room for a whole one, so that it is claimed while the one before is sent.
func (w *work) claimable() bool {
	on := len(w.queue) + len(w.flying)
	return !w.committing && (on == 0 || on+chunk <= window) && w.room() > 0
}

// recordable reports whether outcomes have waited long enough for a claim to take
// them along.
func (w *work) recordable() bool {
	return len(w.done) > 0 && !w.committing && (w.idle() || time.Since(w.doneSince) >= recordWithin)
}

// room is how many messages may be claimed now. Until a publisher is open that is a
// single one, so that a broker that is away leaves little in hand.
func (w *work) room() int {
	on := len(w.queue) + len(w.flying)
	switch {
	case !claims(w.state), w.exhausted, w.alone:
		return 0
	case len(w.queue) > 0 && (w.op.Rate > 0 || !w.anyOpen()):
		return 0
	case on > 0 && w.bytes+chunkBytes > windowBytes:
		return 0
	case !w.anyOpen():
		return min(1, window-on)
	case w.op.Rate > 0:
		return min(chunk, window-on, max(1, int(w.op.Rate)))
	}
	return min(chunk, window-on)
}

// commit records what is done and takes up to limit of the next messages, in one
// transaction, while what is in hand goes on. What it did comes as a commit.
func (w *work) commit(ctx context.Context, limit int) {
	c := commit{done: w.done, since: w.doneSince, limit: limit}
	w.done, w.committing = nil, true
	go func() {
		c.chunk, c.err = w.store.Chunk(ctx, w.op.ID, c.done, limit, chunkBytes)
		w.commits <- c
	}()
}

// committed takes over what a transaction did.
func (w *work) committed(ctx context.Context, c commit) {
	w.committing = false
	if c.err != nil {
		w.done, w.doneSince = append(c.done, w.done...), c.since
		w.storeFails(ctx, c.err)
		return
	}
	w.recorded()
	if c.limit == 0 {
		return
	}
	w.state, w.queue = c.chunk.State, append(w.queue, c.chunk.Sends...)
	w.exhausted = len(c.chunk.Sends) == 0 || c.chunk.Left == 0
	for _, s := range c.chunk.Sends {
		w.bytes += int64(len(s.Draft.Body))
	}
}

func (w *work) recorded() {
	if w.stuck > 0 {
		w.say("")
	}
	w.stuck = 0
}

// storeFails waits before the store is tried again. Outcomes stay in hand: a
// crash would turn them into unknown ones, never the reverse.
func (w *work) storeFails(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	w.stuck = min(max(time.Second, 2*w.stuck), time.Minute)
	_, sentence := parkade.Explain(err)
	w.sayUntil("The store can't record outcomes: "+sentence, time.Now().Add(w.stuck))
	w.log.Error("outcomes can't be recorded", "operation", w.op.ID, "outcomes", len(w.done), "err", err, "retry_in", w.stuck)
	select {
	case <-ctx.Done():
	case <-time.After(w.stuck):
	}
}

// giveBack takes claimed messages out of the way that weren't sent.
func (w *work) giveBack() {
	for _, s := range w.queue {
		w.finish(parkade.Result{Replay: s.Replay, Outcome: parkade.NotSent})
		w.bytes -= int64(len(s.Draft.Body))
	}
	w.queue = nil
}

// finish keeps an outcome until it is recorded.
func (w *work) finish(r parkade.Result) {
	if len(w.done) == 0 {
		w.doneSince = time.Now()
	}
	w.done = append(w.done, r)
}

// interrupt ends the work because the process does. What was sent gets time for
// its confirm; then its connection is cut, and the rest is unknown.
func (w *work) interrupt(lanes context.Context) {
	ctx := context.WithoutCancel(lanes)
	if claims(w.state) {
		if err := w.store.Interrupt(ctx, w.op.ID, "The dashboard was stopped."); err != nil {
			w.log.Error("operation can't be interrupted", "operation", w.op.ID, "err", err)
		}
	}
	w.giveBack()
	for len(w.flying) > 0 {
		w.take(<-w.events)
	}
	for try := 0; len(w.done) > 0 && try < 3; try++ {
		if err := w.store.Record(ctx, w.op.ID, w.done); err != nil {
			w.log.Error("outcomes can't be recorded", "operation", w.op.ID, "outcomes", len(w.done), "err", err)
			continue
		}
		w.done = nil
	}
}

// say explains what is in the way; "" is nothing.
func (w *work) say(why string) { w.sayUntil(why, time.Time{}) }

// sayUntil is say of what is tried again at a known time.
func (w *work) sayUntil(why string, until time.Time) {
	if now := (Wait{why, until}); *w.waits.Load() != now {
		w.waits.Store(&now)
		w.store.Announce(store.Operations)
	}
}

// purpose names the operation's connections.
func (w *work) purpose() string { return fmt.Sprintf("replay %d", w.op.ID) }

func (w *work) anyOpen() bool {
	for _, l := range w.lanes {
		if l.open != nil {
			return true
		}
	}
	return false
}

// passed marks how far the sending is, for tests that kill the process there.
func (w *work) passed() {
	w.sent++
	if w.sent == 1 {
		crash.Point("replay.sent_first")
	}
	if w.exhausted && len(w.queue) == 0 {
		crash.Point("replay.sent_all")
	}
}
