package replays

import (
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// worker is a consumer that works by the rules of the reference pipeline, on
// whatever topology: it rejects what fails, and parks what died often enough in its
// queue. It tells each step.
type worker struct {
	t              *testing.T
	ch             *amqp.Channel
	queue, parking string
	fixed          chan struct{} // closed: nothing fails any more
	steps          chan step
}

// step is what became of one delivery: failed, parked or handled.
type step struct{ What, Exchange, Key string }

// mostDeaths is how often a worker lets a message fail.
const mostDeaths = 2

func startWorker(t *testing.T, ch *amqp.Channel, queue, parking string) *worker {
	t.Helper()
	if err := ch.Qos(1, 0, false); err != nil {
		t.Fatal(err)
	}
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{t, ch, queue, parking, make(chan struct{}), make(chan step, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for d := range deliveries {
			what, err := w.take(d)
			if err != nil {
				t.Errorf("the worker ends: %v", err)
				return
			}
			if strings.HasPrefix(d.Exchange, parkade.PrivateExchange) { // each operation has its own
				d.Exchange = parkade.PrivateExchange
			}
			w.steps <- step{what, d.Exchange, d.RoutingKey}
		}
	}()
	t.Cleanup(func() { _ = ch.Close(); <-done })
	return w
}

func (w *worker) take(d amqp.Delivery) (string, error) {
	select {
	case <-w.fixed:
		return "handled", d.Ack(false)
	default:
	}
	if deaths(d, w.queue) < mostDeaths {
		return "failed", d.Reject(false)
	}
	err := w.ch.Publish("", w.parking, true, false, amqp.Publishing{
		Headers: d.Headers, MessageId: d.MessageId, DeliveryMode: amqp.Persistent, Body: d.Body,
	})
	if err != nil {
		return "", err
	}
	return "parked", d.Ack(false)
}

func deaths(d amqp.Delivery, queue string) (n int64) {
	entries, _ := d.Headers["x-death"].([]any)
	for _, e := range entries {
		if death, ok := e.(amqp.Table); ok && death["queue"] == queue {
			count, _ := death["count"].(int64)
			n += count
		}
	}
	return n
}

// takes waits for exactly these steps, in this order.
func (w *worker) takes(want ...step) {
	w.t.Helper()
	for i, want := range want {
		select {
		case got := <-w.steps:
			if got != want {
				w.t.Errorf("step %d is %+v, want %+v", i+1, got, want)
			}
		case <-time.After(20 * time.Second):
			w.t.Fatalf("step %d never comes, want %+v", i+1, want)
		}
	}
}
