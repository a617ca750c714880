package views

import (
	"parkade"
)

// Queues are all queues that are drained, were, or could be.
type Queues struct {
	Shell

	Rows     []QueueRow // those that need somebody first
	Brokers  []string
	Patterns []string // names by which parking queues are found
}

// drained is how many of them take messages.
func (q Queues) drained() (n int64) {
	for _, r := range q.Rows {
		if r.Running() {
			n++
		}
	}
	return n
}

// failing is how many of them need somebody.
func (q Queues) failing() (n int64) {
	for _, r := range q.Rows {
		if drainState(r.Drain) == Bad {
			n++
		}
	}
	return n
}

func (q Queues) lede() string {
	if len(q.Rows) == 0 {
		return "None found yet."
	}
	s := Count(int64(len(q.Rows)), "queue", "queues") + ", " + Number(q.drained()) + " drained into this store."
	if n := q.failing(); n > 0 {
		s += " " + Count(n, "drain needs", "drains need") + " you."
	}
	return s
}

// QueuePage is everything about one queue.
type QueuePage struct {
	Shell
	QueueRow

	Facts   parkade.QueueFacts // as its broker says now; not Known where it doesn't
	Checked []parkade.Finding  // what a preflight finds now
	Stored  []StateCount       // messages of it in this store
	Actions []parkade.Action   // the newest about it
	Policy  string             // how its messages are replayed, in words
}

// StateCount is how many messages are in a state.
type StateCount struct {
	State    parkade.State
	Messages int64
	Bytes    int64
	Copies   int64
}

// limitWords says the delivery limit of a queue.
func limitWords(f parkade.QueueFacts) string {
	switch {
	case f.Type != "quorum":
		return "none"
	case f.DeliveryLimit != nil:
		return Number(*f.DeliveryLimit)
	case f.Unlimited():
		return "none"
	}
	return "20, the default"
}

// consumerWords says who else takes from a queue.
func consumerWords(f parkade.QueueFacts) string {
	switch {
	case f.OtherConsumers < 0:
		return "unknown"
	case f.OtherConsumers == 0:
		return "none"
	}
	return Number(f.OtherConsumers)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// deadLetterWords says what takes over what a queue gives up.
func deadLetterWords(f parkade.QueueFacts) string {
	switch {
	case !f.DeadLetters:
		return "nowhere"
	case !f.DeadLettersReach:
		return "an exchange that reaches no queue"
	}
	return "another queue"
}
