package drain

import (
	"sync"
	"time"

	"parkade"
)

// Heard is when a broker's management API answered last; zero is never.
type Heard struct {
	At      time.Time
	Trouble string // why it doesn't answer now: a sentence, or ""
}

// hearing remembers which brokers answer.
type hearing struct {
	mu  sync.Mutex
	all map[string]Heard
}

// note takes the outcome of one question; trouble is "" for an answer. It reports
// whether that changes whether the broker answers.
func (h *hearing) note(broker string, now time.Time, trouble string) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = make(map[string]Heard)
	}
	before := h.all[broker]
	after := Heard{now, trouble}
	if trouble != "" {
		after.At = before.At
	}
	h.all[broker] = after
	return (before.Trouble == "") != (trouble == "")
}

// Heard tells when a broker answered last, and why it doesn't now.
func (s *Supervisor) Heard(broker string) Heard {
	s.hearing.mu.Lock()
	defer s.hearing.mu.Unlock()
	return s.hearing.all[broker]
}

// heard notes whether a broker answered a question.
func (s *Supervisor) heard(broker, trouble string) {
	if s.hearing.note(broker, s.now(), trouble) {
		s.followers.announce()
	}
}

func troubleOf(err error) string {
	if err == nil {
		return ""
	}
	if kind, text := parkade.Explain(err); kind != parkade.Internal {
		return text
	}
	return "Its management API doesn't answer."
}
