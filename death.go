package parkade

import "time"

// Death is one entry of the x-death header: one queue and one reason.
type Death struct {
	Queue              string
	Reason             string // rejected, expired, maxlen or delivery_limit
	Count              int64
	Exchange           string // that it was published to before the first such death
	RoutingKeys        []string
	FirstAt            Timestamp // of the first such death; RabbitMQ keeps no later one
	OriginalExpiration string
}

// The reasons of a death.
const (
	Rejected      = "rejected"
	Expired       = "expired"
	MaxLength     = "maxlen"
	DeliveryLimit = "delivery_limit"
)

// At returns when the first such death happened.
func (d Death) At() time.Time { return time.Unix(int64(d.FirstAt), 0) }

// Key returns the first routing key, under which the message was published.
func (d Death) Key() string {
	if len(d.RoutingKeys) == 0 {
		return ""
	}
	return d.RoutingKeys[0]
}

// Deaths reads the x-death header, newest first. Entries that are no tables, and
// a header that is no array, are left out: applications write such things.
func Deaths(headers Table) []Death {
	v, _ := headers.Get("x-death")
	list, _ := v.(List)
	var deaths []Death
	for _, entry := range list {
		t, ok := entry.(Table)
		if !ok {
			continue
		}
		d := Death{
			Queue: t.Text("queue"), Reason: t.Text("reason"), Exchange: t.Text("exchange"),
			OriginalExpiration: t.Text("original-expiration"),
		}
		d.Count, _ = t.Int("count")
		if at, ok := t.Get("time"); ok {
			d.FirstAt, _ = at.(Timestamp)
		}
		keys, _ := t.Get("routing-keys")
		if keys, ok := keys.(List); ok {
			for _, k := range keys {
				if k, ok := k.(string); ok {
					d.RoutingKeys = append(d.RoutingKeys, k)
				}
			}
		}
		deaths = append(deaths, d)
	}
	return deaths
}

// Failure returns the newest death that a consumer caused: rejected, or over the
// delivery limit. Its queue is where the message failed; a wait queue, where
// messages expire, is never that.
func Failure(deaths []Death) (Death, bool) {
	for _, d := range deaths {
		if d.Reason == Rejected || d.Reason == DeliveryLimit {
			return d, true
		}
	}
	return Death{}, false
}

// Origin is where a message was first published to and which queue failed it.
type Origin struct {
	Exchange   string `json:"exchange"`
	RoutingKey string `json:"routing_key"`
	Queue      string `json:"queue"` // the failed queue
}

// OriginOf returns the origin that the deaths tell, and false when they don't.
func OriginOf(deaths []Death) (Origin, bool) {
	d, ok := Failure(deaths)
	if !ok {
		return Origin{}, false
	}
	return Origin{d.Exchange, d.Key(), d.Queue}, true
}

// Attempts is how often the original consumer tried, and which header says so.
type Attempts struct {
	Count int64
	From  string // the header's name; empty where nothing tells
}

// AttemptHeaders are the headers in which applications count attempts. The first
// that is there counts; replays strip all of them.
func AttemptHeaders() []string {
	return []string{"x-attempt", "x-attempts", "x-retry-count", "x-retries"}
}

// AttemptsOf counts the attempts of a message: by its attempt header, else by
// the deaths in the failed queue, else by the queue's delivery count.
func AttemptsOf(headers Table, deaths []Death) Attempts {
	for _, name := range AttemptHeaders() {
		if n, ok := headers.Int(name); ok {
			return Attempts{n, name}
		}
	}
	if failed, ok := Failure(deaths); ok {
		var n int64
		for _, d := range deaths {
			if d.Queue == failed.Queue {
				n += d.Count
			}
		}
		return Attempts{n, "x-death"}
	}
	if n, ok := headers.Int(DeliveryCount); ok {
		return Attempts{n, DeliveryCount}
	}
	return Attempts{}
}

// ReasonOf returns why the message was dead-lettered last by a failure, else its
// newest death's reason, else "": parked by an application, or by hand.
func ReasonOf(deaths []Death) string {
	if d, ok := Failure(deaths); ok {
		return d.Reason
	}
	if len(deaths) > 0 {
		return deaths[0].Reason
	}
	return ""
}

// exceptionHeaders are the header pairs, type and message, in which frameworks
// and applications say what went wrong.
//
//nolint:gochecknoglobals // a constant table
var exceptionHeaders = [][2]string{
	{"x-exception-type", "x-exception-message"},
	{"MT-Fault-ExceptionType", "MT-Fault-Message"},
	{"NServiceBus.ExceptionInfo.ExceptionType", "NServiceBus.ExceptionInfo.Message"},
	{"exception-type", "exception-message"},
	{"", "cap-exception"},
	{"", "rbs2-error-details"},
	{"", "reason_poisoned"},
}

// ExceptionOf returns what the headers say went wrong, one line of at most 300
// bytes, or "".
func ExceptionOf(headers Table) string {
	for _, pair := range exceptionHeaders {
		kind, message := headers.Text(pair[0]), headers.Text(pair[1])
		switch {
		case kind != "" && message != "":
			return oneLine(kind + ": " + message)
		case kind+message != "":
			return oneLine(kind + message)
		}
	}
	return ""
}
