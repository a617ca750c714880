package broker_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

func TestATopologyIsReadFromArgumentsAndPolicies(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		policy(t, b, url, "retry", `^orders\.work$`, "queues", map[string]any{"dead-letter-exchange": "orders.retry", "dead-letter-routing-key": "again"})
		policy(t, b, url, "wait", `^orders\.wait$`, "queues", map[string]any{"dead-letter-exchange": "orders", "message-ttl": 30000})
		policy(t, b, url, "alternate", `^orders$`, "exchanges", map[string]any{"alternate-exchange": "unrouted"})
		brokertest.Exchange(t, url, "direct", "orders")
		brokertest.Exchange(t, url, "fanout", "orders.retry")
		brokertest.Exchange(t, url, "fanout", "unrouted")
		brokertest.Queue(t, url, brokertest.Quorum, "orders.work", nil)
		brokertest.Queue(t, url, brokertest.Quorum, "orders.wait", nil)
		brokertest.Queue(t, url, brokertest.Classic, "full", amqp.Table{"x-max-length": 5, "x-overflow": "reject-publish", "x-max-priority": 3, "x-dead-letter-exchange": ""})
		brokertest.Bind(t, url, "orders.work", "order.placed", "orders")
		brokertest.Bind(t, url, "orders.wait", "", "orders.retry")
		ch := brokertest.Channel(t, url)
		if err := ch.ExchangeDeclare("internal", "headers", true, false, true, false, amqp.Table{"alternate-exchange": "orders"}); err != nil {
			t.Fatal(err)
		}
		if err := ch.ExchangeBind("orders", "", "internal", false, amqp.Table{"x-match": "any", "n": 5, "ok": true}); err != nil {
			t.Fatal(err)
		}
		want := parkade.Topology{
			Exchanges: map[string]parkade.Exchange{
				"orders":       {Type: "direct", Alternate: "unrouted"},
				"orders.retry": {Type: "fanout"},
				"unrouted":     {Type: "fanout"},
				"internal":     {Type: "headers", Alternate: "orders", Internal: true},
			},
			Queues: map[string]parkade.QueueInfo{
				"orders.work": {Type: "quorum", DeadLetters: true, DeadLetterExchange: "orders.retry", DeadLetterKey: "again"},
				"orders.wait": {Type: "quorum", DeadLetters: true, DeadLetterExchange: "orders", MessageTTL: true},
				"full":        {Type: "classic", DeadLetters: true, RejectPublish: true, MaxPriority: true},
			},
			Bindings: []parkade.Binding{
				{Source: "internal", Destination: "orders", ToExchange: true, Headers: parkade.NewTable(
					parkade.Field{Name: "n", Value: int64(5)}, parkade.Field{Name: "ok", Value: true}, parkade.Field{Name: "x-match", Value: "any"})},
				{Source: "orders", Destination: "orders.work", Key: "order.placed"},
				{Source: "orders.retry", Destination: "orders.wait"},
			},
		}
		br := open(t, b)
		ignore := cmp.Options{
			cmpopts.EquateEmpty(),
			cmpopts.SortSlices(func(a, b parkade.Binding) bool { return a.Source < b.Source }),
			cmpopts.IgnoreMapEntries(func(name string, _ parkade.Exchange) bool { return len(name) > 4 && name[:4] == "amq." }),
		}
		var got parkade.Topology
		brokertest.Eventually(t, "all figures", func() bool {
			var err error
			if got, err = br.Topology(t.Context(), brokertest.VhostName(t, url)); err != nil {
				t.Fatal(err)
			}
			for _, q := range got.Queues {
				if q.Ready < 0 || q.Consumers < 0 {
					return false
				}
			}
			return true
		})
		if diff := cmp.Diff(want, got, ignore); diff != "" {
			t.Error(diff)
		}
		reader := brokertest.User(t, b, url, brokertest.Permissions{Configure: "^$", Write: "^$", Read: ".*"}, "management")
		less, err := open(t, reader).Topology(t.Context(), brokertest.VhostName(t, url))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got.Queues, less.Queues); diff != "" || len(less.Bindings) != 3 {
			t.Errorf("without policymaker: %d bindings, %s", len(less.Bindings), diff)
		}
	})
}
