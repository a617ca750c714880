package drain

import (
	"context"

	"parkade"
)

// forget looks after the queues of a broker that a search didn't find. One that
// isn't there any more is forgotten, unless somebody decided about it, the
// configuration names it, or the store has messages of it: then it is said to be
// missing.
func (s *Supervisor) forget(ctx context.Context, broker string, b Broker, there map[parkade.Queue]bool) {
	var gone []*entry
	for _, e := range s.unseen(broker, there) {
		facts, err := b.Facts(ctx, e.queue.Vhost, e.queue.Name)
		if err != nil || !facts.Known {
			continue
		}
		e.missing(facts.Missing)
		if facts.Missing {
			gone = append(gone, e)
		}
	}
	if len(gone) == 0 {
		return
	}
	holds, err := s.holding(ctx)
	if err != nil {
		s.log.Error("stored messages can't be counted", "err", err)
		return
	}
	s.mu.Lock()
	for _, e := range gone {
		if !holds[e.queue] && !s.named(e) {
			delete(s.drains, e.queue)
		}
	}
	s.mu.Unlock()
	s.followers.announce()
}

func (s *Supervisor) unseen(broker string, there map[parkade.Queue]bool) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*entry
	for q, e := range s.drains {
		if q.Broker == broker && !there[q] {
			all = append(all, e)
		}
	}
	return all
}

// named reports whether somebody wants something of e, or the configuration does.
// Supervisor.mu is held.
func (s *Supervisor) named(e *entry) bool {
	if e.choice.Wanted != "" || e.stop != nil || e.left() > 0 {
		return true
	}
	r, ok := s.rule(e.queue)
	return ok && !isGlob(r.Queue.Name)
}

// holding returns the queues that the store has messages of.
func (s *Supervisor) holding(ctx context.Context) (map[parkade.Queue]bool, error) {
	counters, err := s.store.Counters(ctx)
	holds := make(map[parkade.Queue]bool)
	for _, c := range counters {
		holds[c.Queue] = true
	}
	return holds, err
}

// missing notes whether the broker says that there is no such queue.
func (s *status) missing(is bool) {
	if s.view().Missing != is {
		s.update(func(d *parkade.Drain) { d.Missing = is })
	}
}
