package parkade

import (
	"net/url"
	"strings"
	"time"
)

// Filter is a set of messages, said as a query. The zero Filter is all of them.
type Filter struct {
	Broker     string
	Vhost      string
	Queue      string
	State      State // "" is every state
	Reason     string
	NoReason   bool   // no death tells why; excludes Reason
	RoutingKey string // that it was published with, or arrived with where its origin isn't known
	MessageID  string // exactly
	Outcome    Outcome
	CameBack   bool          // messages that came back after a replay
	Copies     bool          // possible copies only
	OlderThan  time.Duration // parked at least this long ago
	NewerThan  time.Duration // parked at most this long ago
	Operation  OperationID   // members of this operation's frozen set
}

// noReason is how a query says that no reason is known.
const noReason = "none"

// Query returns f as it stands in a URL; ParseFilter is its inverse.
func (f Filter) Query() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("broker", f.Broker)
	set("vhost", f.Vhost)
	set("queue", f.Queue)
	set("state", string(f.State))
	if f.NoReason {
		set("reason", noReason)
	} else {
		set("reason", f.Reason)
	}
	set("key", f.RoutingKey)
	set("message_id", f.MessageID)
	set("outcome", string(f.Outcome))
	if f.CameBack {
		set("came_back", "yes")
	}
	if f.Copies {
		set("copies", "yes")
	}
	if f.OlderThan != 0 {
		set("older", formatAge(f.OlderThan))
	}
	if f.NewerThan != 0 {
		set("newer", formatAge(f.NewerThan))
	}
	if f.Operation != 0 {
		set("operation", f.Operation.String())
	}
	return q
}

// ParseFilter reads a filter from the query of a URL. Keys that are none of a
// filter's are ignored; a wrong value is an error that names its field, and never
// a wider set.
func ParseFilter(q url.Values) (Filter, error) {
	f := Filter{
		Broker: q.Get("broker"), Vhost: q.Get("vhost"), Queue: q.Get("queue"),
		RoutingKey: q.Get("key"), MessageID: q.Get("message_id"), Reason: q.Get("reason"),
	}
	if f.Reason == noReason {
		f.Reason, f.NoReason = "", true
	}
	var err error
	if f.State, err = oneOf(q.Get("state"), "state", States()); err != nil {
		return Filter{}, err
	}
	if f.Outcome, err = oneOf(q.Get("outcome"), "outcome", Outcomes()); err != nil {
		return Filter{}, err
	}
	if f.CameBack, err = parseYes(q, "came_back"); err != nil {
		return Filter{}, err
	}
	if f.Copies, err = parseYes(q, "copies"); err != nil {
		return Filter{}, err
	}
	if f.OlderThan, err = parseAge(q.Get("older"), "older"); err != nil {
		return Filter{}, err
	}
	if f.NewerThan, err = parseAge(q.Get("newer"), "newer"); err != nil {
		return Filter{}, err
	}
	op, err := ParseID(q.Get("operation"), "operation")
	f.Operation = OperationID(op)
	return f, err
}

// ParseID reads an id as it stands in a URL or in JSON; "" is 0, which is none.
func ParseID(s, field string) (int64, error) {
	var n int64
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > (1<<62)/10 {
			return 0, Errorf(Invalid, "%q is no id: ids are digits, as lists show them.", oneLine(s)).At(field)
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil
}

func oneOf[T ~string](s, field string, allowed []T) (T, error) {
	if s == "" {
		return "", nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		if string(a) == s {
			return a, nil
		}
		names[i] = string(a)
	}
	return "", Errorf(Invalid, "There is no %s %q. Possible are: %s.", field, oneLine(s), strings.Join(names, ", ")).At(field)
}

func parseYes(q url.Values, field string) (bool, error) {
	switch v := q.Get(field); v {
	case "":
		return false, nil
	case "yes":
		return true, nil
	default:
		return false, Errorf(Invalid, "%q isn't possible for %s: say yes, or leave it out.", oneLine(v), field).At(field)
	}
}

// parseAge reads a duration that also knows days, such as 2h, 90m or 3d.
func parseAge(s, field string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := ParseDuration(s)
	if err != nil || d < time.Second || d > 100*365*24*time.Hour {
		return 0, Errorf(Invalid, "%q is no age. Write it like 90m, 2h or 3d.", oneLine(s)).At(field)
	}
	return d, nil
}

// ParseDuration is time.ParseDuration that also knows whole days: 3d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	n, err := time.ParseDuration(days + "h")
	if err != nil || rest == "" {
		return n * 24, err
	}
	d, err := time.ParseDuration(rest)
	return n*24 + d, err
}

func formatAge(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day == 0 {
		return strings.TrimSuffix((d/24).String(), "h0m0s") + "d"
	}
	return d.String()
}

// Page is one page of a list.
type Page struct {
	Before MessageID // continue after this one; 0 is the first page
	Limit  int
	Oldest bool // oldest first instead of newest first
}
