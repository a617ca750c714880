package bench

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

// The drain stores each message durably before its ack; it is measured against the
// same client that consumes and acknowledges and stores nothing.
func TestDrainBudget(t *testing.T) {
	messages := scaled(t, 100_000)
	for _, kind := range []string{"quorum", "classic"} {
		t.Run(kind, func(t *testing.T) {
			b := brokertest.Main(t)
			amqpURL := brokertest.Vhost(t, b)
			queue := parking(t, amqpURL, kind)
			d := dashtest.Start(t, dashtest.Config{Broker: b, AMQP: amqpURL, Parking: []dashtest.Parking{{Queue: queue}}})
			source := map[string]any{"broker": "main", "vhost": brokertest.VhostName(t, amqpURL), "queue": queue}
			var ratios []float64
			var stored int
			for range pairs {
				fill(t, amqpURL, queue, messages, 1024)
				raw := consume(t, amqpURL, queue, messages)
				fill(t, amqpURL, queue, messages, 1024)
				stored += messages
				began := time.Now()
				d.Post("/drains/start", source, nil)
				d.Eventually("everything is stored", 3*time.Minute, func() bool { return drained(d) == int64(stored) })
				ours := time.Since(began)
				d.Post("/drains/stop", source, nil)
				ratios = append(ratios, raw.Seconds()/ours.Seconds())
				t.Logf("raw %.0f/s, drain %.0f/s, ratio %.2f", rate(messages, raw), rate(messages, ours), ratios[len(ratios)-1])
			}
			atLeast(t, "drain against a client that stores nothing", ratios, 0.6)
		})
	}
}

// parking declares the queue that is drained. Without a high delivery limit, the
// safety check of a quorum queue would ask first.
func parking(t *testing.T, amqpURL, kind string) string {
	t.Helper()
	var args amqp.Table
	if kind == brokertest.Quorum {
		args = amqp.Table{"x-delivery-limit": 1_000_000}
	}
	return brokertest.Queue(t, amqpURL, kind, "bench.parking", args)
}

// drained is how many messages the dashboard has stored since its start.
func drained(d *dashtest.Dashboard) int64 {
	var drains struct {
		Items []struct{ Drained int64 }
	}
	d.Get("/drains", &drains)
	var n int64
	for _, one := range drains.Items {
		n += one.Drained
	}
	return n
}
