package drain

import (
	"context"

	"parkade"
	"parkade/store"
)

// Start consents to draining q, by a person. What a preflight asks about needs
// accept; what it refuses stays refused, with a Conflict that says why.
func (s *Supervisor) Start(ctx context.Context, q parkade.Queue, accept bool, by, why string) error {
	if err := s.allow(ctx, q, accept); err != nil {
		return err
	}
	if err := s.store.Want(ctx, q, true, accept, by, why); err != nil {
		return err
	}
	s.change(q, func(e *entry) {
		e.quiet = false
		e.choice = store.SourceChoice{Queue: q, Wanted: "on", Accepted: accept, By: by, Why: why}
		e.update(func(d *parkade.Drain) { d.Left = -1 })
		e.retryNow()
	})
	return nil
}

// Stop ends the draining of q until somebody starts it again. The batch in hand
// is seen through.
func (s *Supervisor) Stop(ctx context.Context, q parkade.Queue, by, why string) error {
	if _, ok := s.opts.Brokers[q.Broker]; !ok {
		return unknownBroker(q)
	}
	if err := s.store.Want(ctx, q, false, false, by, why); err != nil {
		return err
	}
	s.change(q, func(e *entry) {
		e.choice = store.SourceChoice{Queue: q, Wanted: "off", By: by, Why: why}
		e.update(func(d *parkade.Drain) { d.Left = -1 })
	})
	return nil
}

// Next takes exactly the next n messages out of q, or as many as come, and stops.
func (s *Supervisor) Next(ctx context.Context, q parkade.Queue, n int64, accept bool, by string) error {
	if n < 1 {
		return parkade.Errorf(parkade.Invalid, "At least one message has to be taken.").At("count")
	}
	if err := s.allow(ctx, q, accept); err != nil {
		return err
	}
	brake, err := s.store.Brake(ctx)
	if err != nil {
		return err
	}
	if brake.On {
		return parkade.Errorf(parkade.Conflict, "The brake is on, by %s. Release it first.", brake.By)
	}
	if err := s.store.MayDrain(ctx, q); err != nil {
		return err
	}
	if s.consented(q) {
		return parkade.Errorf(parkade.Conflict, "%s is being drained. Stop that first.", q.Name)
	}
	if err := s.store.Act(ctx, parkade.Action{By: by, Verb: "next", Queue: &q, Count: n}); err != nil {
		return err
	}
	s.change(q, func(e *entry) {
		e.quiet = false
		e.next = next{by, n, accept}
		e.update(func(d *parkade.Drain) { d.Left = n })
		e.retryNow()
	})
	return nil
}

// Quiet has q left alone until a person starts its drain again, and reports whether
// nothing is taken out of it any more: while messages are given back to it, a drain
// would take them out again.
func (s *Supervisor) Quiet(q parkade.Queue) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(q)
	if e == nil {
		return true
	}
	if !e.quiet {
		e.quiet = true
		e.update(func(d *parkade.Drain) { d.Left = -1 })
	}
	if e.stop != nil {
		e.stop()
	}
	return e.stop == nil
}

// Brake stops all draining, or lets it go on.
func (s *Supervisor) Brake(ctx context.Context, on bool, by, why string) error {
	if err := s.store.SetBrake(ctx, on, by, why); err != nil {
		return err
	}
	s.rouse()
	return nil
}

// Preflight looks whether q can be drained without losing messages.
func (s *Supervisor) Preflight(ctx context.Context, q parkade.Queue) (parkade.QueueFacts, []parkade.Finding, error) {
	b, ok := s.opts.Brokers[q.Broker]
	if !ok {
		return parkade.QueueFacts{}, nil, unknownBroker(q)
	}
	facts, findings := look(ctx, b, q)
	return facts, findings, nil
}

// allow returns a Conflict where q must not be drained, or not without accept.
func (s *Supervisor) allow(ctx context.Context, q parkade.Queue, accept bool) error {
	_, findings, err := s.Preflight(ctx, q)
	if err != nil {
		return err
	}
	worst := parkade.Worst(findings)
	if worst == parkade.Refuse || worst == parkade.Ask && !accept {
		f := first(findings, worst)
		return parkade.Errorf(parkade.Conflict, "%s isn't drained: %s", q.Name, sentences(f.Text, f.Remedy))
	}
	return nil
}

func (s *Supervisor) consented(q parkade.Queue) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(q)
	c, _ := s.consent(e)
	return c != parkade.NoConsent
}

// change changes the entry of q, and has Run look at it.
func (s *Supervisor) change(q parkade.Queue, fn func(e *entry)) {
	s.mu.Lock()
	if e := s.entry(q); e != nil {
		fn(e)
	}
	s.mu.Unlock()
	s.rouse()
}

// retryNow ends the waiting of a worker.
func (e *entry) retryNow() {
	select {
	case e.again <- struct{}{}:
	default:
	}
}

func unknownBroker(q parkade.Queue) error {
	return parkade.Errorf(parkade.NotFound, "There is no broker called %q in the configuration.", q.Broker).At("broker")
}
