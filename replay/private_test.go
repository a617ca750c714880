package replay_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/replay"
	"parkade/store"
)

// ours lists the exchanges of ours in a vhost.
func (p place) ours(t *testing.T) (names []string) {
	t.Helper()
	var all []struct{ Name string }
	if status := p.broker.API(t, http.MethodGet, "exchanges/"+url.PathEscape(brokertest.VhostName(t, p.url)), nil, &all); status != http.StatusOK {
		t.Fatalf("exchanges: status %d", status)
	}
	for _, x := range all {
		if strings.HasPrefix(x.Name, parkade.PrivateExchange) {
			names = append(names, x.Name)
		}
	}
	return names
}

// keeping makes an operation that sends messages into two queues, each with its own
// key, which is the same.
func (p place) keeping(t *testing.T, n int, perSecond float64) parkade.OperationID {
	t.Helper()
	messages, _, err := p.store.Selection(t.Context(), p.park(t, n))
	if err != nil {
		t.Fatal(err)
	}
	items := make([]store.Planned, len(messages))
	for i, m := range messages {
		items[i] = store.Planned{Message: m.ID, Version: 1, Exchange: parkade.PrivateExchange, RoutingKey: "created", Into: []string{"orders.work", "mail.work"}[i%2]}
	}
	return p.create(t, items, perSecond)
}

func TestAnExchangeOfOursLeadsToOneQueueAndIsRemovedAtTheEnd(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, q := range []string{"orders.work", "mail.work"} {
		brokertest.Queue(t, p.url, brokertest.Quorum, q, nil)
	}
	id := p.keeping(t, 40, 0)
	p.run(t, wired(t, p.broker))
	if op := p.await(t, id, parkade.Finished); op.Counts[parkade.Confirmed] != 40 {
		t.Errorf("it ended with %v", op.Counts)
	}
	for _, q := range []string{"orders.work", "mail.work"} {
		brokertest.WaitReady(t, p.url, q, 20)
		for _, d := range brokertest.Take(t, p.url, q, 20) {
			if d.RoutingKey != "created" || !strings.HasPrefix(d.Exchange, parkade.PrivateExchange+".") {
				t.Fatalf("it arrived from %q with the key %q", d.Exchange, d.RoutingKey)
			}
		}
	}
	brokertest.Eventually(t, "no exchange of ours", func() bool { return len(p.ours(t)) == 0 })
	brokertest.Eventually(t, "nothing noted as left", func() bool {
		left, err := p.store.Leftovers(t.Context())
		return err == nil && len(left) == 0
	})
}

func TestWhatAStoppedProcessLeftIsRemovedByTheNext(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, q := range []string{"orders.work", "mail.work"} {
		brokertest.Queue(t, p.url, brokertest.Classic, q, nil)
	}
	brokertest.Exchange(t, p.url, "fanout", parkade.PrivateExchange+".of-another-store")
	id := p.keeping(t, 40, 20)
	_, stop := p.run(t, wired(t, p.broker))
	brokertest.Eventually(t, "both exchanges", func() bool { return len(p.ours(t)) == 3 })
	stop()
	if n := len(p.ours(t)); n != 3 {
		t.Errorf("while it is interrupted %d exchanges are there, want both and the other store's", n)
	}
	if err := p.store.Cancel(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	p.run(t, wired(t, p.broker))
	brokertest.Eventually(t, "only the other store's", func() bool { return len(p.ours(t)) == 1 })
}

func TestALoginThatMayNotBindIsToldBeforeAndNothingIsSent(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	for name, tt := range map[string]struct {
		may  brokertest.Permissions
		tags []string
		why  string
	}{
		"an administrator without configure": {brokertest.Permissions{Configure: "^$", Write: ".*", Read: ".*"}, []string{"administrator"}, "lacks the permission configure on exchanges of ours"},
		"an administrator that may":          {brokertest.Everything(), []string{"administrator"}, ""},
		"without configure":                  {brokertest.Permissions{Configure: "^$", Write: ".*", Read: ".*"}, []string{"management"}, "doesn't let us bind"},
		"without write on the queue":         {brokertest.Permissions{Configure: `^parkade\.`, Write: `^parkade\.`, Read: ".*"}, []string{"management"}, "doesn't let us bind"},
		"with what the manual says":          {brokertest.Permissions{Configure: `^parkade\.`, Write: `^(parkade\..*|orders\.work)$`, Read: `^parkade\.`}, []string{"management"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			brokertest.Queue(t, p.url, brokertest.Classic, "orders.work", nil)
			user := brokertest.User(t, b, p.url, tt.may, tt.tags...)
			w := wired(t, user)
			why, known := w.MayBind(t.Context(), p.queue.Vhost, "orders.work", true)
			if !known || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
				t.Errorf("it says %q, known: %t", why, known)
			}
			if left := p.ours(t); len(left) != 0 {
				t.Errorf("finding out leaves %v", left)
			}
			planner := replay.NewPlanner(p.store, map[string]replay.Broker{"main": w}, func(parkade.Queue) replay.Rule { return replay.Rule{} }, nil)
			ids := p.park(t, 1)
			plan, err := planner.Plan(t.Context(), replay.Request{IDs: ids, Target: parkade.Target{To: parkade.ToQueue, Keep: true}})
			if err != nil || (plan.Send == 1) != (tt.why == "") {
				t.Errorf("it would send %d: %v (%v)", plan.Send, plan.Skips, err)
			}
			if tt.why == "" {
				return
			}
			id := p.create(t, []store.Planned{{Message: ids[0], Version: 1, RoutingKey: "created", Into: "orders.work"}}, 0) // in spite of it
			p.run(t, w)
			p.await(t, id, parkade.Finished)
			for _, r := range p.records(t, id) {
				if r.Outcome != parkade.Refused || !strings.Contains(r.Why, "doesn't let us bind") {
					t.Errorf("it ended %s: %s", r.Outcome, r.Why)
				}
			}
		})
	}
}
