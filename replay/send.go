package replay

import (
	"context"
	"time"

	"parkade"
	"parkade/store/crash"
)

// Pauses between two looks at something that tells nobody when it changes.
const (
	blockedFor = 200 * time.Millisecond
	patientFor = 3 * time.Second // until connecting is taken for waiting
	forever    = time.Hour
)

// send publishes the head of the queue if it may leave by now. Otherwise it
// returns how long nothing is to be done unless something happens.
func (w *work) send(lanes context.Context) time.Duration {
	if len(w.queue) == 0 || w.alone {
		return w.confirms()
	}
	s := w.queue[0]
	l := w.lane(s)
	b, ok := w.brokers[l.place.broker]
	if !ok {
		w.refuse("The broker " + l.place.broker + " isn't in the configuration any more.")
		return 0
	}
	if l.open == nil {
		return w.openLane(lanes, l, b)
	}
	if err := b.Check(s.Draft); err != nil {
		_, sentence := parkade.Explain(err)
		w.refuse(sentence)
		return 0
	}
	if w.blocked(l) {
		return blockedFor
	}
	if w.op.Verb == parkade.GiveBack && b.Quiet != nil && !b.Quiet(s.Queue) {
		w.say("It begins when the draining of " + s.Queue.Name + " has stopped.")
		return blockedFor
	}
	if !w.bind(l, s) {
		return 0
	}
	alone := l.alone(s, b)
	if alone && len(w.flying) > 0 {
		return w.confirms()
	}
	if pause := w.pace(); pause > 0 {
		return pause
	}
	if err := l.open.Send(s); err != nil { // the publisher is over, which its lane will tell
		w.log.Info("replay not sent yet", "operation", w.op.ID, "replay", s.Replay, "err", err)
		l.open.Close()
		l.open = nil
		l.opening = true // until it has told all results
		return forever
	}
	w.say("")
	w.queue = w.queue[1:]
	w.alone, w.sendAt = alone, time.Time{}
	w.flying[s.Replay] = flight{l, s.Draft.Exchange, int64(len(s.Draft.Body))}
	w.passed()
	return 0
}

// bind sees to it that the exchange of ours by which the head of the queue is sent
// is there, and reports false where it isn't sent now.
func (w *work) bind(l *lane, s parkade.Send) bool {
	if s.Into == "" || l.bound[s.Draft.Exchange] {
		return true
	}
	err := l.open.Bind(s.Draft.Exchange, s.Into)
	kind, why := parkade.Explain(err)
	switch {
	case err == nil:
		l.bound[s.Draft.Exchange] = true
		return true
	case kind == parkade.Forbidden:
		w.refuse(why)
	default:
		w.log.Info("exchange not bound yet", "operation", w.op.ID, "exchange", s.Draft.Exchange, "err", err)
		l.open.Close()
		l.open = nil
		l.opening = true // until it has told all results
	}
	return false
}

// confirms returns how long to wait where there is nothing to do but that. A broker
// that takes nothing says so only after it was sent something, maybe the last.
func (w *work) confirms() time.Duration {
	if len(w.flying) == 0 {
		return forever
	}
	for _, l := range w.lanes {
		if w.blocked(l) {
			return blockedFor
		}
	}
	w.say("")
	return blockedFor
}

// blocked reports whether the broker of a lane takes nothing, and says so.
func (w *work) blocked(l *lane) bool {
	if l.open == nil {
		return false
	}
	_, why, blocked := l.open.Blocked()
	if blocked {
		w.say("RabbitMQ takes no messages at the moment: " + why + ".")
	}
	return blocked
}

// pace returns how long the rate limit holds the head of the queue back.
func (w *work) pace() time.Duration {
	now := time.Now()
	if w.sendAt.IsZero() {
		w.sendAt = now.Add(w.limiter.ReserveN(now, 1).DelayFrom(now))
	}
	return w.sendAt.Sub(now)
}

// refuse ends the head of the queue without sending it.
func (w *work) refuse(why string) {
	s := w.queue[0]
	w.queue = w.queue[1:]
	w.bytes -= int64(len(s.Draft.Body))
	w.finish(parkade.Result{Replay: s.Replay, Outcome: parkade.Refused, Why: why})
}

func (w *work) lane(s parkade.Send) *lane {
	p := place{s.Queue.Broker, s.Queue.Vhost}
	if w.lanes[p] == nil {
		w.lanes[p] = newLane(p)
	}
	return w.lanes[p]
}

// openLane has a lane opened, now or when its last failure is long enough ago.
func (w *work) openLane(lanes context.Context, l *lane, b Broker) time.Duration {
	if l.opening {
		return w.patience(l)
	}
	if pause := time.Until(l.after); pause > 0 {
		w.sayUntil(l.trouble, l.after)
		return pause
	}
	l.opening, l.since = true, time.Now()
	w.dials.Go(func() { l.dial(lanes, b, w.purpose(), w.events) })
	return w.patience(l)
}

// patience explains a lane that takes long to open, and returns how long it may
// take without being called that.
func (w *work) patience(l *lane) time.Duration {
	switch left := patientFor - time.Since(l.since); {
	case l.since.IsZero(): // its old connection is still to end
	case l.trouble != "":
		w.say(l.trouble)
	case left > 0:
		return left
	default:
		w.say("It is still connecting to RabbitMQ " + l.place.broker + ".")
	}
	return forever
}

// wait returns when something happened, after d, or when outcomes have to be
// recorded.
func (w *work) wait(ctx context.Context, d time.Duration) {
	if len(w.done) > 0 && !w.committing {
		d = min(d, recordWithin-time.Since(w.doneSince))
	}
	if d <= 0 {
		w.heed(ctx, false)
		return
	}
	nudged := w.nudged
	if w.committing { // its state may be an older one
		nudged = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case e := <-w.events:
		w.take(e)
	case c := <-w.commits:
		w.committed(ctx, c)
	case <-nudged:
		w.heed(ctx, true)
	case <-timer.C:
	}
}

// heed reads the operation's state if it may have changed. A transaction that is
// under way may bring an older one, so it is waited for.
func (w *work) heed(ctx context.Context, nudged bool) {
	if w.committing {
		return
	}
	if !nudged {
		select {
		case <-w.nudged:
		default:
			return
		}
	}
	op, err := w.store.Operation(ctx, w.op.ID)
	if err != nil {
		w.nudge() // asked again
		return
	}
	if claims(op.State) && !claims(w.state) {
		w.exhausted = false // what was given back may be claimed again
	}
	w.state = op.State
}

// absorb takes what has happened already.
func (w *work) absorb(ctx context.Context) {
	for {
		select {
		case e := <-w.events:
			w.take(e)
		case c := <-w.commits:
			w.committed(ctx, c)
		default:
			return
		}
	}
}

func (w *work) take(e event) {
	l := e.lane
	switch {
	case e.result != nil:
		w.settle(*e.result)
	case e.over:
		l.open, l.opening, l.since = nil, false, time.Time{}
	case e.err != nil:
		pause := l.retry.NextBackOff()
		l.opening, l.after = false, time.Now().Add(pause)
		_, l.trouble = parkade.Explain(e.err)
		w.sayUntil(l.trouble, l.after)
		w.log.Warn("no connection to publish", "operation", w.op.ID, "broker", l.place.broker, "vhost", l.place.vhost, "err", e.err, "retry_in", pause)
	default:
		l.open, l.opening, l.since, l.trouble = e.opened, false, time.Time{}, ""
		l.bound = make(map[string]bool)
		w.say("")
	}
}

// settle keeps what became of one send.
func (w *work) settle(r parkade.Result) {
	f, ok := w.flying[r.Replay]
	if !ok {
		return
	}
	switch r.Outcome {
	case parkade.Unroutable:
		crash.Point("replay.return_read")
	case parkade.Refused:
		crash.Point("replay.exception_read")
	case parkade.Unknown:
		crash.Point("replay.timeout_cut")
	case parkade.Confirmed, parkade.Nacked:
		crash.Point("replay.confirm_read")
	case parkade.Intent, parkade.NotSent:
	}
	delete(w.flying, r.Replay)
	w.bytes -= f.bytes
	w.alone = false
	f.lane.learn(f.exchange, r.Outcome)
	w.finish(r)
}
