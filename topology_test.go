package parkade_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parkade"
)

// billing is a direct exchange, a work queue that dead-letters to a wait queue,
// which dead-letters back with the message's own key.
func billing() parkade.Topology {
	return parkade.Topology{
		Exchanges: map[string]parkade.Exchange{
			"orders": {Type: "direct"}, "orders.retry": {Type: "fanout"}, "billing": {Type: "topic"},
		},
		Queues: map[string]parkade.QueueInfo{
			"orders.work":    {Type: "quorum", DeadLetters: true, DeadLetterExchange: "orders.retry"},
			"orders.wait":    {Type: "quorum", DeadLetters: true, DeadLetterExchange: "orders", MessageTTL: true},
			"orders.parking": {Type: "quorum"},
			"billing.events": {Type: "quorum"},
		},
		Bindings: []parkade.Binding{
			{Source: "orders", Destination: "orders.work", Key: "order.placed"},
			{Source: "orders.retry", Destination: "orders.wait"},
			{Source: "billing", Destination: "billing.events", Key: "#"},
		},
	}
}

// shop is a topic exchange, a main queue that rejects to a dead-letter queue, and
// a retry queue that dead-letters through the default exchange into the main one.
func shop() parkade.Topology {
	return parkade.Topology{
		Exchanges: map[string]parkade.Exchange{"shop": {Type: "topic"}, "shop.dead": {Type: "fanout"}},
		Queues: map[string]parkade.QueueInfo{
			"shop.main":  {Type: "quorum", DeadLetters: true, DeadLetterExchange: "shop.dead"},
			"shop.retry": {Type: "quorum", DeadLetters: true, DeadLetterKey: "shop.main", MessageTTL: true},
			"shop.dlq":   {Type: "quorum"},
		},
		Bindings: []parkade.Binding{
			{Source: "shop", Destination: "shop.main", Key: "order.*"},
			{Source: "shop.dead", Destination: "shop.dlq"},
		},
	}
}

func TestRoutesFollowTheExchangeTypes(t *testing.T) {
	t.Parallel()
	topo := parkade.Topology{
		Exchanges: map[string]parkade.Exchange{
			"direct": {Type: "direct", Alternate: "fallback"}, "fallback": {Type: "fanout"},
			"fanout": {Type: "fanout"}, "topic": {Type: "topic"}, "headers": {Type: "headers"},
			"nothing": {Type: "direct", Alternate: "gone"}, "inner": {Type: "direct", Internal: true},
			"hash": {Type: "x-consistent-hash"}, "ring": {Type: "fanout"},
		},
		Queues: map[string]parkade.QueueInfo{"a": {}, "b": {}, "c": {}},
		Bindings: []parkade.Binding{
			{Source: "direct", Destination: "a", Key: "k"},
			{Source: "direct", Destination: "b", Key: "k"},
			{Source: "direct", Destination: "b", Key: "k", Headers: parkade.NewTable(parkade.Field{Name: "twice"})},
			{Source: "fallback", Destination: "c"},
			{Source: "fanout", Destination: "direct", ToExchange: true},
			{Source: "fanout", Destination: "topic", ToExchange: true},
			{Source: "topic", Destination: "a", Key: "order.*"},
			{Source: "topic", Destination: "b", Key: "order.#.eu"},
			{Source: "topic", Destination: "c", Key: "#"},
			{Source: "headers", Destination: "a", Headers: parkade.NewTable(
				parkade.Field{Name: "n", Value: int64(5)}, parkade.Field{Name: "x-ignored", Value: "yes"})},
			{Source: "headers", Destination: "b", Headers: parkade.NewTable(
				parkade.Field{Name: "x-match", Value: "any"}, parkade.Field{Name: "m"}, parkade.Field{Name: "n", Value: int64(6)})},
			{Source: "inner", Destination: "a", Key: "k"},
			{Source: "hash", Destination: "a", Key: "1"},
			{Source: "ring", Destination: "ring", ToExchange: true},
			{Source: "ring", Destination: "a"},
		},
	}
	headers := func(name string, v any) parkade.Table { return parkade.NewTable(parkade.Field{Name: name, Value: v}) }
	for _, tt := range []struct {
		name, exchange, key string
		headers             parkade.Table
		want                parkade.Routing
	}{
		{"default exchange", "", "a", nil, parkade.Routing{Queues: []string{"a"}}},
		{"default exchange, no queue", "", "z", nil, parkade.Routing{}},
		{"no exchange", "gone", "k", nil, parkade.Routing{Missing: true}},
		{"each queue once", "direct", "k", nil, parkade.Routing{Queues: []string{"a", "b"}}},
		{"alternate", "direct", "z", nil, parkade.Routing{Queues: []string{"c"}, Alternate: "fallback"}},
		{"alternate is gone", "nothing", "z", nil, parkade.Routing{}},
		{"through other exchanges", "fanout", "k", nil, parkade.Routing{Queues: []string{"a", "b", "c"}}},
		{"one word", "topic", "order.new", nil, parkade.Routing{Queues: []string{"a", "c"}}},
		{"star is one word", "topic", "order.new.eu", nil, parkade.Routing{Queues: []string{"b", "c"}}},
		{"hash is no word, too", "topic", "order.eu", nil, parkade.Routing{Queues: []string{"a", "b", "c"}}},
		{"empty key", "topic", "", nil, parkade.Routing{Queues: []string{"c"}}},
		{"all headers, any width", "headers", "", headers("n", int8(5)), parkade.Routing{Queues: []string{"a"}}},
		{"any header, there at all", "headers", "", headers("m", "x"), parkade.Routing{Queues: []string{"b"}}},
		{"no header", "headers", "", nil, parkade.Routing{}},
		{"internal", "inner", "k", nil, parkade.Routing{Queues: []string{"a"}, Internal: true}},
		{"plugin", "hash", "k", nil, parkade.Routing{Queues: []string{"a"}, Guess: true}},
		{"ring", "ring", "k", nil, parkade.Routing{Queues: []string{"a"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, topo.Route(tt.exchange, tt.key, tt.headers), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFailureIsFollowedUntilItsEnd(t *testing.T) {
	t.Parallel()
	missing := billing()
	delete(missing.Exchanges, "orders.retry")
	for _, tt := range []struct {
		name       string
		topo       parkade.Topology
		queue, key string
		hops       string
		lost       string
	}{
		{"own key comes back", billing(), "orders.work", "order.placed", "orders.work orders.wait", ""},
		{"queue's name as key finds no way back", billing(), "orders.work", "orders.work", "orders.work orders.wait", "for the key orders.work"},
		{"no dead-letter exchange ends it", billing(), "billing.events", "x", "billing.events", ""},
		{"parked by rejection", shop(), "shop.main", "shop.main", "shop.main shop.dlq", ""},
		{"retry leads back by name", shop(), "shop.retry", "order.new", "shop.retry shop.main shop.dlq", ""},
		{"dead-letter exchange is gone", missing, "orders.work", "order.placed", "orders.work", "orders.retry doesn't exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := tt.topo.FailureLoop(tt.queue, tt.key, nil)
			var hops []string
			for _, h := range l.Hops {
				hops = append(hops, h.Queue)
			}
			if got := strings.Join(hops, " "); got != tt.hops {
				t.Errorf("goes through %s, want %s", got, tt.hops)
			}
			if (tt.lost == "") != (l.Lost == "") || !strings.Contains(l.Lost, tt.lost) {
				t.Errorf("lost: %q, want %q", l.Lost, tt.lost)
			}
		})
	}
}
