package parkade

import (
	"slices"
	"strings"
)

// The headers that a replay is stamped with.
const (
	ReplayIDHeader      = "x-replay-id"      // unique for each replay of each store
	ReplayAttemptHeader = "x-replay-attempt" // how often this message has been replayed, from 1
)

// Draft is what a replay sends.
type Draft struct {
	Content
	Body []byte
}

// Policy says what a replay does to a message, beyond the hygiene that always
// holds.
type Policy struct {
	ResetHeaders []string `json:"reset_headers,omitempty"` // stripped besides the built-in attempt headers
}

// Handling is what a replay does with a property or header.
type Handling string

// The handlings.
const (
	Kept     Handling = "kept"
	Stripped Handling = "stripped"
	Override Handling = "overridden"
	Stamped  Handling = "stamped"
)

// Treatment is one line of the hygiene table: what a replay does with one
// property or header, and why. Why is empty for what is simply kept.
type Treatment struct {
	Name     string
	Header   bool // else a property
	Handling Handling
	Why      string
}

// Stamp is what a replay carries in the two replay headers.
type Stamp struct {
	ID      string
	Attempt int32
}

// Prepare applies the replay hygiene to what arrived: it returns what will be
// sent to exchange and key, and a line for every property and header.
func Prepare(c Content, exchange, key string, p Policy, stamp Stamp) (Content, []Treatment) {
	out := Content{Exchange: exchange, RoutingKey: key, Properties: c.Properties}
	lines := prepareProperties(&out.Properties)
	for _, f := range c.Headers {
		why := stripped(f.Name, p)
		switch {
		case f.Name == ReplayIDHeader || f.Name == ReplayAttemptHeader:
		case why != "":
			lines = append(lines, Treatment{f.Name, true, Stripped, why})
		default:
			lines = append(lines, Treatment{f.Name, true, Kept, ""})
			out.Headers = append(out.Headers, f)
		}
	}
	out.Headers = out.Headers.With(ReplayIDHeader, stamp.ID).With(ReplayAttemptHeader, stamp.Attempt)
	return out, append(lines,
		Treatment{ReplayIDHeader, true, Stamped, "so that this store knows it again when it comes back"},
		Treatment{ReplayAttemptHeader, true, Stamped, "how often this message has been replayed"})
}

func prepareProperties(p *Properties) []Treatment {
	var lines []Treatment
	line := func(name string, there bool, h Handling, why string) {
		if there {
			lines = append(lines, Treatment{name, false, h, why})
		}
	}
	line("message_id", p.MessageID != nil, Kept, "")
	line("type", p.Type != nil, Kept, "")
	line("content_type", p.ContentType != nil, Kept, "")
	line("content_encoding", p.ContentEncoding != nil, Kept, "")
	switch {
	case p.DeliveryMode == nil:
		line("delivery_mode", true, Override, "it had none; a replay is persistent, so that a broker restart can't lose it")
	case *p.DeliveryMode != persistent:
		line("delivery_mode", true, Override, "was transient; a replay is persistent, so that a broker restart can't lose it")
	default:
		line("delivery_mode", true, Kept, "")
	}
	line("timestamp", p.Timestamp != nil, Kept, "")
	line("app_id", p.AppID != nil, Kept, "")
	line("correlation_id", p.CorrelationID != nil, Kept, "")
	line("reply_to", p.ReplyTo != nil, Kept, replyToWarning(p.ReplyTo))
	line("priority", p.Priority != nil, Kept, "")
	line("expiration", p.Expiration != nil, Stripped, "a replay that expires would be lost again")
	line("user_id", p.UserID != nil, Stripped, "the broker refuses a user id that isn't the login it gets")
	p.DeliveryMode = new(uint8(persistent))
	p.Expiration, p.UserID = nil, nil
	return lines
}

const persistent = 2

func replyToWarning(to *string) string {
	if strings.HasPrefix(Text(to), "amq.rabbitmq.reply-to") {
		return "nobody waits at a direct reply address any more"
	}
	return ""
}

// stripped says why the header called name isn't sent again, or "".
func stripped(name string, p Policy) string {
	switch {
	case name == "x-death":
		return "a consumer that counts deaths would park it again at once"
	case strings.HasPrefix(name, "x-first-death-"), strings.HasPrefix(name, "x-last-death-"):
		return "goes with x-death"
	case name == DeliveryCount, name == AcquiredCount:
		return "belongs to the queue, which counts anew"
	case name == "CC", name == "BCC":
		return "would route copies to other queues again"
	case name == "x-delay":
		return "would delay it again"
	case strings.HasPrefix(name, "x-stream-"):
		return "belongs to the stream it was read from"
	}
	switch {
	case slices.Contains(AttemptHeaders(), name):
		return "counts attempts; a replay starts from one"
	case slices.Contains(p.ResetHeaders, name):
		return "reset by the policy of this queue"
	}
	return ""
}
