package pipeline

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// DefaultRetryDelay is how long a failed order of the shop waits.
const DefaultRetryDelay = 10 * time.Second

// ShopTopology is the exchanges and queues of the shop. The zero value has the
// names of docs/pipeline.md. Billing has an exchange of the same name and another
// type, so one of the two needs a prefix or a vhost of its own.
type ShopTopology struct {
	Prefix string        // put before each name
	Delay  time.Duration // before the next attempt; 0 means DefaultRetryDelay
}

// Orders is the topic exchange that orders are published to.
func (t ShopTopology) Orders() string { return t.Prefix + "orders" }

// Main is the queue that the consumer reads.
func (t ShopTopology) Main() string { return t.Prefix + "orders.main" }

// Retry is the queue where failed orders wait. It never has a consumer.
func (t ShopTopology) Retry() string { return t.Prefix + "orders.retry" }

// Dead is the fanout exchange that hopeless orders leave Main by.
func (t ShopTopology) Dead() string { return t.Prefix + "orders.dead" }

// DeadLetters is the queue where orders lie that nobody could handle.
func (t ShopTopology) DeadLetters() string { return t.Prefix + "orders.dead-letters" }

// Declare makes the topology, or finds that it is there.
func (t ShopTopology) Declare(conn *amqp.Connection) error {
	return declare(conn, "the shop's topology exists with other settings: use those, another prefix, or delete what differs",
		[]exchange{{t.Orders(), amqp.ExchangeTopic}, {t.Dead(), amqp.ExchangeFanout}}, t.queues())
}

func (t ShopTopology) queues() []queue {
	delay := t.Delay
	if delay == 0 {
		delay = DefaultRetryDelay
	}
	return []queue{
		{t.Main(), atLeastOnce(amqp.Table{
			"x-dead-letter-exchange": t.Dead(), // also for an order that takes its consumer down at each delivery
		}), t.Orders(), "order.*"},
		{t.Retry(), atLeastOnce(amqp.Table{
			amqp.QueueMessageTTLArg:     delay.Milliseconds(), // on the queue: with one TTL for all, the oldest is always first to leave
			"x-dead-letter-exchange":    "",                   // the default exchange leads straight back: no binding can be missing, and no other queue gets a copy
			"x-dead-letter-routing-key": t.Main(),
		}), "", ""}, // bound to nothing: copies get here by its name
		{t.DeadLetters(), amqp.Table{
			amqp.QueueTypeArg:  amqp.QueueTypeQuorum,
			"x-delivery-limit": parkingDeliveryLimit, // no TTL and no length limit: only a person empties it
		}, t.Dead(), ""},
	}
}

// atLeastOnce adds what has a quorum queue hold on to a dead letter until its next
// queue has it: somebody was told that the order is taken.
func atLeastOnce(arguments amqp.Table) amqp.Table {
	arguments[amqp.QueueTypeArg] = amqp.QueueTypeQuorum
	arguments["x-dead-letter-strategy"] = "at-least-once"
	arguments[amqp.QueueOverflowArg] = amqp.QueueOverflowRejectPublish // or the strategy is ignored
	return arguments
}
