package replays

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

// neighbours is how many messages are in one operation with the one that meets its
// fate; theOne is that one's place.
const (
	neighbours = 20
	theOne     = neighbours / 2
)

// shop declares where the messages of these tests were published, each to a queue
// of its own.
func shop(t *testing.T, amqpURL string) {
	t.Helper()
	for exchange, keys := range map[string][]string{"orders": {placed, "gone"}, "brittle": {placed}, "closed": {placed}} {
		brokertest.Exchange(t, amqpURL, "direct", exchange)
		for _, key := range keys {
			q := queueOf(exchange, key)
			brokertest.Queue(t, amqpURL, brokertest.Quorum, q, nil)
			brokertest.Bind(t, amqpURL, q, key, exchange)
		}
	}
	brokertest.Queue(t, amqpURL, brokertest.Classic, "full", amqp.Table{"x-max-length": 1, "x-overflow": "reject-publish"})
	brokertest.Publish(t, amqpURL, "", "full", amqp.Publishing{Body: []byte("filler")})
	brokertest.WaitReady(t, amqpURL, "full", 1)
	brokertest.Bind(t, amqpURL, "full", "full", "orders")
}

func queueOf(exchange, key string) string { return exchange + "." + key }

// normal is where the neighbours were published.
var normal = parkade.Origin{Exchange: "orders", RoutingKey: placed, Queue: "orders.order.placed"} //nolint:gochecknoglobals // a constant

// died is a message that a consumer of origin's queue rejected and parked.
func died(id int, origin parkade.Origin) amqp.Publishing {
	return amqp.Publishing{
		MessageId: strconv.Itoa(id), DeliveryMode: amqp.Persistent, Body: fmt.Appendf(nil, "message %d", id),
		Headers: amqp.Table{"x-death": []any{amqp.Table{
			"queue": origin.Queue, "reason": parkade.Rejected, "count": int64(5), "time": time.Now(),
			"exchange": origin.Exchange, "routing-keys": []any{origin.RoutingKey},
		}}},
	}
}

// park publishes the neighbours, and the one among them, to a parking queue, and
// waits until they are here.
func (s stage) park(queue string, one amqp.Publishing) []message {
	s.t.Helper()
	all := make([]amqp.Publishing, neighbours+1)
	for i := range all {
		all[i] = died(i, normal)
	}
	all[theOne] = one
	brokertest.Publish(s.t, s.amqp, "", queue, all...)
	return s.parked(queue, len(all))
}

// arrivals takes all that is in the queues and counts it by stamp. It gives each
// queue a last message, so that nothing before that one can be missed.
func (s stage) arrivals(queues ...string) map[string]int {
	s.t.Helper()
	stamps := map[string]int{}
	for _, q := range queues {
		brokertest.Publish(s.t, s.amqp, "", q, amqp.Publishing{MessageId: "last"})
		ch := brokertest.Channel(s.t, s.amqp)
		deliveries, err := ch.Consume(q, "", true, false, false, false, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		for last := false; !last; {
			select {
			case d := <-deliveries:
				if last = d.MessageId == "last"; !last {
					stamp, _ := d.Headers[parkade.ReplayIDHeader].(string)
					stamps[stamp]++
				}
			case <-time.After(patience):
				s.t.Fatalf("%s doesn't give its last message", q)
			}
		}
		if err := ch.Close(); err != nil {
			s.t.Fatal(err)
		}
	}
	return stamps
}

// wantTrue checks an operation against what arrived, and each message against its
// outcome: what is confirmed arrived once, what is negative never did, nothing
// arrived that has no replay, and every message is still here.
func (s stage) wantTrue(op operation, all []message, arrived map[string]int) []record {
	s.t.Helper()
	records := s.records(op)
	counts := map[parkade.Outcome]int64{}
	known := map[string]bool{}
	for i, r := range records {
		counts[r.Outcome]++
		known[r.Stamp] = true
		n := arrived[r.Stamp]
		switch r.Outcome {
		case parkade.Confirmed:
			if n != 1 {
				s.t.Errorf("message %d is confirmed and arrived %d times", i, n)
			}
		case parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.NotSent:
			if n != 0 || r.Why == "" {
				s.t.Errorf("message %d is %s (%q) and arrived %d times", i, r.Outcome, r.Why, n)
			}
		case parkade.Unknown:
			if n > 1 || r.Why == "" {
				s.t.Errorf("message %d is unknown (%q) and arrived %d times", i, r.Why, n)
			}
		case parkade.Intent:
			s.t.Errorf("message %d is still on its way", i)
		}
		m := s.message(r.Message)
		if m.ID != all[i].ID || m.State != r.Outcome.Next() {
			s.t.Errorf("message %d is %s, and its replay %s", i, m.State, r.Outcome)
		}
		if body := s.body(m.ID); body != "message "+m.MessageID {
			s.t.Errorf("message %d holds %q", i, body)
		}
	}
	for o, n := range op.Counts {
		if counts[o] != n {
			s.t.Errorf("the operation counts %d %s, and it has %d", n, o, counts[o])
		}
	}
	for stamp, n := range arrived {
		if !known[stamp] {
			s.t.Errorf("%d arrived with the stamp %q, which no replay has", n, stamp)
		}
	}
	if len(records) != len(all) || op.Left != 0 {
		s.t.Errorf("the operation has %d replays of %d messages, and %d left", len(records), len(all), op.Left)
	}
	return records
}

// body reads what is stored of a message.
func (s stage) body(id string) string {
	s.t.Helper()
	r, err := http.Get(s.URL + "/api/v1/messages/" + id + "/body")
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		s.t.Fatalf("body of %s: status %d, %v", id, r.StatusCode, err)
	}
	return string(b)
}

// limited is a stage whose dashboard may not publish to the exchange closed.
func limited(t *testing.T, b brokertest.Broker) stage {
	t.Helper()
	vhost := brokertest.Vhost(t, b)
	may := brokertest.Permissions{Configure: "^$", Write: `^(amq\.default|orders|brittle)$`, Read: ".*"}
	return stage{t: t, admin: b, broker: brokertest.User(t, b, vhost, may, "management"), amqp: vhost}
}
