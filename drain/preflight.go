package drain

import (
	"context"
	"time"

	"parkade"
)

// recheck is how often a drain that must not run looks whether it may by now.
const recheck = 30 * time.Second

// halt is why a drain doesn't run. It is an error of a session that lost nothing.
type halt struct {
	phase  parkade.Phase
	why    string
	remedy string
	wait   time.Duration // then it tries again; 0: only when a person starts it
}

func (h *halt) Error() string { return h.why }

// preflight looks whether the queue can be drained without losing messages, and
// returns a halt where it can't. What a person accepted doesn't halt it.
func (w *worker) preflight(ctx context.Context) error {
	facts, findings := look(ctx, w.broker, w.queue)
	if !facts.Known && w.facts.Known {
		facts = w.facts // as careful as it was
		facts.UpSince = time.Time{}
	}
	w.facts = facts
	w.update(func(d *parkade.Drain) { d.Findings, d.Careful = findings, facts.NeedsCare() })
	switch parkade.Worst(findings) {
	case parkade.Refuse:
		f := first(findings, parkade.Refuse)
		return &halt{parkade.Stopped, f.Text, f.Remedy, recheck}
	case parkade.Ask:
		if f := first(findings, parkade.Ask); !w.accepted() {
			return &halt{parkade.Stopped, f.Text, sentences(f.Remedy, "Or start it in spite of that."), recheck}
		}
	case parkade.Warn, parkade.Unchecked, parkade.Note:
	}
	if !facts.Known {
		return nil
	}
	return w.store.DescribeSource(ctx, w.source, facts.Type, facts.Version, facts.ReturnsFirst())
}

// look asks the broker about a queue. No answer is a finding too.
func look(ctx context.Context, b Broker, q parkade.Queue) (parkade.QueueFacts, []parkade.Finding) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	facts, err := b.Facts(ctx, q.Vhost, q.Name)
	if err != nil {
		facts = parkade.QueueFacts{}
	}
	return facts, parkade.Preflight(facts)
}

func first(findings []parkade.Finding, v parkade.Verdict) parkade.Finding {
	for _, f := range findings {
		if f.Verdict == v {
			return f
		}
	}
	return parkade.Finding{}
}

// up reports whether the queue's node is known to have run since the source's
// last session was alive. It is asked once the connection stands.
func (w *worker) up(ctx context.Context) (bool, error) {
	alive, err := w.store.LastAlive(ctx, w.source)
	if err != nil || alive.IsZero() {
		return false, err
	}
	facts, _ := look(ctx, w.broker, w.queue)
	// A second, since the broker counts its uptime by a clock of its own.
	return !facts.UpSince.IsZero() && facts.UpSince.Before(alive.Add(-time.Second)), nil
}

func sentences(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}
