package pipeline

import (
	"maps"
	"time"

	"github.com/cenkalti/backoff/v5"
	amqp "github.com/rabbitmq/amqp091-go"
)

// DefaultWait is how long a failed order waits before it is tried again.
const DefaultWait = 30 * time.Second

// OrderPlaced is the routing key and the message type of a new order.
const OrderPlaced = "order.placed"

// parkingDeliveryLimit is as good as none. -1 would say so in words, but
// RabbitMQ 3.10 takes it for a limit and destroys a message at its first return;
// and without the argument, 4.x destroys at its default of 20.
const parkingDeliveryLimit = int64(1_000_000)

// eventsKept is how long an event waits for somebody to read it.
const eventsKept = 24 * time.Hour

// Topology is the exchanges and queues of billing. The zero value has the
// names of docs/pipeline.md and waits for DefaultWait.
type Topology struct {
	Prefix string        // put before each name, so that several can share a vhost
	Wait   time.Duration // before the second attempt; an argument of a queue, so fixed once that exists
	Mode   RetryMode

	// Policies says that queues get by policy what they would get by arguments.
	// Declare then gives them no more than their type.
	Policies bool

	// AtLeastOnce has the broker hold on to a dead letter until its next queue
	// has confirmed it. Without, a broker that dies at the wrong moment can lose
	// a message on its way to or from the wait queue. It costs speed, and may
	// deliver twice, which a consumer must bear anyway.
	AtLeastOnce bool
}

// The exchanges.

// Orders is the direct exchange that orders are published to.
func (t Topology) Orders() string { return t.Prefix + "orders" }

// Retry is the fanout exchange that failed orders leave the work queue by.
func (t Topology) Retry() string { return t.Prefix + "orders.retry" }

// Dead is the fanout exchange by which failed orders get to Parking in the
// Delayed mode.
func (t Topology) Dead() string { return t.Prefix + "orders.dead" }

// Billing is the topic exchange for what billing tells others.
func (t Topology) Billing() string { return t.Prefix + "billing" }

// The queues.

// Work is the queue that the consumer reads.
func (t Topology) Work() string { return t.Prefix + "orders.work" }

// WaitQueue is where failed orders wait. It never has a consumer.
func (t Topology) WaitQueue() string { return t.Prefix + "orders.wait" }

// Parking is where orders lie that nobody could handle.
func (t Topology) Parking() string { return t.Prefix + "orders.parking" }

// Events receives everything that is published to Billing.
func (t Topology) Events() string { return t.Prefix + "billing.events" }

// Declare makes the topology. Declaring what is there already changes nothing,
// so every part declares it when it starts, and none depends on another.
func (t Topology) Declare(conn *amqp.Connection) error {
	if err := t.Mode.check(conn); err != nil {
		return backoff.Permanent(err)
	}
	return declare(conn, "the topology exists with other settings: use those, another --prefix, or delete what differs", t.exchanges(), t.declared())
}

func (t Topology) exchanges() []exchange {
	all := []exchange{{t.Orders(), amqp.ExchangeDirect}, {t.Billing(), amqp.ExchangeTopic}}
	for _, l := range t.levels() {
		all = append(all, exchange{l.exchange, amqp.ExchangeFanout}) // any key: the message must keep its own for the way back
	}
	if t.Mode == Delayed {
		all = append(all, exchange{t.Dead(), amqp.ExchangeFanout})
	}
	return all
}

// declared is the queues as they are declared: with arguments, or with nothing but
// their types where policies say the rest.
func (t Topology) declared() []queue {
	all := t.queues()
	if t.Policies {
		for i, q := range all {
			all[i].arguments = amqp.Table{amqp.QueueTypeArg: q.arguments[amqp.QueueTypeArg]}
		}
	}
	return all
}

func (t Topology) queues() []queue {
	work := amqp.Table{
		amqp.QueueTypeArg:        amqp.QueueTypeQuorum, // survives the loss of a node
		"x-dead-letter-exchange": t.Retry(),            // where a rejected order goes, and one that crashed its consumer too often
	}
	parking := queue{name: t.Parking(), arguments: amqp.Table{
		amqp.QueueTypeArg:  amqp.QueueTypeQuorum,
		"x-delivery-limit": parkingDeliveryLimit, // no TTL and no length limit: only a person empties it
	}}
	if t.Mode == Delayed {
		maps.Copy(work, t.delayedRetry())
		work["x-dead-letter-exchange"] = t.Dead()
		parking.exchange = t.Dead()
	}
	queues := []queue{{t.Work(), work, t.Orders(), OrderPlaced}}
	for _, l := range t.levels() {
		queues = append(queues, queue{l.queue, amqp.Table{
			amqp.QueueTypeArg:        amqp.QueueTypeQuorum,
			amqp.QueueMessageTTLArg:  l.wait.Milliseconds(), // on the queue: with one TTL for all, the oldest is always first to leave
			"x-dead-letter-exchange": t.Orders(),            // no dead-letter routing key: each comes back by its own
		}, l.exchange, ""})
	}
	if t.AtLeastOnce {
		for _, q := range queues {
			q.arguments["x-dead-letter-strategy"] = "at-least-once"
			q.arguments[amqp.QueueOverflowArg] = amqp.QueueOverflowRejectPublish // or the strategy is ignored
		}
	}
	// Classic, because nothing here rejects an event, and a quorum queue without a
	// dead-letter exchange would drop one at the delivery limit.
	events := amqp.Table{
		amqp.QueueTypeArg:       amqp.QueueTypeClassic,
		amqp.QueueMessageTTLArg: eventsKept.Milliseconds(), // nobody here reads them
	}
	return append(queues, parking, queue{t.Events(), events, t.Billing(), "#"})
}
