package parkade_test

import (
	"slices"
	"strings"
	"testing"

	"parkade"
)

func TestTheTargetIsWorkedOutFromTheTopology(t *testing.T) {
	t.Parallel()
	p1 := &parkade.Origin{Exchange: "orders", RoutingKey: "order.placed", Queue: "orders.work"}
	p2 := &parkade.Origin{Exchange: "shop", RoutingKey: "order.new", Queue: "shop.main"}
	change := func(topo parkade.Topology, f func(*parkade.Topology)) *parkade.Topology {
		f(&topo)
		return &topo
	}
	plain := func(*parkade.Topology) {}
	fanOut := func(topo *parkade.Topology) {
		topo.Queues["audit"] = parkade.QueueInfo{}
		topo.Bindings = append(topo.Bindings,
			parkade.Binding{Source: "orders", Destination: "audit", Key: "order.placed"},
			parkade.Binding{Source: "shop", Destination: "audit", Key: "#"})
	}
	through, straight := parkade.ToExchange, parkade.ToQueue
	for _, tt := range []struct {
		name    string
		topo    *parkade.Topology
		origin  *parkade.Origin
		guessed bool
		byDef   parkade.To            // "": none
		blocked map[parkade.To]string // what a blocked choice says
		warned  map[parkade.To]string // what a warned choice says
		none    bool                  // no choices at all
	}{
		{
			name: "P1 goes through its exchange, straight would be lost", topo: change(billing(), plain), origin: p1,
			byDef: through, blocked: map[parkade.To]string{straight: "nothing is bound to the exchange orders for the key orders.work"},
		},
		{
			name: "P1 with others bound there has no default", topo: change(billing(), fanOut), origin: p1,
			blocked: map[parkade.To]string{straight: "would be lost"}, warned: map[parkade.To]string{through: "also reaches audit"},
		},
		{name: "P2 goes through its exchange", topo: change(shop(), plain), origin: p2, byDef: through},
		{
			name: "P2 with others bound there goes straight", topo: change(shop(), fanOut), origin: p2,
			byDef: straight, warned: map[parkade.To]string{through: "also reaches audit"},
		},
		{
			name: "the exchange is gone", topo: change(shop(), func(topo *parkade.Topology) { delete(topo.Exchanges, "shop") }), origin: p2,
			byDef: straight, blocked: map[parkade.To]string{through: "doesn't exist any more"},
		},
		{
			name: "the queue is gone", topo: change(shop(), func(topo *parkade.Topology) {
				delete(topo.Queues, "shop.main")
				topo.Bindings = topo.Bindings[1:]
			}), origin: p2,
			blocked: map[parkade.To]string{through: "No queue would get it", straight: "No queue would get it"},
		},
		{
			name: "an alternate exchange is never a default", topo: change(shop(), func(topo *parkade.Topology) {
				topo.Exchanges["shop"] = parkade.Exchange{Type: "topic", Alternate: "unrouted"}
				topo.Exchanges["unrouted"] = parkade.Exchange{Type: "fanout"}
				topo.Bindings[0] = parkade.Binding{Source: "unrouted", Destination: "shop.main"}
			}), origin: p2,
			byDef: straight, warned: map[parkade.To]string{through: "alternate exchange unrouted"},
		},
		{
			name: "a plugin's exchange is uncertain", topo: change(shop(), func(topo *parkade.Topology) { topo.Exchanges["shop"] = parkade.Exchange{Type: "x-random"} }), origin: p2,
			byDef: straight, warned: map[parkade.To]string{through: "isn't certain"},
		},
		{
			name: "a plugin's exchange behind the queue is uncertain, too",
			topo: change(shop(), func(topo *parkade.Topology) { topo.Exchanges["shop.dead"] = parkade.Exchange{Type: "x-random"} }), origin: p2,
			warned: map[parkade.To]string{through: "second failure in shop.main", straight: "second failure in shop.main"},
		},
		{
			name: "an internal exchange takes nothing", topo: change(shop(), func(topo *parkade.Topology) {
				topo.Exchanges["shop"] = parkade.Exchange{Type: "topic", Internal: true}
			}), origin: p2,
			byDef: straight, blocked: map[parkade.To]string{through: "internal"},
		},
		{name: "a guess is never a default", topo: change(shop(), plain), origin: p2, guessed: true},
		{
			name: "published straight is one choice", topo: change(shop(), plain), origin: &parkade.Origin{RoutingKey: "shop.main", Queue: "shop.main"},
			byDef: straight,
		},
		{
			name: "the failed queue isn't known", topo: change(shop(), plain), origin: &parkade.Origin{Exchange: "shop", RoutingKey: "order.new"},
			byDef: through,
		},
		{
			name: "unchecked", topo: nil, origin: p2,
			warned: map[parkade.To]string{through: "Not checked", straight: "Not checked"},
		},
		{name: "no origin", topo: change(shop(), plain), origin: nil, none: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			choices := parkade.Choices(tt.origin, tt.guessed, parkade.Content{}, tt.topo)
			if (len(choices) == 0) != tt.none {
				t.Fatalf("%d choices", len(choices))
			}
			var byDefault []parkade.To
			for _, c := range choices {
				if c.Default {
					byDefault = append(byDefault, c.Target.To)
				}
				to := c.Target.To
				if want := tt.blocked[to]; (want == "") != (c.Blocked == "") || !strings.Contains(c.Blocked, want) {
					t.Errorf("%s is blocked by %q, want %q", to, c.Blocked, want)
				}
				warnings := strings.Join(c.Warnings, " ")
				if want := tt.warned[to]; (want == "") != (warnings == "") || !strings.Contains(warnings, want) {
					t.Errorf("%s is warned of with %q, want %q", to, warnings, want)
				}
				if c.Guess != tt.guessed {
					t.Errorf("%s is a guess: %t", to, c.Guess)
				}
			}
			var want []parkade.To
			if tt.byDef != "" {
				want = []parkade.To{tt.byDef}
			}
			if !slices.Equal(byDefault, want) {
				t.Errorf("default %v, want %v", byDefault, want)
			}
		})
	}
}
