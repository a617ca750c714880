package replays

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

// RabbitMQ's own management writes and reads here, since the client library can't
// tell what is empty from what isn't there.
func TestAReplayKeepsWhatIsThereAndEmpty(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := prepare(t, b)
		brokertest.Queue(t, s.amqp, brokertest.Quorum, parking, amqp.Table{"x-delivery-limit": 1_000_000})
		brokertest.Queue(t, s.amqp, brokertest.Quorum, work, nil)
		s = s.open(parking)
		vhost := url.PathEscape(brokertest.VhostName(t, s.amqp))
		for _, properties := range []map[string]any{
			{"priority": 0, "delivery_mode": 2, "content_type": "text/plain"}, // as Spring sends each
			{"type": "", "app_id": "", "message_id": "", "correlation_id": "c", "delivery_mode": 2},
			{"delivery_mode": 2},
		} {
			if status := b.API(t, http.MethodPost, "exchanges/"+vhost+"/amq.default/publish", map[string]any{
				"properties": properties, "routing_key": parking, "payload": "x", "payload_encoding": "string",
			}, nil); status != http.StatusOK {
				t.Fatalf("publish: status %d", status)
			}
			m := s.parked(parking, 1)[0]
			s.replay(parkade.Target{To: parkade.ToQueue, Queue: work}, m)
			var got []struct {
				Properties map[string]any `json:"properties"`
			}
			brokertest.WaitReady(t, s.amqp, work, 1)
			if status := b.API(t, http.MethodPost, "queues/"+vhost+"/"+work+"/get", map[string]any{
				"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto",
			}, &got); status != http.StatusOK || len(got) != 1 {
				t.Fatalf("get: status %d, %d messages", status, len(got))
			}
			delete(got[0].Properties, "headers")
			for name, v := range properties {
				if n, ok := v.(int); ok {
					properties[name] = float64(n)
				}
			}
			if diff := cmp.Diff(properties, got[0].Properties); diff != "" {
				t.Errorf("a replay changes properties (-parked +replayed):\n%s", diff)
			}
		}
	})
}
