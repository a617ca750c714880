package broker_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"parkade"
	"parkade/broker/brokertest"
)

// empty are properties of which each is there and empty.
func empty() parkade.Properties {
	return parkade.Properties{
		ContentType: new(""), ContentEncoding: new(""), DeliveryMode: new(uint8(1)), Priority: new(uint8(0)),
		CorrelationID: new(""), ReplyTo: new(""), MessageID: new(""), Type: new(""), AppID: new(""),
		Timestamp: new(parkade.Timestamp(-62135596800)), // Go's zero time
	}
}

func TestWhatIsThereAndEmptyArrivesSo(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		queue := brokertest.Queue(t, url, brokertest.Quorum, "orders", nil)
		br := open(t, b)
		p, in := publisher(t, br, url), intake(t, br, url, queue, 1)
		for n, d := range []parkade.Draft{
			{Content: parkade.Content{Properties: empty()}, Body: []byte(strings.Repeat("body", 1<<18))},
			{Content: parkade.Content{Properties: parkade.Properties{Type: new("t"), Priority: new(uint8(0))}}},
			{Content: parkade.Content{Properties: empty(), Headers: parkade.NewTable(parkade.Field{Name: "h", Value: strings.Repeat("long", 10_000)})}},
			{}, // nothing is left from the message before
		} {
			d.RoutingKey = queue
			if diff := cmp.Diff(parkade.Delivery{Content: d.Content, Body: d.Body}, there(t, p, in, n, d), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("message %d (-want +got):\n%s", n, diff)
			}
		}
	})
}

func TestAnySetOfPropertiesSurvivesABroker(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	queue := brokertest.Queue(t, url, brokertest.Classic, "orders", nil)
	br := open(t, b)
	p, in := publisher(t, br, url), intake(t, br, url, queue, 1)
	text := rapid.Ptr(rapid.StringN(0, 60, 255), true)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		d := parkade.Draft{Content: parkade.Content{RoutingKey: queue, Properties: parkade.Properties{
			ContentType: text.Draw(t, "content type"), ContentEncoding: text.Draw(t, "content encoding"),
			DeliveryMode: rapid.Ptr(rapid.Uint8Range(1, 2), true).Draw(t, "delivery mode"), Priority: rapid.Ptr(rapid.Uint8(), true).Draw(t, "priority"),
			CorrelationID: text.Draw(t, "correlation id"), ReplyTo: text.Draw(t, "reply to"), MessageID: text.Draw(t, "message id"),
			Type: text.Draw(t, "type"), AppID: text.Draw(t, "app id"),
		}}}
		if diff := cmp.Diff(parkade.Delivery{Content: d.Content}, there(t, p, in, n, d), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What others wrote and read agrees: here RabbitMQ's own management does.
func TestWhatIsThereAndEmptyIsSoForOthers(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		amqpURL := brokertest.Vhost(t, b)
		queue := brokertest.Queue(t, amqpURL, brokertest.Quorum, "orders", nil)
		vhost := url.PathEscape(brokertest.VhostName(t, amqpURL))
		br := open(t, b)
		p, in := publisher(t, br, amqpURL), intake(t, br, amqpURL, queue, 1)
		if status := b.API(t, http.MethodPost, "exchanges/"+vhost+"/amq.default/publish", map[string]any{
			"properties": map[string]any{"priority": 0, "type": "", "app_id": "a"}, "routing_key": queue, "payload": "x", "payload_encoding": "string",
		}, nil); status != http.StatusOK {
			t.Fatalf("publish: status %d", status)
		}
		batch, err := in.Collect(t.Context(), "s1-1", cycle(1))
		if err != nil || len(batch) != 1 {
			t.Fatalf("%d messages, %v", len(batch), err)
		}
		got := batch[0].Properties
		if diff := cmp.Diff(parkade.Properties{Priority: new(uint8(0)), Type: new(""), AppID: new("a")}, got, cmpopts.IgnoreFields(parkade.Properties{}, "DeliveryMode")); diff != "" {
			t.Error(diff)
		}
		if err := in.Ack(); err != nil {
			t.Fatal(err)
		}
		wantResult(t, one(t, p, parkade.Draft{Content: parkade.Content{RoutingKey: queue, Properties: got}, Body: []byte("x")}), parkade.Confirmed, "")
		var read []struct {
			Properties map[string]any `json:"properties"`
		}
		if status := b.API(t, http.MethodPost, "queues/"+vhost+"/"+queue+"/get", map[string]any{"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"}, &read); status != http.StatusOK || len(read) != 1 {
			t.Fatalf("get: status %d, %d messages", status, len(read))
		}
		delete(read[0].Properties, "headers")
		delete(read[0].Properties, "delivery_mode")
		if diff := cmp.Diff(map[string]any{"priority": 0.0, "type": "", "app_id": "a"}, read[0].Properties); diff != "" {
			t.Error(diff)
		}
	})
}
