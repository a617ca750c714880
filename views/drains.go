package views

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"parkade"
)

// How often a broker is asked: for the depth of queues that are drained, and for
// queues that could be. What is three times as old is stale.
const (
	measured = 5 * time.Second
	found    = 30 * time.Second
)

// queueQuery names a queue in an address: names stand in queries only.
func queueQuery(q parkade.Queue) string {
	return "?" + url.Values{"broker": {q.Broker}, "vhost": {q.Vhost}, "name": {q.Name}}.Encode()
}

// QueuePath returns the address of the page about a queue.
func QueuePath(q parkade.Queue) string { return "/queue" + queueQuery(q) }

// parkedPath returns the address of the messages of a queue that somebody has to
// decide about.
func parkedPath(q parkade.Queue) string {
	f := parkade.Filter{Broker: q.Broker, Vhost: q.Vhost, Queue: q.Name, State: parkade.Parked}
	return "/messages?" + f.Query().Encode()
}

// storedPath returns the address of all messages of a queue in a state; "" is any.
func storedPath(q parkade.Queue, s parkade.State) string {
	f := parkade.Filter{Broker: q.Broker, Vhost: q.Vhost, Queue: q.Name, State: s}
	return "/messages?" + f.Query().Encode()
}

// drainState says how a drain stands.
func drainState(d parkade.Drain) State {
	switch d.Phase {
	case parkade.Stopped, parkade.Held:
		return Bad
	case parkade.Waiting:
		return Warn
	case parkade.Connecting, parkade.Draining:
		return Running
	case parkade.Listening:
		return OK
	case parkade.PausedHere:
		return Acknowledged
	case parkade.Offered:
	}
	return NotApplicable
}

// stateWord is what somebody hears who doesn't see the shape of a state.
func stateWord(s State) string {
	switch s {
	case Bad:
		return "Critical"
	case Warn:
		return "Warning"
	case Stale:
		return "Stale"
	case Acknowledged:
		return "Paused"
	case Running:
		return "Running"
	case OK:
		return "OK"
	case NotApplicable:
	}
	return "Not drained"
}

// drainWord names the phase of a drain.
func drainWord(d parkade.Drain) string {
	switch d.Phase {
	case parkade.Stopped:
		if parkade.Worst(d.Findings) == parkade.Refuse {
			return "refused"
		}
		return "stopped itself"
	case parkade.Held:
		return "held: can't store"
	case parkade.Waiting:
		return "waiting, tries again"
	case parkade.Connecting:
		return "connecting"
	case parkade.Draining:
		return "draining"
	case parkade.Listening:
		return "listening, queue is empty"
	case parkade.PausedHere:
		if d.Missing {
			return "not there"
		}
		if braked(d) {
			return "paused by the brake"
		}
		return "paused"
	case parkade.Offered:
		if d.Missing {
			return "not there"
		}
		if d.Manual {
			return "started by people only"
		}
	}
	return "not drained yet"
}

// braked reports whether only the brake keeps a drain from running.
func braked(d parkade.Drain) bool {
	return d.Phase == parkade.PausedHere && d.Consent != parkade.NoConsent
}

// kerb is the class of a row about a drain.
func kerb(s State) string {
	switch s {
	case Bad, Warn, Stale, Running:
		return "kerb " + string(s)
	case Acknowledged, OK, NotApplicable:
	}
	return "kerb"
}

// readingStale reports whether the depth of a drain's queue is too old to be
// taken for what is so now.
func readingStale(now time.Time, d parkade.Drain) bool {
	interval := measured
	if d.Phase == parkade.Offered {
		interval = found
	}
	return d.Ready.Stale(now, interval)
}

// perSecond writes a rate; what is slower than one in ten seconds is told by the
// minute.
func perSecond(r float64) string {
	switch {
	case r == 0:
		return "0/s"
	case r < 0.1:
		return oneDigit(r*60) + "/min"
	}
	return oneDigit(r) + "/s"
}

// oneDigit writes a number with at most one digit after the point.
func oneDigit(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") }

// verdictState is the shape of a finding.
func verdictState(v parkade.Verdict) (state State, word string) {
	switch v {
	case parkade.Refuse:
		return Bad, "Refused"
	case parkade.Ask:
		return Warn, "Needs a decision"
	case parkade.Warn:
		return Warn, "Warning"
	case parkade.Unchecked:
		return Stale, "Not checked"
	case parkade.Note:
	}
	return NotApplicable, "Note"
}

// Consented says who wants a queue drained, or not.
type Consented struct {
	Wanted  string // "on", "off", or "" where nobody decided
	By      string
	At      time.Time
	Why     string
	InSpite bool // of findings that ask for it
}

// QueueRow is one queue that is drained, was, or could be.
type QueueRow struct {
	parkade.Drain
	Known     bool // to what drains; else only the store has messages of it
	Parked    int64
	InDoubt   int64 // of Parked
	Oldest    time.Time
	Stored    int64 // in any state
	Consented Consented
}

// StartPath returns the address of the form that starts a drain.
func StartPath(q parkade.Queue) string { return "/drains/start" + queueQuery(q) }

// QueueAnchor is an id for what is about a queue, the same whenever it is drawn.
func QueueAnchor(q parkade.Queue) string {
	return url.QueryEscape(q.Broker + " " + q.Vhost + " " + q.Name)
}

// anchor is the id of the row in a list.
func (r QueueRow) anchor(list string) string { return list + "-" + QueueAnchor(r.Queue) }

// canStart reports whether somebody can start the drain.
func (r QueueRow) canStart() bool {
	switch {
	case !r.Known, r.Missing:
		return false
	case r.Phase == parkade.Stopped:
		return parkade.Worst(r.Findings) != parkade.Refuse
	}
	return r.Consent == parkade.NoConsent
}

// canStop reports whether there is something to stop.
func (r QueueRow) canStop() bool {
	return r.Known && (r.Running() || r.Consent != parkade.NoConsent || r.Left > 0)
}
