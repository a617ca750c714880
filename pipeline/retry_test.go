package pipeline_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

func TestPausesGrowAndTheFifthFailureParks(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{Topology: pipeline.Topology{Mode: pipeline.Graduated}})
		shop := brokertest.User(t, b, s.url, brokertest.Everything())
		poison := order(t, "poison", noEmail)
		poison.UserId, _, _ = strings.Cut(strings.TrimPrefix(shop.AMQP, "amqp://"), ":")
		began := time.Now()
		brokertest.Publish(t, shop.AMQP, s.Orders(), pipeline.OrderPlaced, poison)
		s.reaches(pipeline.Counts{Failed: 5, Parked: 1})
		if pauses := time.Since(began); pauses < 3*time.Second { // 0.2 + 0.4 + 0.8 + 1.6
			t.Errorf("parked after %v", pauses)
		}
		brokertest.WaitReady(t, s.url, s.Parking(), 1)
		parked := brokertest.Take(t, s.url, s.Parking(), 1)[0]
		for header, want := range map[string]any{
			"x-attempt": int64(5), "x-exception-type": "ValidationError", "x-original-user-id": poison.UserId,
			"x-original-exchange": s.Orders(), "x-original-routingKey": "order.placed",
		} {
			if got := parked.Headers[header]; got != want {
				t.Errorf("header %s is %v, want %v", header, got, want)
			}
		}
		transient, late := order(t, "transient", nil), order(t, "late", nil)
		transient.Headers = amqp.Table{pipeline.HeaderFailures: int64(2)}
		late.Headers = amqp.Table{"x-death": []any{amqp.Table{"queue": s.Work(), "count": int64(1), "reason": "delivery_limit"}}, pipeline.HeaderFailures: int64(6)}
		s.place(transient)
		s.reaches(pipeline.Counts{Failed: 7, Parked: 1, Invoiced: 1})
		s.place(late) // its death counts, and counts once
		s.reaches(pipeline.Counts{Failed: 11, Parked: 2, Invoiced: 1})
	})
}

func TestQueueItselfDelaysCountsAndParks(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		topology := pipeline.Topology{Mode: pipeline.Delayed}
		if !b.AtLeast(4, 3) {
			billing, err := pipeline.NewBilling(pipeline.Options{AMQP: brokertest.Vhost(t, b), Database: databaseFile(t), Topology: topology}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if err := billing.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "needs RabbitMQ 4.3") {
				t.Errorf("on an older broker: %v", err)
			}
			return
		}
		s := start(t, b, pipeline.Options{Topology: topology})
		transient := order(t, "transient", nil)
		transient.Headers = amqp.Table{pipeline.HeaderFailures: int64(4)}
		began := time.Now()
		s.place(order(t, "poison", noEmail), transient, order(t, "", nil))
		s.reaches(pipeline.Counts{Failed: 9, Invoiced: 1, Parked: 1}) // the queue's own parking isn't counted
		if pauses := time.Since(began); pauses < 2*time.Second {      // 0.2 + 0.4 + 0.6 + 0.8
			t.Errorf("over after %v", pauses)
		}
		brokertest.WaitReady(t, s.url, s.Parking(), 2)
		for _, d := range brokertest.Take(t, s.url, s.Parking(), 2) {
			if d.MessageId == "poison" && d.Headers["x-first-death-reason"] != "delivery_limit" {
				t.Errorf("it was parked with %v", d.Headers)
			}
		}
		brokertest.WaitReady(t, s.url, s.Work(), 0)
	})
}
