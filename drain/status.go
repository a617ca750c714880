package drain

import (
	"sync"
	"time"

	"parkade"
)

// status is the state of one drain, shared between its worker, the supervisor and
// whoever looks at it.
type status struct {
	mu      sync.Mutex
	drain   parkade.Drain
	rate    rate
	now     func() time.Time
	changed func()
}

// view returns the drain as pages show it.
func (s *status) view() parkade.Drain {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.drain
	d.PerSecond = s.rate.perSecond(s.now())
	return d
}

// update changes the drain and tells whoever follows. A new phase starts now.
func (s *status) update(change func(d *parkade.Drain)) {
	s.mu.Lock()
	before := s.drain.Phase
	change(&s.drain)
	if s.drain.Phase != before {
		s.drain.Since = s.now()
	}
	s.mu.Unlock()
	s.changed()
}

// enter begins a phase that needs no explanation.
func (s *status) enter(p parkade.Phase) { s.explain(p, "", "", time.Time{}) }

// explain begins a phase, with why, what to do about it, and until when it lasts.
// Nothing is told where nothing changes.
func (s *status) explain(p parkade.Phase, why, remedy string, until time.Time) {
	s.mu.Lock()
	d := &s.drain
	same := d.Phase == p && d.Why == why && d.Remedy == remedy && d.Until.Equal(until)
	s.mu.Unlock()
	if same {
		return
	}
	s.update(func(d *parkade.Drain) { d.Phase, d.Why, d.Remedy, d.Until = p, why, remedy, until })
}

// stored counts messages that are safely here.
func (s *status) stored(n int64) {
	s.update(func(d *parkade.Drain) {
		now := s.now()
		d.Drained += n
		d.Last = now
		s.rate.add(now, n)
	})
}

// left returns how many messages are left of "the next N", or -1.
func (s *status) left() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drain.Left
}

// rate counts what happened in each of the last 60 seconds.
type rate struct {
	seconds [60]struct{ at, n int64 }
}

func (r *rate) add(now time.Time, n int64) {
	s := &r.seconds[now.Unix()%60]
	if s.at != now.Unix() {
		s.at, s.n = now.Unix(), 0
	}
	s.n += n
}

func (r *rate) perSecond(now time.Time) float64 {
	var sum int64
	for _, s := range r.seconds {
		if now.Unix()-s.at < 60 {
			sum += s.n
		}
	}
	return float64(sum) / 60
}
