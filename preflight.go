package parkade

import (
	"fmt"
	"time"
)

// Verdict is how bad a finding of a preflight is.
type Verdict string

// The verdicts, worst first.
const (
	Refuse    Verdict = "refuse"    // never drained like this
	Ask       Verdict = "ask"       // drained only when a person says so in spite of it
	Warn      Verdict = "warn"      // drained, with a warning
	Unchecked Verdict = "unchecked" // could not be looked at
	Note      Verdict = "note"
)

// Finding is one thing that a preflight saw.
type Finding struct {
	Verdict Verdict
	Code    string // stable, for scripts and tests
	Text    string // what can happen: a sentence
	Remedy  string // what to do about it: a sentence, or ""
}

// QueueFacts is what a preflight knows about a queue before it is drained. The
// limits are those in force: of the arguments and the policy, the lower.
type QueueFacts struct {
	Known            bool   // the management API answered
	Missing          bool   // it answered that there is no such queue
	Version          string // of the broker, such as 4.3.6
	Type             string
	Durable          bool
	AutoDelete       bool
	Exclusive        bool
	SingleActive     bool
	OtherConsumers   int64 // not ours; -1: not known
	DeliveryLimit    *int64
	DeadLetters      bool
	DeadLettersReach bool // the dead-letter exchange routes somewhere
	Expires          bool
	TTL              bool
	DropsHead        bool
	Priorities       bool
	DelayedRetry     bool
	Delayed          int64
	ConsumerTimeout  time.Duration // 0: the broker's default
	Ready            int64
	AverageBytes     int64     // 0: not known
	UpSince          time.Time // of the node that holds it; zero: not known
}

// AtLeast reports whether version is major.minor or later. An unknown version is
// taken as the newest.
func AtLeast(version string, major, minor int) bool {
	var x, y int
	if n, _ := fmt.Sscanf(version, "%d.%d", &x, &y); n < 2 {
		return true
	}
	return x > major || x == major && y >= minor
}

// Unlimited reports whether the queue never destroys a message for being handed
// out too often. Before 4.0 a negative limit is a real one.
func (f QueueFacts) Unlimited() bool {
	switch {
	case f.Type != "quorum":
		return true
	case f.DeliveryLimit != nil && *f.DeliveryLimit >= 0:
		return *f.DeliveryLimit >= safeLimit
	case f.DeliveryLimit != nil:
		return AtLeast(f.Version, 4, 0)
	}
	return !AtLeast(f.Version, 4, 0) // since 4.0 the default is 20
}

// limit is the delivery limit in force of a queue that has one.
func (f QueueFacts) limit() int64 {
	if f.DeliveryLimit != nil {
		return *f.DeliveryLimit
	}
	return 20
}

// LastChance is the delivery count at which the queue destroys a message when it
// is handed out once more and lost; 0 where it never does.
func (f QueueFacts) LastChance() int64 {
	if !f.NeedsCare() {
		return 0
	}
	return f.limit()
}

// safeLimit is a limit that no drain comes near.
const safeLimit = 100_000

// ReturnsFirst reports whether the queue hands returned messages out before
// others, on which recognising redelivered copies without an id rests.
func (f QueueFacts) ReturnsFirst() bool {
	if f.Type == "quorum" {
		return !f.DelayedRetry
	}
	return !f.Priorities
}

// Preflight says whether the queue can be drained without losing messages. An
// empty answer is a yes.
func Preflight(f QueueFacts) []Finding {
	if !f.Known {
		return []Finding{{Unchecked, "not-checked", "The management API didn't answer, so nothing about this queue could be checked.", "Check the management URL and its login."}}
	}
	if f.Missing {
		return []Finding{{Refuse, "missing", "There is no such queue.", "Declare it, or take it out of the configuration."}}
	}
	var all []Finding
	say := func(when bool, v Verdict, code, text, remedy string) {
		if when {
			all = append(all, Finding{v, code, text, remedy})
		}
	}
	say(f.AutoDelete, Refuse, "auto-delete", "It is an auto-delete queue: RabbitMQ deletes it with its messages as soon as draining pauses.", "Declare the queue without auto-delete.")
	say(f.Type == "stream", Refuse, "stream", "It is a stream: its messages can't be taken out.", "")
	say(f.Exclusive, Refuse, "exclusive", "It belongs to one connection and can't be read by another.", "")
	all = append(all, limitFindings(f)...)
	say(f.OtherConsumers > 0, Ask, "consumers", fmt.Sprintf("%s also %s from it: each message goes to one of us, so this store would get only a part.", plural(f.OtherConsumers, "other consumer"), verb(f.OtherConsumers, "takes", "take")), "Stop the others first.")
	say(f.OtherConsumers < 0, Unchecked, "consumers-unchecked", "Whether others take from it, too, isn't known: RabbitMQ doesn't say.", "Enable the statistics of the management plugin.")
	say(f.SingleActive, Ask, "single-active", "It allows one active consumer: draining takes that place, or waits for it.", "")
	say(f.Expires, Warn, "expires", "The queue is deleted, with its messages, when nobody uses it for a while.", "Declare it without x-expires.")
	say(f.TTL, Warn, "ttl", "Its messages expire: what isn't drained in time vanishes.", "Remove the message TTL.")
	say(f.DropsHead, Warn, "max-length", "It has a length limit: when full it drops its oldest messages.", "Remove the limit, or set overflow to reject-publish.")
	say(!f.Durable, Warn, "transient", "It isn't durable: a restart of RabbitMQ loses what is in it.", "Declare it durable, or as a quorum queue.")
	say(f.ConsumerTimeout > 0 && f.ConsumerTimeout < 2*time.Minute, Warn, "consumer-timeout", "Its consumer timeout is short: when this store is slow, RabbitMQ takes messages back.", "Set the consumer timeout to 5 minutes or more.")
	say(f.Delayed > 0, Note, "delayed", plural(f.Delayed, "message is", "messages are")+" delayed for a retry: consumers don't see them yet.", "")
	return all
}

// limitFindings is about quorum queues that destroy what was handed out too often.
func limitFindings(f QueueFacts) []Finding {
	const remedy = "Set x-delivery-limit to 1000000 on this queue, or give it a dead-letter exchange."
	if f.Unlimited() {
		return nil
	}
	limit := f.limit()
	switch {
	case limit < 0:
		return []Finding{{Refuse, "limit-negative", fmt.Sprintf("Its delivery limit is %d, which RabbitMQ %s takes as a real limit: the first lost connection destroys a message.", limit, f.Version), "Remove x-delivery-limit, or set it to 1000000."}}
	case f.DeadLetters && f.DeadLettersReach:
		return []Finding{{Warn, "limit-moves", fmt.Sprintf("A message that is handed out more than %d times moves to its dead-letter exchange.", limit), ""}}
	case AtLeast(f.Version, 4, 3):
		return []Finding{{Ask, "limit-destroys", fmt.Sprintf("Its delivery limit is %d and nothing takes over what exceeds it. A message that was killed by a limit elsewhere brings its count along, and dies at the first lost connection.", limit), remedy}}
	case limit >= 20:
		return []Finding{{Warn, "limit-careful", fmt.Sprintf("Its delivery limit is %d and nothing takes over what exceeds it. It is drained one message at a time.", limit), remedy}}
	}
	return []Finding{{Ask, "limit-low", fmt.Sprintf("Its delivery limit is only %d and nothing takes over what exceeds it.", limit), remedy}}
}

// NeedsCare reports whether the queue is drained one message at a time: it has a
// finite limit and destroys what exceeds it.
func (f QueueFacts) NeedsCare() bool {
	return f.Known && !f.Unlimited() && (!f.DeadLetters || !f.DeadLettersReach)
}

// Worst returns the verdict that decides, or "" when there are no findings.
func Worst(findings []Finding) Verdict {
	for _, v := range []Verdict{Refuse, Ask, Warn, Unchecked, Note} {
		for _, f := range findings {
			if f.Verdict == v {
				return v
			}
		}
	}
	return ""
}

func plural(n int64, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
