package parkade

import "strings"

// Topology is what one vhost looked like at one moment: enough to work out where
// a publish would go and what would happen to it when it fails there.
type Topology struct {
	Exchanges map[string]Exchange
	Queues    map[string]QueueInfo
	Bindings  []Binding
}

// Exchange is one exchange of a topology.
type Exchange struct {
	Type      string // direct, fanout, topic, headers, or a plugin's
	Alternate string // where unroutable messages go instead, or ""
	Internal  bool   // clients can't publish to it
}

// QueueInfo is one queue of a topology.
type QueueInfo struct {
	Type               string // classic, quorum or stream
	DeadLetters        bool   // it has a dead-letter exchange
	DeadLetterExchange string // "" is the default exchange
	DeadLetterKey      string // "": the message keeps its own key
	MessageTTL         bool   // messages expire in it
	Consumers          int64  // -1: not known
	Ready              int64  // -1: not known
	RejectPublish      bool   // full, it refuses instead of dropping
	MaxPriority        bool
}

// Binding is one binding of a topology.
type Binding struct {
	Source      string
	Destination string
	ToExchange  bool
	Key         string
	Headers     Table // the arguments of a binding to a headers exchange
}

// Routing is where a publish would go.
type Routing struct {
	Queues    []string // sorted, each once
	Alternate string   // the alternate exchange that it took, or ""
	Missing   bool     // the exchange doesn't exist
	Internal  bool     // the exchange takes nothing from clients
	Guess     bool     // an exchange of a plugin's type is on the way: not known
}

// Route works out which queues a message with this key and these headers reaches
// through exchange, as RabbitMQ routes: exchange-to-exchange bindings, and the
// alternate exchange where nothing else matches, included.
func (t Topology) Route(exchange, key string, headers Table) Routing {
	if exchange == "" {
		if _, ok := t.Queues[key]; ok {
			return Routing{Queues: []string{key}}
		}
		return Routing{}
	}
	ex, ok := t.Exchanges[exchange]
	if !ok {
		return Routing{Missing: true}
	}
	r := route{t: t, key: key, headers: headers, seen: map[string]bool{}, queues: map[string]bool{}}
	r.walk(exchange)
	return Routing{Queues: sortedKeys(r.queues), Alternate: r.alternate, Internal: ex.Internal, Guess: r.guess}
}

// route is one walk through the exchanges of a topology.
type route struct {
	t         Topology
	key       string
	headers   Table
	seen      map[string]bool
	queues    map[string]bool
	alternate string
	guess     bool
}

func (r *route) walk(exchange string) {
	if r.seen[exchange] {
		return
	}
	r.seen[exchange] = true
	ex := r.t.Exchanges[exchange]
	matched := false
	for _, b := range r.t.Bindings {
		if b.Source != exchange || !r.matches(ex.Type, b) {
			continue
		}
		matched = true
		if b.ToExchange {
			r.walk(b.Destination)
		} else {
			r.queues[b.Destination] = true
		}
	}
	if !matched && ex.Alternate != "" {
		if _, ok := r.t.Exchanges[ex.Alternate]; ok {
			r.alternate = ex.Alternate
			r.walk(ex.Alternate)
		}
	}
}

func (r *route) matches(exchangeType string, b Binding) bool {
	switch exchangeType {
	case "fanout":
		return true
	case "direct":
		return b.Key == r.key
	case "topic":
		return topicMatches(strings.Split(b.Key, "."), strings.Split(r.key, "."))
	case "headers":
		return headersMatch(b.Headers, r.headers)
	}
	r.guess = true
	return true
}

// topicMatches tells whether the words of a key match those of a pattern, where
// * is one word and # any number of them.
func topicMatches(pattern, words []string) bool {
	for i, p := range pattern {
		if p == "#" {
			for skip := 0; skip <= len(words); skip++ {
				if topicMatches(pattern[i+1:], words[skip:]) {
					return true
				}
			}
			return false
		}
		if len(words) == 0 || p != "*" && p != words[0] {
			return false
		}
		words = words[1:]
	}
	return len(words) == 0
}

// headersMatch follows x-match: all (the default) or any, and their variants
// that look at x- headers too.
func headersMatch(want, have Table) bool {
	mode := want.Text("x-match")
	withX := strings.HasSuffix(mode, "-with-x")
	anyOf := strings.HasPrefix(mode, "any")
	for _, f := range want {
		if f.Name == "x-match" || !withX && strings.HasPrefix(f.Name, "x-") {
			continue
		}
		v, ok := have.Get(f.Name)
		hit := ok && (f.Value == nil || sameValue(f.Value, v))
		if hit && anyOf {
			return true
		}
		if !hit && !anyOf {
			return false
		}
	}
	return !anyOf
}

func sameValue(a, b any) bool {
	if x, ok := Integer(a); ok {
		y, ok := Integer(b)
		return ok && x == y
	}
	x, errX := appendValue(nil, a)
	y, errY := appendValue(nil, b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Hop is one step of what happens to a message that keeps failing.
type Hop struct {
	Queue string
	Key   string // its routing key in that queue
}

// Loop is what happens to a message that is rejected in a queue again and again,
// until it is parked, meets a queue twice, or is lost.
type Loop struct {
	Hops []Hop
	Lost string // where and why it would be lost, a sentence; "" when it isn't
	Back bool   // it gets into the queue where it started once more
	// Unchecked says that a part of the way isn't known.
	Unchecked bool
}

// FailureLoop follows the dead-letter path of a message that fails in queue with
// this key. A queue without a dead-letter exchange ends it: what its consumer
// does with a failure is not the broker's business.
func (t Topology) FailureLoop(queue, key string, headers Table) Loop {
	var l Loop
	t.follow(&l, Hop{queue, key}, headers, map[Hop]bool{})
	return l
}

func (t Topology) follow(l *Loop, at Hop, headers Table, seen map[Hop]bool) {
	l.Back = l.Back || len(l.Hops) > 0 && at.Queue == l.Hops[0].Queue
	if seen[at] {
		return
	}
	seen[at] = true
	l.Hops = append(l.Hops, at)
	q, ok := t.Queues[at.Queue]
	if !ok || !q.DeadLetters {
		return
	}
	key := at.Key
	if q.DeadLetterKey != "" {
		key = q.DeadLetterKey
	}
	r := t.Route(q.DeadLetterExchange, key, headers)
	l.Unchecked = l.Unchecked || r.Guess
	switch {
	case r.Missing:
		l.Lost = "A failure in " + at.Queue + " would be lost: its dead-letter exchange " + q.DeadLetterExchange + " doesn't exist."
	case len(r.Queues) == 0:
		l.Lost = "A failure in " + at.Queue + " would be lost: nothing is bound to " + exchangeName(q.DeadLetterExchange) + " for the key " + key + "."
	}
	for _, next := range r.Queues {
		t.follow(l, Hop{next, key}, headers, seen)
	}
}

func exchangeName(name string) string {
	if name == "" {
		return "the default exchange"
	}
	return "the exchange " + name
}
