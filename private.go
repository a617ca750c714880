package parkade

import "slices"

// PrivateExchange begins the name of every exchange of ours. Where the rest of the
// name isn't made yet, it stands for the exchange.
const PrivateExchange = "parkade.replay"

// Private reports whether t is into a queue by an exchange of ours, which is bound
// to that queue alone: the message keeps its routing key, which publishing straight
// into a queue replaces by the queue's name. Without a Queue, it is each message's
// own failed queue, and its own key.
func (t Target) Private() bool { return t.To == ToQueue && (t.Keep || t.RoutingKey != "") }

// PrivateChoice works out the way into the queue that failed a message by an
// exchange of ours, and false where it is no other than straight into the queue.
// Whether the login may do that isn't looked at.
func PrivateChoice(origin *Origin, guessed bool, c Content, topo *Topology) (Choice, bool) {
	if origin == nil || origin.Queue == "" || origin.RoutingKey == origin.Queue {
		return Choice{}, false
	}
	way := Choice{Guess: guessed, Target: Target{To: ToQueue, Queue: origin.Queue, RoutingKey: origin.RoutingKey, Keep: true}}
	if topo == nil {
		way.Warnings = []string{"Not checked: the broker's bindings can't be read, so whether a second failure still finds its way isn't known."}
	} else {
		topo.check(&way, origin.Queue, c.Headers)
	}
	return way, true
}

// checkPrivate says what follows from c, which is into a queue by an exchange of
// ours: nothing else gets it, and a second failure is dead-lettered with its own key.
func (t Topology) checkPrivate(c *Choice, failed string, headers Table) {
	queue, key := c.Target.Queue, c.Target.RoutingKey
	if _, ok := t.Queues[queue]; !ok {
		c.Blocked = "There is no queue " + queue + "."
		return
	}
	c.Reaches = []string{queue}
	if failed != "" && queue != failed {
		c.Warnings = append(c.Warnings, "It doesn't reach "+failed+", the queue that failed it.")
	}
	c.Loop = t.FailureLoop(queue, key, headers)
	if c.Loop.Unchecked {
		c.Warnings = append(c.Warnings, "What a second failure in "+queue+" leads to isn't certain: an exchange of a plugin's type is on the way.")
	}
	if c.Loop.Lost != "" && slices.Contains([]string{queue, ""}, failed) {
		c.Blocked = c.Loop.Lost
	}
}
