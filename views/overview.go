package views

import (
	"cmp"
	"slices"
	"time"

	"parkade"
)

// Overview is what one needs to know first: what waits for somebody, worst first,
// then what is there.
type Overview struct {
	Shell

	Needs      []Need
	Queues     []QueueRow // drained, or with messages in the store
	Offers     []QueueRow // found, and not drained yet
	Operations []parkade.Operation
	Actions    []parkade.Action
	Brokers    []string // the names of those that are configured
}

// Need is one thing that waits for somebody.
type Need struct {
	ID     string // of its row, the same whenever it is drawn
	State  State
	Name   string // of what it is about, as the broker or the file has it; or ""
	Title  string // what is wrong with it, in few words
	Path   string // of the page about it
	Text   []string
	Facts  []Fact
	Action *NeedAction // what most likely helps
	Quiet  *NeedAction // what else does
}

// Fact is a figure beside a need.
type Fact struct {
	Name  string
	Value string    // or
	Since time.Time // how long ago, kept up to date
	Until time.Time
}

// NeedAction is a button of a need.
type NeedAction struct {
	Path  string
	Icon  string // or ""
	Label string
	Sheet bool // it opens a form
}

// headline is one true sentence about now.
func (o Overview) headline() string {
	switch n := len(o.Needs); {
	case n == 1:
		return "1 thing needs you"
	case n > 1:
		return Number(int64(n)) + " things need you"
	case o.Undecided > 0:
		return Count(o.Undecided, "message waits", "messages wait") + " for a decision"
	case len(o.Queues) == 0:
		return "Nothing is drained yet"
	}
	return "Nothing needs you"
}

// lede says how bad, and what is there besides.
func (o Overview) lede() string {
	var bad, warn, unknown int64
	for _, n := range o.Needs {
		switch n.State {
		case Bad:
			bad++
		case Stale:
			unknown++
		case Warn, Acknowledged, Running, OK, NotApplicable:
			warn++
		}
	}
	s := ""
	say := func(n int64, one, many string) {
		if n == 0 {
			return
		}
		if s != "" {
			s += ", "
		}
		s += Count(n, one, many)
	}
	say(bad, "critical", "critical")
	say(warn, "warning", "warnings")
	say(unknown, "unknown", "unknown")
	if s != "" {
		s += ". "
	}
	switch {
	case o.Undecided > 0:
		return s + Count(o.Undecided, "message is", "messages are") + " parked here and safe until somebody decides."
	case len(o.Queues) == 0:
		return s + "This store is empty: no queue has been drained into it."
	}
	return s + "No message is parked here."
}

// offered are the first of the queues that were found, those with most in them
// first.
func (o Overview) offered() []QueueRow {
	const enough = 8
	rows := slices.Clone(o.Offers)
	slices.SortStableFunc(rows, func(a, b QueueRow) int { return cmp.Compare(b.Ready.Value, a.Ready.Value) })
	return rows[:min(len(rows), enough)]
}

// severalBrokers reports whether a queue has to be named with its broker.
func (o Overview) severalBrokers() bool { return len(o.Brokers) > 1 }
