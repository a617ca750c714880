package views

import (
	"net/url"
	"time"

	"parkade"
)

// MessagesPage is the list of messages.
type MessagesPage struct {
	Shell    Shell
	Filter   parkade.Filter
	Oldest   bool
	Wrong    string // why the filter can't be read, or ""
	Typed    string // what was typed into the filter, where it is wrong
	Total    int64
	Exact    bool
	Takes    int64 // of the total, those that the verbs of all that match would take
	All      []parkade.Message
	First    bool // nothing stands before this page
	Newer    parkade.MessageID
	Older    parkade.MessageID // 0: nothing stands behind it
	States   []StateFacet
	Queues   []parkade.Queue
	PerQueue map[parkade.Queue]int64 // of the filter's state, as are all counts of facets
	Vhosts   []ValueFacet
	Reasons  []ValueFacet
	Keys     []ValueFacet
	Drains   []parkade.Drain // what is drained, or could be
	Newest   time.Time       // when the newest message of the list was stored
}

// StateFacet is how many messages of the filter's queues are in a state.
type StateFacet struct {
	State parkade.State
	Count int64
}

// ValueFacet is how many messages the list would have with another value of one
// condition.
type ValueFacet struct {
	Value string
	Count int64
	Exact bool // else there are more than Count
}

func (f ValueFacet) counted() string { return AtLeast(f.Count, f.Exact) }

// choosesVhost reports whether the bar offers vhosts.
func (p MessagesPage) choosesVhost() bool { return len(p.Vhosts) > 1 && p.Filter.Vhost == "" }

// chip is one condition of a filter, and the list without it.
type chip struct{ name, value, without string }

// listPath returns the address of a list.
func listPath(f parkade.Filter, oldest bool) string {
	return "/messages" + listQuery(f, oldest)
}

func listQuery(f parkade.Filter, oldest bool) string {
	q := f.Query()
	if oldest {
		q.Set("order", "oldest")
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// with returns the list where the condition called name is value; "" drops it.
func (p MessagesPage) with(name, value string) string {
	q := p.Filter.Query()
	if value == "" || q.Get(name) == value {
		q.Del(name)
	} else {
		q.Set(name, value)
	}
	if p.Oldest {
		q.Set("order", "oldest")
	}
	if len(q) == 0 {
		return "/messages"
	}
	return "/messages?" + q.Encode()
}

// queue returns the list of one queue, or without it where that is chosen already.
func (p MessagesPage) queue(q parkade.Queue) string {
	f := p.Filter
	if p.isQueue(q) {
		f.Broker, f.Vhost, f.Queue = "", "", ""
	} else {
		f.Broker, f.Vhost, f.Queue = q.Broker, q.Vhost, q.Name
	}
	return listPath(f, p.Oldest)
}

func (p MessagesPage) isQueue(q parkade.Queue) bool {
	return p.Filter.Broker == q.Broker && p.Filter.Vhost == q.Vhost && p.Filter.Queue == q.Name
}

func (p MessagesPage) page(before parkade.MessageID) string {
	q := p.Filter.Query()
	if p.Oldest {
		q.Set("order", "oldest")
	}
	if before != 0 {
		q.Set("before", before.String())
	}
	if len(q) == 0 {
		return "/messages"
	}
	return "/messages?" + q.Encode()
}

// chips lists the conditions of the filter.
func (p MessagesPage) chips() []chip {
	q := p.Filter.Query()
	var all []chip
	for _, name := range FilterNames() {
		if value := q.Get(name); value != "" {
			all = append(all, chip{name, value, p.with(name, "")})
		}
	}
	return all
}

// FilterNames lists what a filter can say, in the order in which pages show it.
func FilterNames() []string {
	return []string{
		"state", "broker", "vhost", "queue", "reason", "key", "message_id", "outcome", "came_back", "copies", "older", "newer", "operation",
	}
}

// age is one choice of how old messages are.
type age struct{ name, value, label string }

func ages() []age {
	return []age{
		{"newer", "1h", "last hour"}, {"newer", "1d", "last 24 h"}, {"older", "1d", "older than 1 d"}, {"older", "7d", "older than 7 d"},
	}
}

// open returns the address of a message, from which one comes back to this list.
func (p MessagesPage) open(id parkade.MessageID) string {
	return "/messages/" + id.String() + listQuery(p.Filter, p.Oldest)
}

// all returns the address of what is done with all that match.
func (p MessagesPage) all(verb string) string {
	return "/" + verb + "?" + url.Values{"filter": {p.Filter.Query().Encode()}}.Encode()
}

// target is the queue that all messages on the page failed in, or "".
func (p MessagesPage) target() string {
	name := ""
	for _, m := range p.All {
		if m.Origin == nil || name != "" && m.Origin.Queue != name {
			return ""
		}
		name = m.Origin.Queue
	}
	return name
}

// verbs are what can be done with all that match.
func (p MessagesPage) restores() bool { return p.Filter.State == parkade.Discarded }

func (p MessagesPage) filtered() bool { return p.Filter != (parkade.Filter{}) }

// counted says how many messages the list has.
func (p MessagesPage) counted() string {
	n := AtLeast(p.Total, p.Exact)
	switch {
	case p.Filter.State != "":
		return n + " " + string(p.Filter.State)
	case p.Total == 1:
		return n + " message"
	}
	return n + " messages"
}

func (p MessagesPage) showsNewest() bool { return !p.Newest.IsZero() && !p.Oldest && p.First }

func (p MessagesPage) andNewest() string {
	if p.showsNewest() {
		return ", the newest "
	}
	return "."
}

func sorted(oldest bool) string {
	if oldest {
		return "ascending"
	}
	return "descending"
}

// allOfThem says which set the verbs of all that match take.
func (p MessagesPage) allOfThem() string {
	switch {
	case p.restores():
		return "discarded that match"
	case p.Filter.State == "" && p.filtered():
		return "parked that match"
	case p.Filter.State == "":
		return "parked"
	}
	return "matching the filter"
}

// queueLabel names a queue, with its vhost and broker where its name is not enough.
func queueLabel(all []parkade.Queue, q parkade.Queue) string {
	label := q.Name
	for _, other := range all {
		if other == q {
			continue
		}
		if other.Name == q.Name && other.Vhost != q.Vhost {
			label = q.Name + " in " + q.Vhost
		}
		if other.Name == q.Name && other.Broker != q.Broker {
			return q.Name + " in " + q.Vhost + " of " + q.Broker
		}
	}
	return label
}
