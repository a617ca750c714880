package parkade

import (
	"strconv"
	"time"
)

// OperationID identifies an operation of this store.
type OperationID int64

// ReplayID identifies a replay of this store.
type ReplayID int64

func (id OperationID) String() string { return strconv.FormatInt(int64(id), 10) }
func (id ReplayID) String() string    { return strconv.FormatInt(int64(id), 10) }

// Verb is what an operation does with its messages.
type Verb string

// The verbs of an operation.
const (
	Replay   Verb = "replay"
	Discard  Verb = "discard"
	Restore  Verb = "restore"
	Resolve  Verb = "resolve"
	GiveBack Verb = "give_back"
)

// OperationState is where an operation stands.
type OperationState string

// The states of an operation.
const (
	Scheduled   OperationState = "scheduled"
	Canary      OperationState = "canary"
	Watching    OperationState = "watching"
	Running     OperationState = "running"
	Pausing     OperationState = "pausing"
	Paused      OperationState = "paused"
	Interrupted OperationState = "interrupted" // was running when the process died
	Cancelling  OperationState = "cancelling"
	Cancelled   OperationState = "cancelled"
	Finished    OperationState = "finished"
)

// Ended reports whether nothing of the operation will ever happen again.
func (s OperationState) Ended() bool { return s == Cancelled || s == Finished }

// Outcome is what became of one replay. Unknown is never sent again without a
// person; what is not confirmed never counts as delivered.
type Outcome string

// The outcomes of a replay.
const (
	Intent     Outcome = "intent"     // committed, and about to be sent or sent
	Confirmed  Outcome = "confirmed"  // RabbitMQ confirmed it and didn't return it
	Unroutable Outcome = "unroutable" // returned: no queue is bound there
	Nacked     Outcome = "nacked"     // refused by the one queue it was for
	Refused    Outcome = "refused"    // refused before or by the channel; certainly not sent
	Unknown    Outcome = "unknown"    // it may or may not have arrived
	NotSent    Outcome = "cancelled"  // given up before it was sent
)

// Outcomes lists all outcomes in the order in which pages show them.
func Outcomes() []Outcome {
	return []Outcome{Confirmed, Intent, Unroutable, Nacked, Refused, Unknown, NotSent}
}

// Retryable lists the outcomes after which a message may be sent again: all that
// aren't known to have arrived. Unknown ones may arrive twice then.
func Retryable() []Outcome { return []Outcome{Unroutable, Nacked, Refused, NotSent, Unknown} }

// Next returns the state of a message whose replay ended with o.
func (o Outcome) Next() State {
	switch o {
	case Confirmed:
		return Replayed
	case Unknown:
		return InDoubt
	case Intent:
		return InOperation
	case Unroutable, Nacked, Refused, NotSent:
	}
	return Parked
}

// Operation works through a set of messages that was frozen at its creation. A
// single replay is an operation of one.
type Operation struct {
	ID        OperationID
	Verb      Verb
	State     OperationState
	Why       string // of the state, when it isn't plain
	By        string
	Reason    string // as the person gave it
	Filter    string // the filter it was made from, as a query; "" for ticked messages
	Target    Target
	Policy    Policy
	Rate      float64 // messages a second at most; 0 is no limit
	Total     int64   // of the frozen set
	Skipped   int64   // left out after the freeze, each with a reason
	Left      int64   // not yet taken
	Counts    map[Outcome]int64
	CameBack  int64
	Unhandled int64 // of what went wrong or came back: what still needs somebody, where it was asked for
	CreatedAt time.Time
	DueAt     time.Time // when a scheduled one starts by itself; zero: it began at once
	StartedAt time.Time // zero: not yet
	EndedAt   time.Time // zero: not yet
	Dismissed time.Time // when a person put it out of sight; zero: not yet
}

// Send is one replay to be sent: what the broker gets, and how it is known.
type Send struct {
	Replay  ReplayID
	Message MessageID
	Queue   Queue  // the message's parking queue: its broker and vhost are where it is sent
	Stamp   string // the value of x-replay-id
	Draft   Draft
	Into    string // the queue that the exchange, which is ours, has to be bound to; "" where it isn't ours
	Risky   bool   // to be sent alone, so that a refusal hurts no other
}

// Result is what became of one Send.
type Result struct {
	Replay  ReplayID
	Outcome Outcome
	Why     string // the broker's or our own words; "" for a plain confirm
}

// ReplayRecord is one replay as pages show it.
type ReplayRecord struct {
	ID         ReplayID
	Operation  OperationID
	Message    MessageID
	Version    int64
	Stamp      string
	Exchange   string
	RoutingKey string
	Outcome    Outcome
	Why        string
	CameBack   bool
	ReturnedAs MessageID // the message that carried this stamp back, or 0
	By         string    // who made its operation
	SentAt     time.Time
	EndedAt    time.Time // zero: not yet
	SentHash   [32]byte  // SHA-256 of the body that was sent
	DecidedBy  string    // who decided about an unknown one, or ""
	DecidedAs  string    // "arrived" or "not arrived", as they took it
}

// Item is one message of a frozen set.
type Item struct {
	Position int64
	Message  MessageID
	Skipped  string // why it was left out, or ""
	Replay   *ReplayRecord
}

// Action is one entry of the audit trail: who changed what.
type Action struct {
	ID        int64
	At        time.Time
	By        string
	Verb      string // replay, discard, restore, drain, stop, brake, release, pause, resume, cancel, …
	Queue     *Queue
	Operation OperationID
	Message   MessageID // for an action on a single message, or 0
	Count     int64
	Reason    string
	Detail    string
}
