package drain

import (
	"context"
	"sync"
	"time"

	"parkade"
)

// How often brokers are asked which queues there are, and how much is in them.
const (
	findEvery    = 30 * time.Second
	measureEvery = 5 * time.Second
	askFor       = 10 * time.Second // at most, of one broker
)

// explore keeps up with which queues there are, until ctx ends.
func (s *Supervisor) explore(ctx context.Context) {
	found := time.Time{}
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if s.now().Sub(found) >= findEvery {
			found = s.now()
			s.each(ctx, s.find)
			s.rouse()
		}
		s.each(ctx, s.measure)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// each asks all brokers at once, so that one that is slow delays no other.
func (s *Supervisor) each(ctx context.Context, ask func(ctx context.Context, name string, b Broker)) {
	var all sync.WaitGroup
	for name, b := range s.opts.Brokers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, askFor)
			defer cancel()
			ask(ctx, name, b)
		})
	}
	all.Wait()
}

// find notes the queues of one broker that look like parking queues, and those
// that a rule with a glob matches.
func (s *Supervisor) find(ctx context.Context, name string, b Broker) {
	candidates, err := b.Candidates(ctx)
	s.heard(name, troubleOf(err))
	if err != nil {
		s.log.Warn("queues can't be listed", "broker", name, "err", err)
	}
	s.note(name, candidates, nil)
	for _, vhost := range s.globbed(name) {
		queues, err := b.Queues(ctx, vhost)
		if err != nil {
			s.log.Warn("queues can't be listed", "broker", name, "vhost", vhost, "err", err)
		}
		s.note(name, queues, func(q parkade.Queue) bool { _, ok := s.rule(q); return ok })
	}
}

// globbed returns the vhosts in which a rule with a glob has to be matched.
func (s *Supervisor) globbed(broker string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	var vhosts []string
	for _, r := range s.rules {
		if r.Queue.Broker == broker && isGlob(r.Queue.Name) && !seen[r.Queue.Vhost] {
			seen[r.Queue.Vhost] = true
			vhosts = append(vhosts, r.Queue.Vhost)
		}
	}
	return vhosts
}

// note remembers queues that were found; keep says which, nil all.
func (s *Supervisor) note(broker string, found []Candidate, keep func(parkade.Queue) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range found {
		q := parkade.Queue{Broker: broker, Vhost: c.Vhost, Name: c.Name}
		if keep != nil && !keep(q) {
			continue
		}
		if e := s.entry(q); c.Ready >= 0 {
			e.read(parkade.Reading{Value: c.Ready, At: s.now()})
		}
	}
}

// measure asks how much is ready in the queues of one broker that are more than
// offered.
func (s *Supervisor) measure(ctx context.Context, name string, b Broker) {
	for _, e := range s.asked(name) {
		r := b.Depth(ctx, e.queue.Vhost, e.queue.Name)
		if r.Err == "" {
			s.heard(name, "")
		}
		e.read(r)
	}
}

func (s *Supervisor) asked(broker string) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*entry
	for _, e := range s.drains {
		if e.queue.Broker == broker && e.view().Phase != parkade.Offered {
			all = append(all, e)
		}
	}
	return all
}

// read takes a measurement. One that failed keeps the value before.
func (s *status) read(r parkade.Reading) {
	s.mu.Lock()
	before := s.drain.Ready
	if r.Err != "" {
		r.Value, r.At = before.Value, before.At
	}
	s.drain.Ready = r
	s.mu.Unlock()
	if before.Value != r.Value || before.Err != r.Err || before.Known() != r.Known() {
		s.changed()
	}
}
