package views

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parkade"
)

// Operations is a page of all operations, newest first.
type Operations struct {
	Shell

	Items      []parkade.Operation
	Before     parkade.OperationID // the cursor of this page; 0 is the newest
	More       bool
	Everything bool // also those that were dismissed
}

// verbWord says what an operation does.
func verbWord(v parkade.Verb) string {
	switch v {
	case parkade.Replay:
		return "Replay"
	case parkade.Discard:
		return "Discard"
	case parkade.Restore:
		return "Restore"
	case parkade.Resolve:
		return "Resolve"
	case parkade.GiveBack:
		return "Give back"
	}
	return string(v)
}

// sends reports whether an operation publishes. Others only change this store.
func sends(o parkade.Operation) bool { return o.Verb == parkade.Replay || o.Verb == parkade.GiveBack }

// targetName names where an operation sends, as a button can say it.
func targetName(o parkade.Operation) string {
	switch {
	case o.Verb == parkade.GiveBack:
		return "their parking queue"
	case o.Target.To == parkade.ToQueue && o.Target.Queue != "":
		return o.Target.Queue
	case o.Target.To == parkade.ToExchange && o.Target.Exchange == "" && o.Target.RoutingKey == "":
		return "where each one came from"
	case o.Target.To == parkade.ToExchange && o.Target.Exchange == "":
		return o.Target.RoutingKey
	case o.Target.To == parkade.ToExchange:
		return o.Target.Exchange
	}
	return "where each one failed"
}

// targetIsName reports whether targetName is a name in RabbitMQ.
func targetIsName(o parkade.Operation) bool {
	t := o.Target
	return o.Verb == parkade.Replay && (t.To == parkade.ToQueue && t.Queue != "" || t.To == parkade.ToExchange && t.Exchange+t.RoutingKey != "")
}

// toExchange reports whether an operation sends to an exchange, whose name alone
// could be taken for a queue's.
func toExchange(o parkade.Operation) bool {
	return o.Verb == parkade.Replay && o.Target.To == parkade.ToExchange && o.Target.Exchange != ""
}

// OperationName names an operation where only text can stand.
func OperationName(o parkade.Operation) string {
	s := fmt.Sprintf("#%d %s %s", o.ID, verbWord(o.Verb), Number(o.Total-o.Skipped))
	switch {
	case toExchange(o):
		s += " → exchange " + targetName(o)
	case sends(o):
		s += " → " + targetName(o)
	}
	return s
}

// sent is how many messages were handed to the broker.
func sent(o parkade.Operation) int64 {
	return o.Counts[parkade.Confirmed] + o.Counts[parkade.Intent] + o.Counts[parkade.Unroutable] + o.Counts[parkade.Nacked] + o.Counts[parkade.Unknown]
}

// bad is how many messages of an operation went wrong or came back, handled since
// or not.
func bad(o parkade.Operation) int64 {
	return o.Counts[parkade.Unroutable] + o.Counts[parkade.Nacked] + o.Counts[parkade.Refused] + o.Counts[parkade.Unknown] + failedAgain(o)
}

// operationState is how an operation stands: its shape, the class of its tag, and
// its word.
func operationState(o parkade.Operation) (state State, class, word string) {
	switch o.State {
	case parkade.Scheduled:
		return Running, "run", "Scheduled"
	case parkade.Canary:
		return Running, "run", "Canary"
	case parkade.Watching:
		return Running, "run", "Watching"
	case parkade.Running:
		return Running, "run", "Running"
	case parkade.Pausing:
		return Running, "run", "Pausing"
	case parkade.Cancelling:
		return Running, "run", "Cancelling"
	case parkade.Paused:
		return Warn, "warn", "Paused"
	case parkade.Interrupted:
		return Warn, "warn", "Interrupted"
	case parkade.Cancelled:
		return NotApplicable, "", "Cancelled"
	case parkade.Finished:
	}
	switch {
	case bad(o) > 0 && o.Unhandled == 0:
		return OK, "good", "Finished, handled since"
	case failedAgain(o) > 0:
		return Bad, "bad", "Finished, " + Number(o.CameBack) + " came back"
	case o.Counts[parkade.Unknown] > 0:
		return Warn, "warn", "Finished, " + Number(o.Counts[parkade.Unknown]) + " unknown"
	case bad(o) > 0:
		return Warn, "warn", "Finished, " + Number(bad(o)) + " not delivered"
	}
	return OK, "good", "Finished"
}

// operationKerb is the class of a row about an operation.
func operationKerb(o parkade.Operation) string {
	state, _, _ := operationState(o)
	return kerb(state)
}

// outcomeWords are what pages call an outcome.
func outcomeWords(o parkade.Outcome) string {
	switch o {
	case parkade.Intent:
		return "On its way"
	case parkade.Confirmed:
		return "Confirmed"
	case parkade.Unroutable:
		return "Unroutable"
	case parkade.Nacked:
		return "Nacked"
	case parkade.Refused:
		return "Refused"
	case parkade.Unknown:
		return "Unknown"
	case parkade.NotSent:
		return "Given up"
	}
	return string(o)
}

// summary says in a sentence how far an operation is and how it went.
func summary(o parkade.Operation) string {
	if !sends(o) {
		s := Count(o.Total-o.Skipped, "message", "messages") + " changed in this store."
		if o.Skipped > 0 {
			s += " " + Number(o.Skipped) + " left out."
		}
		return s
	}
	var parts []string
	say := func(n int64, word string) {
		if n > 0 {
			parts = append(parts, Number(n)+" "+word)
		}
	}
	say(o.Counts[parkade.Confirmed], "confirmed")
	say(o.Counts[parkade.Intent], "on the way")
	say(o.Counts[parkade.Unroutable], "unroutable")
	say(o.Counts[parkade.Nacked], "nacked")
	say(o.Counts[parkade.Refused], "refused")
	say(o.Counts[parkade.Unknown], "unknown")
	say(o.Counts[parkade.NotSent], "given up")
	if o.Verb == parkade.GiveBack {
		say(o.CameBack, "drained again")
	} else {
		say(o.CameBack, "came back")
	}
	if !o.State.Ended() {
		say(o.Left, "to go")
	} else {
		say(o.Left, "never sent")
	}
	say(o.Skipped, "left out")
	if len(parts) == 0 {
		return "Nothing sent yet."
	}
	return strings.Join(parts, ", ") + "."
}

// took is how long an operation has been at work, or was.
func took(now time.Time, o parkade.Operation) time.Duration {
	end := o.EndedAt
	if end.IsZero() {
		end = now
	}
	if o.StartedAt.IsZero() {
		return 0
	}
	return end.Sub(o.StartedAt)
}

func operationPath(id parkade.OperationID) string { return "/operations/" + id.String() }

// itemsPath returns the address of an operation's messages with an outcome, "" for
// all, after a position.
func itemsPath(id parkade.OperationID, outcome string, after int64) string {
	q := url.Values{}
	if outcome != "" {
		q.Set("outcome", outcome)
	}
	if after > 0 {
		q.Set("after", strconv.FormatInt(after, 10))
	}
	if len(q) == 0 {
		return operationPath(id) + "#items"
	}
	return operationPath(id) + "?" + q.Encode() + "#items"
}

// refreshFirst returns topics for the first page of a list. Other pages keep
// still: what is on them moves on as new rows come.
func refreshFirst(first bool, topics string) string {
	if first {
		return topics
	}
	return "nothing"
}

// toGo is how many messages an operation will still take.
func toGo(o parkade.Operation) int64 {
	if o.State.Ended() {
		return 0
	}
	return o.Left
}
