package replays

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

// TestWhatAFrameworkWrappedGoesBackUnwrapped : the message in it, with its own
// properties, to where it came from; and the wrapper itself where a person says so.
func TestWhatAFrameworkWrappedGoesBackUnwrapped(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		queue, exchange string // that the wrapper is published to, and parked in
		wrapper         string
		body            string
		want            amqp.Delivery
	}{
		"easynetq": {
			queue: "EasyNetQ_Default_Error_Queue", exchange: "ErrorExchange_" + placed, body: `{"order":9007199254740993}`,
			wrapper: `{"RoutingKey":"` + placed + `","Exchange":"orders","Queue":"` + work + `","Exception":"no rate","Message":"{\"order\":9007199254740993}",` +
				`"DateTime":"2026-08-09T14:23:08Z","BasicProperties":{"MessageId":"m-1","Type":"t","Headers":{"tenant":"a"}}}`,
			want: amqp.Delivery{Exchange: "orders", RoutingKey: placed, MessageId: "m-1", Type: "t", Headers: amqp.Table{"tenant": "a"}},
		},
		"sneakers": {
			queue: work + "-error", exchange: work + "-error", body: "\x00\xff any bytes, and enough of them to fill more than one line of base64",
			want: amqp.Delivery{RoutingKey: work, Headers: amqp.Table{}},
		},
	}
	sneakers := tests["sneakers"]
	encoded := base64.StdEncoding.EncodeToString([]byte(sneakers.body))
	sneakers.wrapper = fmt.Sprintf(`{"error":"reject","num_attempts":6,"failed_at":"2026-08-09T14:23:08+02:00","payload":"%s\n%s\n"}`, encoded[:60], encoded[60:])
	tests["sneakers"] = sneakers
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := prepare(t, b)
				brokertest.Exchange(t, s.amqp, "direct", "orders")
				brokertest.Exchange(t, s.amqp, "topic", tt.exchange)
				for _, q := range []string{work, tt.queue} {
					brokertest.Queue(t, s.amqp, brokertest.Quorum, q, amqp.Table{"x-delivery-limit": 1_000_000})
				}
				brokertest.Bind(t, s.amqp, work, placed, "orders")
				brokertest.Bind(t, s.amqp, tt.queue, "#", tt.exchange)
				s = s.open(tt.queue)
				brokertest.Publish(t, s.amqp, tt.exchange, placed, amqp.Publishing{Body: []byte(tt.wrapper)})
				m := s.parked(tt.queue, 1)[0]
				var shown struct {
					Wrapper string `json:"wrapper"`
					Sends   int64  `json:"sends"`
				}
				if s.Get("/messages/"+m.ID, &shown); shown.Wrapper != name || shown.Sends != parkade.Unwrapped {
					t.Errorf("it is shown as %+v", shown)
				}
				if op := s.replay(parkade.Target{To: parkade.ToAuto}, m); op.Counts[parkade.Confirmed] != 1 {
					t.Fatalf("the replay ended with %v", op.Counts)
				}
				deliveries, err := brokertest.Channel(t, s.amqp).Consume(work, "", true, false, false, false, nil)
				if err != nil {
					t.Fatal(err)
				}
				d := next(t, deliveries)
				if string(d.Body) != tt.body || d.Exchange != tt.want.Exchange || d.RoutingKey != tt.want.RoutingKey ||
					d.MessageId != tt.want.MessageId || d.Type != tt.want.Type || d.Headers["tenant"] != tt.want.Headers["tenant"] {
					t.Errorf("what arrives is %q to %q with the key %q, and %+v", d.Body, d.Exchange, d.RoutingKey, d.Headers)
				}
				op := s.finish(s.begin(order(parkade.Target{To: parkade.ToQueue, Queue: work}, map[string]any{
					"seen": 1, "version": parkade.Arrived, "include": []parkade.State{parkade.Replayed},
				}, m)))
				if d := next(t, deliveries); op.Counts[parkade.Confirmed] != 1 || string(d.Body) != tt.wrapper {
					t.Errorf("the wrapper arrives as %q, %v", d.Body, op.Counts)
				}
			})
		}
	})
}

func next(t *testing.T, deliveries <-chan amqp.Delivery) amqp.Delivery {
	t.Helper()
	select {
	case d := <-deliveries:
		return d
	case <-time.After(patience):
		t.Fatal("nothing arrives")
	}
	return amqp.Delivery{}
}
