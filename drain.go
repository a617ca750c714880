package parkade

import "time"

// SourceID identifies a drained queue in this store.
type SourceID int64

// Consent is whether a queue may be drained, and who said so.
type Consent string

// The kinds of consent.
const (
	NoConsent     Consent = ""       // found, offered, not drained
	ConsentFile   Consent = "file"   // drain: auto in the configuration
	ConsentPerson Consent = "person" // a button
)

// Phase is what a drain is doing.
type Phase string

// The phases of a drain.
const (
	Offered    Phase = "offered"    // found; nobody asked for it
	Connecting Phase = "connecting" // dialling, or looking whether it is safe
	Listening  Phase = "listening"  // connected; the queue is empty
	Draining   Phase = "draining"   // messages are coming
	Waiting    Phase = "waiting"    // tries again by itself: Why, Until
	Held       Phase = "held"       // the store can't take what is in hand: Why
	PausedHere Phase = "paused"     // a person stopped it, or the brake is on
	Stopped    Phase = "stopped"    // stopped itself and needs a person: Why, Remedy
)

// Drain is the state of one drain, as pages show it.
type Drain struct {
	Queue     Queue
	Consent   Consent
	Manual    bool // configured, but started by people only
	Phase     Phase
	Why       string    // of Waiting, Held, Paused and Stopped, and of Connecting that takes long: a sentence
	Remedy    string    // what to do about it: a sentence, or ""
	Until     time.Time // when it tries again, or zero
	Since     time.Time // of this phase
	Left      int64     // of "the next N"; -1: no such limit
	Holding   int64     // messages taken and not yet proven
	Drained   int64     // since the process started
	PerSecond float64   // over the last minute
	Last      time.Time // when the last message was stored, or zero
	Ready     Reading   // in RabbitMQ
	Findings  []Finding // of the last preflight
	Careful   bool      // one message at a time
	Missing   bool      // the broker says that there is no such queue
}

// Running reports whether the drain takes messages, or would if there were any.
func (d Drain) Running() bool {
	switch d.Phase {
	case Connecting, Listening, Draining, Waiting, Held:
		return true
	case Offered, PausedHere, Stopped:
	}
	return false
}

// Reading is a measurement. A source that didn't answer keeps its last value,
// which is old; it is never zero for want of an answer.
type Reading struct {
	Value int64
	At    time.Time // when it was measured; zero: never
	Err   string    // why the latest try failed, or ""
}

// Known reports whether there ever was a value.
func (r Reading) Known() bool { return !r.At.IsZero() }

// Stale reports whether the value is older than three intervals.
func (r Reading) Stale(now time.Time, interval time.Duration) bool {
	return !r.Known() || now.Sub(r.At) > 3*interval
}

// Session is one life of a drain's connection, as the store knows it.
type Session struct {
	ID         int64
	Source     SourceID
	FenceUntil time.Time // before this, no batch is certain
}

// Batch is what one cycle of a drain took.
type Batch struct {
	Deliveries    []Delivery
	FenceOK       bool  // asked before consume: the session's fence was over
	DeliveryLimit int64 // of the queue; 0 where there is none, or it isn't known
}

// ParkedBatch is what became of a batch.
type ParkedBatch struct {
	Batch  int64
	New    int64 // rows
	Seen   int64 // recognised as rows we had
	Copies int64 // new rows that may be copies of others
}

// LikelyParking lists the name patterns of queues that are offered for draining.
func LikelyParking() []string {
	return []string{
		"*.parking", "*.parked", "*_error", "*_skipped", "*.dlq", "*-dlq", "*_dlq",
		"*.dead-letter*", "*.deadletter*", "*.dead", "*.poison*", "error",
	}
}
