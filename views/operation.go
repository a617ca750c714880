package views

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"parkade"
)

// OperationView is the page of one operation.
type OperationView struct {
	Shell

	parkade.Operation

	GaveBackTo []parkade.Drain // of a give-back: the queues, with what their drains do

	WaitsFor   string    // why it doesn't get on now: a sentence, or ""
	WaitsUntil time.Time // when it tries again; zero: not known
	Looks      []Look    // the first of its Unhandled
	Items      []OperationItem
	Outcome    string // the only outcome that Items has, "skipped", or "" for all
	After      int64  // the position after which Items begins
	More       bool
}

// failedAgain is how many of its messages failed again. What was given back was
// meant to be taken up once more.
func failedAgain(o parkade.Operation) int64 {
	if o.Verb == parkade.GiveBack {
		return 0
	}
	return o.CameBack
}

// Look is one message of an operation that needs somebody.
type Look struct {
	Message parkade.Message
	Replay  parkade.ReplayRecord
}

// OperationItem is one message of an operation's frozen set. Message is zero but
// for its ID where it isn't stored any more.
type OperationItem struct {
	parkade.Item
	Row parkade.Message
}

// waits reports whether an item has no outcome yet. One that was taken and given
// up is taken again, unless the operation has ended.
func (i OperationItem) waits(o parkade.Operation) bool {
	return i.Replay == nil || i.Replay.Outcome == parkade.NotSent && !o.State.Ended()
}

func (o OperationView) canPause() bool {
	return o.State == parkade.Running || o.State == parkade.Canary || o.State == parkade.Watching
}

func (o OperationView) canResume() bool {
	return o.State == parkade.Paused || o.State == parkade.Interrupted
}

func (o OperationView) canCancel() bool {
	return sends(o.Operation) && !o.State.Ended() && o.State != parkade.Cancelling && o.State != parkade.Scheduled && o.Left > 0
}

// lede says how far it is, and when it will be done where that can be said.
func (o OperationView) lede() string {
	s := summary(o.Operation)
	switch {
	case o.State == parkade.Running && o.Rate > 0 && o.Left > 0:
		s += " At most " + perSecond(o.Rate) + ", so at least " + Age(seconds(float64(o.Left)/o.Rate)) + " to go."
	case o.State.Ended() && sends(o.Operation) && !o.StartedAt.IsZero():
		s += " It took " + Age(took(o.Now, o.Operation)) + "."
	}
	return s
}

// meaning says what a state that stopped means for those who have to decide.
func (o OperationView) meaning() string {
	switch o.State {
	case parkade.Interrupted:
		return "Nothing is being sent. What was on its way then and got no answer is unknown: it may or may not have arrived, stays in doubt, and resuming doesn't send it again. Resuming goes on with what was never taken."
	case parkade.Paused:
		return "Nothing is being sent. What was sent stays sent; the rest is held by this operation, so that nothing else takes it, until it is resumed or cancelled."
	case parkade.Pausing:
		return "Nothing new is being sent. It is paused as soon as what is on its way has an answer."
	case parkade.Cancelling:
		return "Nothing new is being sent. It is cancelled as soon as what is on its way has an answer."
	case parkade.Cancelled:
		if o.StartedAt.IsZero() {
			return "It was called back before anything was sent. Its messages are where they were."
		}
		return "What was sent stays sent. What wasn't is parked again, and can be replayed by a new operation."
	case parkade.Scheduled, parkade.Canary, parkade.Watching, parkade.Running, parkade.Finished:
	}
	return ""
}

// noteClass is how loud meaning is said.
func (o OperationView) noteClass() (state State, class string) {
	switch o.State {
	case parkade.Interrupted, parkade.Paused:
		return Warn, "warn"
	case parkade.Pausing, parkade.Cancelling:
		return Running, "run"
	case parkade.Cancelled, parkade.Scheduled, parkade.Canary, parkade.Watching, parkade.Running, parkade.Finished:
	}
	return NotApplicable, ""
}

// brokerBar are the parts of the bar of what the broker said; what is left stays
// empty.
func (o OperationView) brokerBar() []Part {
	c := o.Counts
	return []Part{
		{"ok", c[parkade.Confirmed]},
		{"fly", c[parkade.Intent]},
		{"lost", c[parkade.Unroutable] + c[parkade.Nacked] + c[parkade.Refused]},
		{"unknown", c[parkade.Unknown]},
	}
}

// tally is one figure below a bar.
type tallied struct {
	swatch, name string
	n            int64
	tone         string // bad, warn or ""
	outcome      string // the filter of the list that shows them, or ""
}

// brokerTally are the figures that add up to the frozen set.
func (o OperationView) brokerTally() []tallied {
	c := o.Counts
	all := []tallied{
		{"ok", "Confirmed", c[parkade.Confirmed], "", string(parkade.Confirmed)},
		{"fly", "On its way", c[parkade.Intent], "", string(parkade.Intent)},
		{"lost", "Unroutable", c[parkade.Unroutable], "bad", string(parkade.Unroutable)},
		{"lost", "Nacked", c[parkade.Nacked], "bad", string(parkade.Nacked)},
		{"lost", "Refused", c[parkade.Refused], "bad", string(parkade.Refused)},
		{"unknown", "Unknown", c[parkade.Unknown], "warn", string(parkade.Unknown)},
	}
	if n := c[parkade.NotSent]; n > 0 {
		all = append(all, tallied{"rest", "Given up", n, "", string(parkade.NotSent)})
	}
	all = append(all, tallied{"rest", "Not sent", o.Left, "", ""})
	if o.Skipped > 0 {
		all = append(all, tallied{"rest", "Left out", o.Skipped, "", skipped})
	}
	return all
}

// skipped is the filter for messages that were left out.
const skipped = "skipped"

// afterTally are the figures that add up to what was confirmed.
func (o OperationView) afterTally() []tallied {
	if o.Verb == parkade.GiveBack {
		return []tallied{
			{"ok", "In the queue, or taken by others", o.Counts[parkade.Confirmed] - o.CameBack, "", ""},
			{"rest", "Drained again", o.CameBack, "", ""},
		}
	}
	return []tallied{
		{"ok", "Not seen again", o.Counts[parkade.Confirmed] - o.CameBack, "", ""},
		{"back", "Came back", o.CameBack, "bad", ""},
	}
}

// toned returns the class of a figure: nothing is wrong with none of something.
func (t tallied) toned() string {
	if t.n == 0 {
		return ""
	}
	return t.tone
}

// sentence says a bar in words.
func sentence(total int64, all []tallied) string {
	parts := make([]string, len(all))
	for i, t := range all {
		parts[i] = Number(t.n) + " " + t.name
	}
	return "Of " + Number(total) + ": " + strings.Join(parts, ", ") + "."
}

// itemFilters are the lists of an operation's messages that one can choose.
func (o OperationView) itemFilters() []tallied {
	all := []tallied{{"", "All", o.Total, "", ""}}
	for _, t := range o.brokerTally() {
		if t.outcome != "" && (t.n > 0 || t.outcome == o.Outcome) {
			all = append(all, t)
		}
	}
	return all
}

// lookTone is how a message that needs a look is shown.
func (l Look) tone() (state State, class, word string) {
	switch {
	case l.Replay.CameBack:
		return Bad, "bad", "Came back"
	case l.Replay.Outcome == parkade.Unknown:
		return Warn, "warn", "Unknown"
	}
	return Bad, "bad", outcomeWords(l.Replay.Outcome)
}

// means says what the outcome means for the message.
func (l Look) means() string {
	switch {
	case l.Replay.CameBack && l.Replay.Outcome == parkade.Confirmed:
		return "It arrived, and was parked again."
	case l.Replay.CameBack:
		return "It did arrive, and was parked again."
	}
	switch l.Replay.Outcome {
	case parkade.Unroutable:
		return "RabbitMQ had no queue for it and handed it back. It is parked here, nothing is lost."
	case parkade.Nacked:
		return "The queue didn't take it. It is parked here, nothing is lost."
	case parkade.Refused:
		return "It was certainly not sent. It is parked here, nothing is lost."
	case parkade.Unknown:
		if l.Replay.DecidedAs != "" {
			return "It may or may not have arrived; " + l.Replay.DecidedBy + " took it as " + l.Replay.DecidedAs + "."
		}
		return "It may or may not have arrived. Nothing sends it again unless you decide."
	case parkade.Intent, parkade.Confirmed, parkade.NotSent:
	}
	return ""
}

// outcomeClass is the class of an outcome's tag.
func outcomeClass(o parkade.Outcome) string {
	switch o {
	case parkade.Confirmed:
		return "good"
	case parkade.Intent:
		return "run"
	case parkade.Unroutable, parkade.Nacked, parkade.Refused:
		return "bad"
	case parkade.Unknown:
		return "warn"
	case parkade.NotSent:
	}
	return ""
}

// verbDone says what an operation that only changes the store did to a message.
func verbDone(v parkade.Verb) string {
	switch v {
	case parkade.Discard:
		return "Discarded"
	case parkade.Restore:
		return "Restored"
	case parkade.Resolve:
		return "Resolved by hand"
	case parkade.Replay, parkade.GiveBack:
	}
	return verbWord(v)
}

// filterWords writes a filter, kept as a query, as people read it.
func filterWords(query string) string {
	q, err := url.ParseQuery(query)
	if err != nil || len(q) == 0 {
		return "all messages"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		parts = append(parts, name+":"+q.Get(name))
	}
	return strings.Join(parts, " ")
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
