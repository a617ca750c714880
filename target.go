package parkade

import (
	"fmt"
	"maps"
	"slices"
)

// To says how the target of a replay is found.
type To string

// The ways to find a target.
const (
	ToAuto     To = "auto"     // worked out for each message
	ToExchange To = "exchange" // this exchange and key
	ToQueue    To = "queue"    // into this queue: straight, or by an exchange of ours
)

// Target is where a replay is sent.
type Target struct {
	To         To     `json:"to"`
	Exchange   string `json:"exchange,omitempty"`
	RoutingKey string `json:"routing_key,omitempty"`
	Queue      string `json:"queue,omitempty"`
	Keep       bool   `json:"keep_key,omitempty"` // into Queue by an exchange of ours, with RoutingKey; see Private
}

// Address returns the exchange and key to publish with; ToAuto has none. Of a
// private one, the exchange only begins with that name.
func (t Target) Address() (exchange, key string) {
	switch {
	case t.Private():
		return PrivateExchange, t.RoutingKey
	case t.To == ToQueue:
		return "", t.Queue
	}
	return t.Exchange, t.RoutingKey
}

// Choice is one possible target of a replay, with what would follow from it.
type Choice struct {
	Target   Target
	Reaches  []string // queues, sorted
	Loop     Loop     // what happens when it fails there once more
	Default  bool     // taken when the person says nothing else; at most one
	Guess    bool     // rests on what other messages of the parking queue had
	Blocked  string   // why it can't be taken, or ""
	Warnings []string // consequences, each a sentence
}

// Choices works out the possible targets of a message, best first: through its
// original exchange and key, which keeps its way through retries whole, and
// straight into the queue that failed it, which reaches nobody else. guessed says
// that origin is not the message's own. topo is nil when it can't be asked for;
// then nothing is a default, because nothing can be checked.
func Choices(origin *Origin, guessed bool, c Content, topo *Topology) []Choice {
	if origin == nil {
		return nil
	}
	through := Choice{Guess: guessed, Target: Target{To: ToExchange, Exchange: origin.Exchange, RoutingKey: origin.RoutingKey}}
	if topo == nil {
		through.Warnings = []string{"Not checked: the broker's bindings can't be read, so which queues this reaches isn't known."}
	} else {
		topo.check(&through, origin.Queue, c.Headers)
	}
	if origin.Queue == "" {
		through.Default = safe(through, origin.Queue) && !guessed
		return []Choice{through}
	}
	straight := Choice{Guess: guessed, Target: Target{To: ToQueue, Queue: origin.Queue}}
	if topo == nil {
		straight.Warnings = []string{"Not checked: its routing key becomes the queue's name, and whether a second failure still finds its way isn't known."}
		return []Choice{through, straight}
	}
	topo.check(&straight, origin.Queue, c.Headers)
	switch {
	case guessed:
	case safe(through, origin.Queue):
		through.Default = true
	case safe(straight, origin.Queue):
		straight.Default = true
	}
	if origin.Exchange == "" && origin.RoutingKey == origin.Queue {
		return []Choice{straight.orDefault(through)}
	}
	return []Choice{through, straight}
}

// orDefault merges two choices that are the same publish.
func (c Choice) orDefault(same Choice) Choice {
	c.Default = c.Default || same.Default
	return c
}

// safe reports whether c reaches the failed queue and only that, by a route that
// is certain, and loses nothing on a second failure.
func safe(c Choice, failed string) bool {
	return c.Blocked == "" && len(c.Warnings) == 0 && len(c.Reaches) == 1 && (failed == "" || c.Reaches[0] == failed)
}

// Check returns what would follow from sending a message with these headers to
// target; failed is the queue that failed it, or "".
func (t Topology) Check(target Target, failed string, headers Table) Choice {
	c := Choice{Target: target}
	t.check(&c, failed, headers)
	return c
}

func (t Topology) check(c *Choice, failed string, headers Table) {
	if c.Target.Private() {
		t.checkPrivate(c, failed, headers)
		return
	}
	exchange, key := c.Target.Address()
	r := t.Route(exchange, key, headers)
	c.Reaches = r.Queues
	warn := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	switch {
	case r.Missing:
		c.Blocked = "The exchange " + exchange + " doesn't exist any more."
		return
	case r.Internal:
		c.Blocked = "The exchange " + exchange + " is internal: clients can't publish to it."
		return
	case len(r.Queues) == 0 && !r.Guess:
		c.Blocked = "No queue would get it: nothing is bound to " + exchangeName(exchange) + " for the key " + key + "."
		return
	}
	if r.Guess {
		warn("Which queues it reaches isn't certain: an exchange of a plugin's type is on the way.")
	}
	if r.Alternate != "" {
		warn("It gets there only through the alternate exchange %s, which is meant for messages that nobody else takes.", r.Alternate)
	}
	if failed != "" && !slices.Contains(r.Queues, failed) && !r.Guess {
		warn("It doesn't reach %s, the queue that failed it.", failed)
	}
	if others := without(r.Queues, failed); failed != "" && len(others) > 0 {
		warn("It also reaches %s, which may have handled it already.", listed(others))
	}
	for _, q := range r.Queues {
		l := t.FailureLoop(q, key, headers)
		if q == failed || len(c.Loop.Hops) == 0 {
			c.Loop = l
		}
		if l.Unchecked && (q == failed || failed == "") {
			warn("What a second failure in %s leads to isn't certain: an exchange of a plugin's type is on the way.", q)
		}
		if l.Lost != "" && q == failed || l.Lost != "" && failed == "" {
			c.Blocked = l.Lost
		}
	}
}

// Siblings is how often other messages of the same parking queue had an origin.
type Siblings struct {
	Origin Origin
	Count  int64
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}

// listed joins names as a sentence does, and stops after three.
func listed(names []string) string {
	switch n := len(names); n {
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	case 3:
		return names[0] + ", " + names[1] + " and " + names[2]
	default:
		return fmt.Sprintf("%s, %s and %d other queues", names[0], names[1], n-2)
	}
}
