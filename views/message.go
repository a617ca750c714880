package views

import (
	"strings"
	"time"

	"parkade"
)

// MessagePage is all about one message.
type MessagePage struct {
	Shell   Shell
	Message parkade.Message
	Deaths  []parkade.Death
	Payload Payload
	Carried []Carried      // properties, then headers
	Rounds  []Round        // of the same message, newest first
	Edits   []parkade.Edit // every version, newest first
	Actions []parkade.Action
	Prev    parkade.MessageID
	Next    parkade.MessageID
	Back    string // the query of the list that one came from, with its ?, or ""
	Kept    time.Duration

	OriginFrom string // the header that tells where it was published to; see parkade.OriginFrom
}

// Carried is a property or header, and what a replay does with it.
type Carried struct {
	Name   string
	Header bool
	Type   string // the AMQP type
	Value  string
	Short  string // what stands for Value before it is opened; "" is its beginning
	After  string // what a replay sends instead, where it sets it
	Fate   parkade.Handling
	Why    string
}

// Round is one life of a message between two parkings, and how it was replayed
// out of it, newest replay first.
type Round struct {
	Message parkade.Message
	Replays []parkade.ReplayRecord
}

func (p MessagePage) carried(headers bool) []Carried {
	var some []Carried
	for _, c := range p.Carried {
		if c.Header == headers {
			some = append(some, c)
		}
	}
	return some
}

// long reports whether a value is folded away.
func (c Carried) long() bool {
	return c.Short != "" || len(c.Value) > 400 || strings.Count(c.Value, "\n") > 6
}

// first is what stands in the place of a long value.
func (c Carried) first() string {
	if c.Short != "" {
		return Visible(c.Short)
	}
	r := []rune(strings.Join(strings.Fields(c.Value[:min(len(c.Value), 1000)]), " "))
	if len(r) > 120 {
		r = r[:120]
	}
	return Visible(string(r)) + "…"
}

// shown is a value with its lines as they are and whatever can't be seen written
// out.
func shown(value string) string {
	lines := strings.Split(value, "\n")
	for i, line := range lines {
		lines[i] = Visible(line)
	}
	return strings.Join(lines, "\n")
}

func (p MessagePage) here() string { return "/messages/" + p.Message.ID.String() }

func (p MessagePage) other(id parkade.MessageID) string {
	return "/messages/" + id.String() + p.Back
}

// as returns this page with the payload drawn in another way.
func (p MessagePage) as(m Mode) string {
	join := "?"
	if p.Back != "" {
		join = p.Back + "&"
	}
	return p.here() + join + "as=" + string(m) + "#payload"
}

func (p MessagePage) do(verb string) string { return "/" + verb + "?id=" + p.Message.ID.String() }

// doubts reports whether somebody has to say what became of the last replay.
func (p MessagePage) doubts() bool { return p.Message.State == parkade.InDoubt }

// lastUnknown is the replay that left the message in doubt.
func (p MessagePage) lastUnknown() *parkade.ReplayRecord {
	for _, r := range p.Rounds {
		if r.Message.ID != p.Message.ID {
			continue
		}
		for i := range r.Replays {
			if r.Replays[i].Outcome == parkade.Unknown && r.Replays[i].DecidedBy == "" {
				return &r.Replays[i]
			}
		}
	}
	return nil
}

// attemptsSource says where the number of attempts comes from.
func attemptsSource(m parkade.Message) string {
	switch m.Attempts.From {
	case "":
		return "Nothing in it tells how often it was tried."
	case "x-death":
		return "Counted from x-death: how often it died in the queue that failed it."
	case parkade.DeliveryCount:
		return "From x-delivery-count, which its queue counts in."
	}
	return "From the header " + m.Attempts.From + ", in which its application counts."
}

// originSource says where it is known from where a message was published to.
func (p MessagePage) originSource() string {
	switch {
	case p.OriginFrom == "x-death":
		return "Known from x-death, which RabbitMQ writes."
	case p.OriginFrom != "":
		return "Known from the header " + p.OriginFrom + ", which whoever parked it wrote; RabbitMQ doesn’t vouch for it."
	case p.Message.Previous != 0:
		return "Known from its earlier round."
	case p.Message.Wrapper != "":
		return "Known from its wrapper, which " + p.Message.Wrapper.Name() + " wrote."
	}
	return ""
}

// outcome is how the end of a replay is shown.
func outcomeState(o parkade.Outcome) (state State, word string) {
	switch o {
	case parkade.Confirmed:
		return OK, "Confirmed"
	case parkade.Intent:
		return Running, "Waiting or sending"
	case parkade.Unroutable:
		return Bad, "Unroutable: RabbitMQ returned it"
	case parkade.Nacked:
		return Bad, "Nacked: its queue refused it"
	case parkade.Refused:
		return Bad, "Refused: certainly not sent"
	case parkade.Unknown:
		return Warn, "Unknown: it may or may not have arrived"
	case parkade.NotSent:
		return NotApplicable, "Cancelled before it was sent"
	}
	return NotApplicable, string(o)
}

func roundClass(r Round, here parkade.MessageID) string {
	switch {
	case r.Message.State == parkade.InDoubt:
		return "doubt"
	case r.Message.ID == here:
		return "parked now"
	}
	return "parked"
}

func sentClass(r parkade.ReplayRecord) string {
	if r.Outcome == parkade.Unknown {
		return "doubt"
	}
	return "sent"
}

// wayTo names where a replay went.
func wayTo(exchange, key string) string {
	if exchange == "" {
		return "straight into " + Visible(key)
	}
	return "exchange " + Visible(exchange) + ", key " + Visible(plain(key, "(empty)"))
}

// whereFirst names where a message was published to.
func whereFirst(o parkade.Origin) string {
	if o.Exchange == "" {
		return wayTo("", o.RoutingKey)
	}
	return "to " + wayTo(o.Exchange, o.RoutingKey)
}

// deathTime is the time of a death, or what stands there where it is none.
func deathTime(d parkade.Death) (time.Time, bool) {
	at := d.At().UTC()
	return at, d.FirstAt > 0 && at.Year() >= 1970 && at.Year() <= 9999
}

func joined(keys []string) string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = Visible(plain(k, "(empty)"))
	}
	return strings.Join(all, ", ")
}

// roundWords says what is special about a round.
func roundWords(m parkade.Message) string {
	var all []string
	if m.State != parkade.Parked {
		all = append(all, StateName(m.State)+".")
	}
	if m.Attempts.From != "" {
		all = append(all, Count(m.Attempts.Count, "attempt", "attempts")+".")
	}
	if m.Redelivered {
		all = append(all, "RabbitMQ had handed it out before.")
	}
	if m.SeenAgain > 0 {
		all = append(all, "Seen again "+Count(m.SeenAgain, "time", "times")+", and recognised.")
	}
	return strings.Join(all, " ")
}

func afterAttempts(m parkade.Message) string {
	if m.Attempts.From == "" {
		return ""
	}
	return " after " + Count(m.Attempts.Count, "attempt", "attempts")
}

// deed is what else there is to say of an action.
func deed(a parkade.Action) string {
	s := ""
	if a.Detail != "" {
		s = " (" + a.Detail + ")"
	}
	if a.Reason != "" {
		s += ": “" + Visible(a.Reason) + "”"
	}
	return s
}

func failedQueue(m parkade.Message) string {
	if m.Origin == nil {
		return ""
	}
	return m.Origin.Queue
}

func emptyValue(c Carried) string {
	if c.Type == "" {
		return "not there"
	}
	return "empty"
}

// sendsWords says which version a replay sends, where that isn't what arrived.
func sendsWords(m parkade.Message) string {
	switch m.Sends() {
	case parkade.Arrived:
		return ""
	case parkade.Unwrapped:
		return "It arrived in an error wrapper of " + m.Wrapper.Name() + ". A replay sends what is in it."
	}
	return "It was edited: a replay sends " + versionName(m.Version) + "."
}
