package parkade_test

import (
	"strings"
	"testing"

	"parkade"
)

// spring is the pair of headers that names an exchange and a key.
func spring(exchange, key any) parkade.Table {
	return headers("x-original-exchange", exchange).With("x-original-routingKey", key)
}

func TestHeadersNameTheOriginOfWhatItsConsumerParked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	queue := func(name string) parkade.Origin { return parkade.Origin{RoutingKey: name, Queue: name} }
	for _, c := range []struct {
		when    string
		headers parkade.Table
		want    parkade.Origin
		from    string
	}{
		{"nothing tells", nil, parkade.Origin{}, ""},
		{"an exchange and a key", spring("orders", "order.placed"), parkade.Origin{Exchange: "orders", RoutingKey: "order.placed"}, "x-original-exchange"},
		{"an exchange and an empty key", spring("orders", ""), parkade.Origin{Exchange: "orders"}, "x-original-exchange"},
		{"the default exchange", spring("", "orders.work"), queue("orders.work"), "x-original-routingKey"},
		{"the default exchange without a key", spring("", ""), parkade.Origin{}, ""},
		{"an exchange alone", headers("x-original-exchange", "orders"), parkade.Origin{}, ""},
		{"a key alone", headers("x-original-routingKey", "order.placed"), parkade.Origin{}, ""},
		{"an exchange that is a number", spring(int32(7), "k"), parkade.Origin{}, ""},
		{"an exchange that can't be one", spring(long, "k"), parkade.Origin{}, ""},
		{"an exchange of ours", spring(parkade.PrivateExchange+".7", "k"), parkade.Origin{}, ""},
		{"NServiceBus", headers("NServiceBus.FailedQ", "Sales"), queue("Sales"), "NServiceBus.FailedQ"},
		{"Rebus", headers("rbs2-source-queue", "billing"), queue("billing"), "rbs2-source-queue"},
		{"a queue that can't be one", headers("rbs2-source-queue", long), parkade.Origin{}, ""},
		{"MassTransit", headers("MT-Fault-InputAddress", "rabbitmq://host:5671/v%2Fhost/submit-order?durable=true"), queue("submit-order"), "MT-Fault-InputAddress"},
		{"MassTransit, escaped", headers("MT-Fault-InputAddress", "rabbitmq://host/a%2Fb%20c"), queue("a/b c"), "MT-Fault-InputAddress"},
		{"MassTransit, short", headers("MT-Fault-InputAddress", "queue:submit-order"), queue("submit-order"), "MT-Fault-InputAddress"},
		{"MassTransit without a queue", headers("MT-Fault-InputAddress", "rabbitmq://host/"), parkade.Origin{}, ""},
		{"an address elsewhere", headers("MT-Fault-InputAddress", "sb://host/submit-order"), parkade.Origin{}, ""},
		{"no address", headers("MT-Fault-InputAddress", "%zz"), parkade.Origin{}, ""},
		{"both a pair and a queue", spring("orders", "k").With("rbs2-source-queue", "billing"), parkade.Origin{Exchange: "orders", RoutingKey: "k"}, "x-original-exchange"},
	} {
		o, from, ok := parkade.HintOf(c.headers)
		if o != c.want || from != c.from || ok != (c.from != "") {
			t.Errorf("%s: %+v from %q, %v", c.when, o, from, ok)
		}
	}
}

func TestWhatTheOriginRestsOnIsSaid(t *testing.T) {
	t.Parallel()
	at := parkade.Origin{Exchange: "orders", RoutingKey: "k", Queue: "work"}
	dead := headers("x-death", parkade.List{died("work", parkade.Rejected, 1, "orders", "k")})
	for _, c := range []struct {
		when    string
		origin  *parkade.Origin
		headers parkade.Table
		want    string
	}{
		{"nothing", nil, spring("orders", "k"), ""},
		{"a death", &at, dead.With("x-original-exchange", "lie").With("x-original-routingKey", "k"), "x-death"},
		{"headers", &parkade.Origin{Exchange: "orders", RoutingKey: "k"}, spring("orders", "k"), "x-original-exchange"},
		{"an earlier round, and not its deaths", &parkade.Origin{Exchange: "first", Queue: "work"}, dead, ""},
		{"an earlier round, and not its headers", &at, spring("", "work"), ""},
	} {
		if got := parkade.OriginFrom(parkade.Message{Origin: c.origin}, c.headers); got != c.want {
			t.Errorf("%s: %q", c.when, got)
		}
	}
}
