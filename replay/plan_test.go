package replay_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parkade"
	"parkade/replay"
	"parkade/store"
	"parkade/store/storetest"
)

// topology is where storetest.Delivery comes from: published to orders with the key
// created, failed by orders.work, parked in orders.parking.
func topology() parkade.Topology {
	return parkade.Topology{
		Exchanges: map[string]parkade.Exchange{"orders": {Type: "direct"}, "orders.dlx": {Type: "fanout"}, "audit": {Type: "fanout"}},
		Queues: map[string]parkade.QueueInfo{
			"orders.work":    {DeadLetters: true, DeadLetterExchange: "orders.dlx"},
			"orders.parking": {}, "billing": {},
		},
		Bindings: []parkade.Binding{
			{Source: "orders", Destination: "orders.work", Key: "created"},
			{Source: "orders.dlx", Destination: "orders.parking"},
			{Source: "audit", Destination: "billing"},
		},
	}
}

// planner returns a planner over a topology; nil can't be read.
func planner(s *store.Store, t *parkade.Topology, rule replay.Rule) *replay.Planner {
	b := replay.Broker{Topology: func(context.Context, string) (parkade.Topology, error) {
		if t == nil {
			return parkade.Topology{}, parkade.Errorf(parkade.Unavailable, "The management API doesn't answer.")
		}
		return *t, nil
	}}
	return replay.NewPlanner(s, map[string]replay.Broker{"main": b}, func(parkade.Queue) replay.Rule { return rule }, nil)
}

// stray returns a message that doesn't tell where it came from.
func stray() parkade.Delivery {
	d := storetest.Delivery("stray", "{}")
	d.Headers = nil
	return d
}

func TestWhereAMessageGoes(t *testing.T) {
	t.Parallel()
	spread := topology()
	spread.Bindings = append(spread.Bindings, parkade.Binding{Source: "orders", Destination: "billing", Key: "created"})
	lost := spread
	lost.Exchanges = map[string]parkade.Exchange{"orders": {Type: "direct"}} // a second failure would lose it
	plain := topology()
	fallback := replay.Rule{Fallback: parkade.Target{To: parkade.ToQueue, Queue: "billing"}}
	cases := []struct {
		name     string
		topo     *parkade.Topology
		rule     replay.Rule
		target   parkade.Target
		delivery parkade.Delivery
		siblings int
		want     string // exchange and key
		why      string // part of why it can't be sent
	}{
		{name: "through its exchange where that reaches only the failed queue", topo: &plain, want: "orders created"},
		{name: "straight into the failed queue where its exchange reaches others", topo: &spread, want: " orders.work"},
		{name: "nowhere where both ways lose or spread it", topo: &lost, why: "No target is safe"},
		{name: "nowhere where nothing can be checked", why: "can't be read"},
		{name: "straight where the configuration prefers that", topo: &plain, rule: replay.Rule{To: parkade.ToQueue}, want: " orders.work"},
		{name: "through its exchange where the configuration prefers that", topo: &spread, rule: replay.Rule{To: parkade.ToExchange}, want: "orders created"},
		{name: "where the person says", topo: &plain, target: parkade.Target{To: parkade.ToExchange, Exchange: "audit"}, want: "audit "},
		{name: "where the person says, unchecked", target: parkade.Target{To: parkade.ToQueue, Queue: "billing"}, want: " billing"},
		{name: "not where nobody would get it", topo: &plain, target: parkade.Target{To: parkade.ToQueue, Queue: "gone"}, why: "No queue would get it"},
		{name: "each its own way where the person says only which", topo: &plain, target: parkade.Target{To: parkade.ToQueue}, want: " orders.work"},
		{name: "nowhere without an origin", topo: &plain, delivery: stray(), why: "Choose a target."},
		{name: "to the fallback without an origin", topo: &plain, delivery: stray(), rule: fallback, want: " billing"},
		{name: "nowhere by a guess", topo: &plain, delivery: stray(), siblings: 3, why: "as a guess"},
		{name: "nowhere by a guess that is asked for without its name", topo: &plain, delivery: stray(), siblings: 3, target: parkade.Target{To: parkade.ToExchange}, why: "as a guess"},
		{name: "where a guess points when a person names it", topo: &plain, delivery: stray(), siblings: 3, target: parkade.Target{To: parkade.ToExchange, Exchange: "orders", RoutingKey: "created"}, want: "orders created"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			for i := range c.siblings {
				storetest.Park(t, s, storetest.Queue(), storetest.Delivery(string(rune('a'+i)), "{}"))
			}
			if c.delivery.Exchange == "" {
				c.delivery = storetest.Delivery("m", "{}")
			}
			ids := storetest.Park(t, s, storetest.Queue(), c.delivery)
			plan, err := planner(s, c.topo, c.rule).Plan(t.Context(), replay.Request{IDs: ids, Target: c.target})
			if err != nil {
				t.Fatal(err)
			}
			item, group := plan.Items[0], plan.Groups[0]
			got := item.Exchange + " " + item.RoutingKey
			if c.why == "" && (item.Skip != "" || got != c.want || plan.Send != 1 || group.Chosen == nil) {
				t.Errorf("it goes to %q (%s), want %q", got, item.Skip, c.want)
			}
			if c.why != "" && (!strings.Contains(item.Skip, c.why) || group.Why != item.Skip || plan.Send != 0 || plan.Skips[0].Messages != 1) {
				t.Errorf("it goes to %q (%q), want it to stay because %q", got, item.Skip, c.why)
			}
			if group.Guess != (c.siblings > 0) {
				t.Errorf("guessed: %t", group.Guess)
			}
			if len(group.Treatments) == 0 {
				t.Error("nothing says what is done to it")
			}
		})
	}
}

func TestPlanGroupsByOriginAndIsWhatCreateTakes(t *testing.T) {
	t.Parallel()
	s, topo := storetest.Open(t), topology()
	other := storetest.Delivery("other", "{}")
	other.Headers = other.Headers.Without("x-death")
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("1", "{}"), other, storetest.Delivery("2", "{}"))
	p := planner(s, &topo, replay.Rule{Policy: parkade.Policy{ResetHeaders: []string{"x-try"}}, Rate: 50})
	plan, err := p.Plan(t.Context(), replay.Request{IDs: ids})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Groups) != 2 || plan.Groups[0].Messages != 2 || plan.Groups[1].Messages != 1 || plan.Send != 2 {
		t.Errorf("the groups are %+v", plan.Groups)
	}
	if plan.Rate != 50 || len(plan.Policy.ResetHeaders) != 1 {
		t.Errorf("of the configuration it has %v and %v", plan.Rate, plan.Policy)
	}
	op, _, err := s.Create(t.Context(), store.NewOperation{Verb: parkade.Replay, Items: plan.Items, Expect: &plan.Expects, By: "ann"})
	if err != nil || op.Total != 3 || op.Skipped != 1 {
		t.Fatalf("created: %d of which %d are skipped (%v)", op.Total, op.Skipped, err)
	}
	again, err := p.Plan(t.Context(), replay.Request{IDs: ids})
	if err != nil || again.Send != 0 || !strings.Contains(again.Items[0].Skip, "Operation "+op.ID.String()) {
		t.Errorf("while it is held, it would be sent: %+v (%v)", again.Items, err)
	}
}

func TestFilterTakesOnlyWhatIsFree(t *testing.T) {
	t.Parallel()
	s, topo := storetest.Open(t), topology()
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("1", "{}"), storetest.Delivery("2", "{}"))
	if _, _, err := s.Create(t.Context(), store.NewOperation{Verb: parkade.Discard, IDs: ids[:1], By: "ann"}); err != nil {
		t.Fatal(err)
	}
	plan, err := planner(s, &topo, replay.Rule{}).Plan(t.Context(), replay.Request{Filter: &parkade.Filter{Queue: storetest.Queue().Name}})
	if err != nil || len(plan.Items) != 1 || plan.Items[0].Message != ids[1] {
		t.Errorf("the plan has %+v (%v)", plan.Items, err)
	}
}

func TestTopologyIsReadOnceForAWhile(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("1", "{}"))
	var reads atomic.Int64
	b := replay.Broker{Topology: func(context.Context, string) (parkade.Topology, error) { reads.Add(1); return topology(), nil }}
	now := time.Now()
	p := replay.NewPlanner(s, map[string]replay.Broker{"main": b}, func(parkade.Queue) replay.Rule { return replay.Rule{} }, func() time.Time { return now })
	for _, later := range []time.Duration{0, 0, 4 * time.Second, 2 * time.Second} {
		now = now.Add(later)
		if _, err := p.Plan(t.Context(), replay.Request{IDs: ids}); err != nil {
			t.Fatal(err)
		}
	}
	if reads.Load() != 2 {
		t.Errorf("it was read %d times, want 2", reads.Load())
	}
}
