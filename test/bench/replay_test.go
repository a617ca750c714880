package bench

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

// A replay records each outcome durably; it is measured against the shovel plugin,
// queue to queue, on-confirm.
func TestReplayBudget(t *testing.T) {
	messages := scaled(t, 40_000)
	b := brokertest.Main(t)
	amqpURL := brokertest.Vhost(t, b)
	vhost := brokertest.VhostName(t, amqpURL)
	parking := parking(t, amqpURL, brokertest.Quorum)
	from := brokertest.Queue(t, amqpURL, "quorum", "bench.from", nil)
	to := brokertest.Queue(t, amqpURL, "quorum", "bench.to", nil)
	d := dashtest.Start(t, dashtest.Config{Broker: b, AMQP: amqpURL, Parking: []dashtest.Parking{{Queue: parking, Auto: true}}})
	var ratios []float64
	var stored int
	for pair := range pairs {
		publish(t, amqpURL, parking, messages, 1024)
		stored += messages
		d.Eventually("everything is stored", 3*time.Minute, func() bool { return drained(d) == int64(stored) })
		fill(t, amqpURL, from, messages, 1024)
		shovel := shovel(t, b, amqpURL, from, to, messages)
		consume(t, amqpURL, to, messages)

		began := time.Now()
		var op struct{ ID string }
		d.Post("/operations", map[string]any{
			"verb": "replay", "select": map[string]any{"filter": map[string]string{"queue": parking, "vhost": vhost, "state": "parked"}},
			"target": map[string]string{"to": "queue", "queue": to}, "reason": fmt.Sprintf("pair %d", pair+1),
		}, &op)
		var at struct {
			State  string
			Counts map[string]int64
		}
		d.Eventually("the operation finishes", 3*time.Minute, func() bool { d.Get("/operations/"+op.ID, &at); return at.State == "finished" })
		ours := time.Since(began)
		if at.Counts["confirmed"] != int64(messages) {
			t.Fatalf("outcomes are %v, want %d confirmed", at.Counts, messages)
		}
		consume(t, amqpURL, to, messages)
		ratios = append(ratios, shovel.Seconds()/ours.Seconds())
		t.Logf("shovel %.0f/s, replay %.0f/s, ratio %.2f", rate(messages, shovel), rate(messages, ours), ratios[len(ratios)-1])
	}
	atLeast(t, "replay against the shovel plugin", ratios, 1.0)
}

func shovel(t *testing.T, b brokertest.Broker, amqpURL, from, to string, n int) time.Duration {
	t.Helper()
	vhost := url.PathEscape(brokertest.VhostName(t, amqpURL))
	uri := "amqp:///" + vhost
	began := time.Now()
	status := b.API(t, "PUT", "parameters/shovel/"+vhost+"/bench", map[string]any{"value": map[string]any{
		"src-protocol": "amqp091", "src-uri": uri, "src-queue": from, "src-prefetch-count": 1000, "src-delete-after": "never",
		"dest-protocol": "amqp091", "dest-uri": uri, "dest-queue": to, "ack-mode": "on-confirm",
	}}, nil)
	if status/100 != 2 {
		t.Fatalf("RabbitMQ refuses the shovel with status %d", status)
	}
	ch := brokertest.Channel(t, amqpURL)
	for {
		q, err := ch.QueueDeclarePassive(to, true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
		if err != nil {
			t.Fatal(err)
		}
		if q.Messages >= n {
			took := time.Since(began)
			ch.Close()
			b.API(t, "DELETE", "parameters/shovel/"+vhost+"/bench", nil, nil)
			return took
		}
		if time.Since(began) > 2*3*time.Minute {
			t.Fatalf("the shovel moved %d of %d messages", q.Messages, n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
