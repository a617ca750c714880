package drain

import (
	"context"
	"maps"
	"sync"
	"time"

	"parkade"
)

// How often brokers are asked which queues there are, and how much is in them.
const (
	findEvery    = 30 * time.Second
	measureEvery = 5 * time.Second
	searchFor    = 10 * time.Second // at most
	silentAfter  = 4 * time.Second  // a broker that doesn't answer a simple question
)

// explore keeps up with which queues there are, until ctx ends. Each broker is
// asked by itself, so that one that is slow or silent delays no other.
func (s *Supervisor) explore(ctx context.Context) {
	var all sync.WaitGroup
	for name, b := range s.opts.Brokers {
		all.Go(func() { s.look(ctx, name, b) })
	}
	all.Wait()
}

// look keeps up with the queues of one broker.
func (s *Supervisor) look(ctx context.Context, name string, b Broker) {
	var found time.Time
	var trouble string // of the last search
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if silent := s.silent(ctx, b); silent != "" {
			s.heard(name, silent)
			for _, e := range s.asked(name) {
				e.read(parkade.Reading{Err: silent})
			}
		} else {
			if s.now().Sub(found) >= findEvery {
				found = s.now()
				trouble = troubleOf(s.find(ctx, name, b))
				s.rouse()
			}
			s.heard(name, trouble)
			s.measure(ctx, name, b)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// silent says why a broker doesn't answer, or "".
func (s *Supervisor) silent(ctx context.Context, b Broker) string {
	soon, cancel := context.WithTimeout(ctx, silentAfter)
	defer cancel()
	return troubleOf(b.Alive(soon))
}

// find notes the queues of one broker that look like parking queues, and those
// that a rule with a glob matches. What isn't among them may be gone.
func (s *Supervisor) find(ctx context.Context, name string, b Broker) error {
	ctx, cancel := context.WithTimeout(ctx, searchFor)
	defer cancel()
	candidates, err := b.Candidates(ctx)
	if err != nil {
		s.log.Warn("queues can't be listed", "broker", name, "err", err)
	}
	there := s.note(name, candidates, nil)
	whole := err == nil
	for _, vhost := range s.globbed(name) {
		queues, err := b.Queues(ctx, vhost)
		if err != nil {
			s.log.Warn("queues can't be listed", "broker", name, "vhost", vhost, "err", err)
			whole = false
		}
		maps.Copy(there, s.note(name, queues, func(q parkade.Queue) bool { _, ok := s.rule(q); return ok }))
	}
	if whole {
		s.forget(ctx, name, b, there)
	}
	return err
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

// note remembers queues that were found, and returns them; keep says which, nil
// all.
func (s *Supervisor) note(broker string, found []Candidate, keep func(parkade.Queue) bool) map[parkade.Queue]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := make(map[parkade.Queue]bool)
	for _, c := range found {
		q := parkade.Queue{Broker: broker, Vhost: c.Vhost, Name: c.Name}
		if keep != nil && !keep(q) {
			continue
		}
		there[q] = true
		e := s.entry(q)
		e.missing(false)
		if c.Ready >= 0 {
			e.read(parkade.Reading{Value: c.Ready, At: s.now()})
		}
	}
	return there
}

// measure asks how much is ready in the queues of one broker that are more than
// offered. One that doesn't answer once isn't asked about the others.
func (s *Supervisor) measure(ctx context.Context, name string, b Broker) {
	for _, e := range s.asked(name) {
		soon, cancel := context.WithTimeout(ctx, silentAfter)
		e.read(b.Depth(soon, e.queue.Vhost, e.queue.Name))
		late := soon.Err() != nil
		cancel()
		if late {
			return
		}
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
