package e2e

import (
	"fmt"
	"net/http"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

const (
	work    = "orders.work"
	parking = "orders.parking"
)

// A scene is a vhost with a small shop in it, and a dashboard beside it. Orders are
// published to a topic exchange, handled from a work queue, and parked when they
// are rejected.
type scene struct {
	*dashtest.Dashboard

	amqp string
}

// stage sets a scene. The dashboard sees nothing but this vhost. Without any
// parking of the configuration it has to find the parking queue.
func stage(t *testing.T, config ...dashtest.Parking) scene {
	t.Helper()
	b := brokertest.Main(t)
	started(t) // before anything else is done for a browser that isn't there
	vhost := brokertest.Vhost(t, b)
	user := brokertest.User(t, b, vhost, brokertest.Everything(), "management")
	brokertest.Exchange(t, user.AMQP, "topic", "orders")
	brokertest.Exchange(t, user.AMQP, "fanout", "orders.dlx")
	brokertest.Queue(t, user.AMQP, brokertest.Quorum, work, amqp.Table{"x-dead-letter-exchange": "orders.dlx"})
	brokertest.Bind(t, user.AMQP, work, "order.#", "orders")
	brokertest.Queue(t, user.AMQP, brokertest.Quorum, parking, amqp.Table{"x-delivery-limit": 1_000_000})
	brokertest.Bind(t, user.AMQP, parking, "", "orders.dlx")
	return scene{amqp: user.AMQP, Dashboard: dashtest.New(t, dashtest.Config{Broker: user, AMQP: user.AMQP, Parking: config})}
}

// run starts the dashboard and waits until it answers.
func (s scene) run() {
	s.Run()
	s.Ready()
}

// fail publishes orders with a key, and has their consumer reject them: they die
// and are parked by the broker, with x-death.
func (s scene) fail(t *testing.T, key string, orders ...amqp.Publishing) {
	t.Helper()
	brokertest.Publish(t, s.amqp, "orders", key, orders...)
	s.failAgain(t, len(orders))
}

// failAgain has the consumer reject what lies in its queue already.
func (s scene) failAgain(t *testing.T, n int) {
	t.Helper()
	reject(t, s.amqp, work, n)
}

func reject(t *testing.T, amqpURL, queue string, n int) {
	t.Helper()
	ch := brokertest.Channel(t, amqpURL)
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		d := <-deliveries
		if err := d.Nack(false, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := ch.Close(); err != nil {
		t.Fatal(err)
	}
}

// parked waits until n messages are stored and wait for a decision.
func (s scene) parked(t *testing.T, n int) {
	t.Helper()
	s.Eventually(fmt.Sprintf("%d messages are parked", n), patience, func() bool {
		var list struct{ Items []struct{ ID string } }
		_, err := s.Try(http.MethodGet, "/messages?state=parked&limit=200", nil, &list)
		return err == nil && len(list.Items) == n
	})
}

// order is a message as the shop publishes it.
func order(id, body string) amqp.Publishing {
	return amqp.Publishing{
		MessageId: id, Type: "OrderPlaced", ContentType: "application/json", DeliveryMode: amqp.Persistent, AppId: "shop",
		CorrelationId: "cart-7731", Headers: amqp.Table{"tenant": "berlin", "x-try": int32(2)}, Body: []byte(body),
	}
}
