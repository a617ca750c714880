package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

func TestParkedAtOnceWithAllThatItHad(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{})
		shop := brokertest.User(t, b, s.url, brokertest.Everything())
		login, _, _ := strings.Cut(strings.TrimPrefix(shop.AMQP, "amqp://"), ":")
		elsewhere := brokertest.Queue(t, s.url, brokertest.Quorum, "elsewhere", nil)
		headers := amqp.Table{
			"tenant": "north", "big": int64(9007199254740993), "price": float64(1.5), "raw": []byte{0, 255}, "nothing": nil,
			"list": []any{int32(1), amqp.Table{"at": time.Unix(1_700_000_000, 0)}}, "CC": []any{elsewhere},
		}
		msg := amqp.Publishing{
			Headers: headers, ContentType: "application/json", ContentEncoding: "utf-8", DeliveryMode: amqp.Transient, Priority: 3,
			CorrelationId: "c-1", ReplyTo: "answers", Expiration: "60000", MessageId: "m-1", Timestamp: time.Unix(1_700_000_000, 0),
			Type: "order.placed", UserId: login, AppId: "shop", Body: []byte("{\x00\xff not JSON"),
		}
		brokertest.Publish(t, shop.AMQP, s.Orders(), pipeline.OrderPlaced, msg)
		brokertest.WaitReady(t, s.url, s.Parking(), 1)
		parked := brokertest.Take(t, s.url, s.Parking(), 1)[0]

		want := amqp.Delivery{
			Headers: amqp.Table{
				"tenant": "north", "big": int64(9007199254740993), "price": float64(1.5), "raw": []byte{0, 255}, "nothing": nil,
				"list":             []any{int32(1), amqp.Table{"at": time.Unix(1_700_000_000, 0)}},
				"x-exception-type": "MalformedBody", "x-exception-message": "invalid character '\\x00' looking for beginning of object key string",
				"x-original-exchange": s.Orders(), "x-original-routingKey": "order.placed",
				"x-original-cc": []any{elsewhere}, "x-original-user-id": login, "x-original-expiration": "60000",
			},
			ContentType: "application/json", ContentEncoding: "utf-8", DeliveryMode: amqp.Persistent, Priority: 3,
			CorrelationId: "c-1", ReplyTo: "answers", MessageId: "m-1", Timestamp: time.Unix(1_700_000_000, 0),
			Type: "order.placed", AppId: "shop", RoutingKey: s.Parking(), Body: []byte("{\x00\xff not JSON"),
		}
		transport := cmpopts.IgnoreFields(amqp.Delivery{}, "Acknowledger", "ConsumerTag", "DeliveryTag", "Redelivered")
		if diff := cmp.Diff(want, parked, transport); diff != "" {
			t.Errorf("the parked copy differs (-want +got):\n%s", diff)
		}
		s.reaches(pipeline.Counts{Parked: 1})
		brokertest.WaitReady(t, s.url, elsewhere, 0)
		brokertest.WaitReady(t, s.url, s.WaitQueue(), 0)
	})
}

func TestOrderWithoutMessageIDIsParkedUnhandled(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{})
		msg := order(t, "", nil)
		s.place(msg)
		s.reaches(pipeline.Counts{Parked: 1})
		brokertest.WaitReady(t, s.url, s.Parking(), 1)
		parked := brokertest.Take(t, s.url, s.Parking(), 1)[0]
		if parked.Headers["x-exception-type"] != "MissingMessageID" || string(parked.Body) != string(msg.Body) || parked.MessageId != "" {
			t.Errorf("parked with id %q, headers %v and body %s", parked.MessageId, parked.Headers, parked.Body)
		}
		brokertest.WaitReady(t, s.url, s.Events(), 0)
	})
}

func TestOrderStaysUntilTheParkingQueueIsThere(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{})
		s.place(order(t, "before", nil))
		s.reaches(pipeline.Counts{Invoiced: 1})
		if _, err := brokertest.Channel(t, s.url).QueueDelete(s.Parking(), false, false, false); err != nil {
			t.Fatal(err)
		}
		s.place(order(t, "", nil)) // returned as unroutable, so the next session declares the queue again
		s.reaches(pipeline.Counts{Invoiced: 1, Parked: 1})
		brokertest.WaitReady(t, s.url, s.Parking(), 1)
	})
}
