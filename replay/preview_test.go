package replay_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parkade"
	"parkade/replay"
	"parkade/store"
	"parkade/store/storetest"
)

// previewer is a planner over a broker of a version.
func previewer(s *store.Store, topo *parkade.Topology, version string, check error, now func() time.Time) *replay.Planner {
	b := replay.Broker{
		Topology: func(context.Context, string) (parkade.Topology, error) {
			if topo == nil {
				return parkade.Topology{}, errors.New("away")
			}
			return *topo, nil
		},
		Version: func() string { return version },
		Check:   func(parkade.Draft) error { return check },
	}
	return replay.NewPlanner(s, map[string]replay.Broker{"main": b}, func(parkade.Queue) replay.Rule { return replay.Rule{} }, now)
}

func codes(v replay.Preview) []string {
	var all []string
	for _, f := range v.Findings {
		all = append(all, string(f.Verdict)+" "+f.Code)
	}
	return all
}

// served is the topology with somebody who consumes, and a way back from a failure.
func served() parkade.Topology {
	t := topology()
	q := t.Queues["orders.work"]
	q.Consumers, q.Ready, q.Type = 2, 5, "classic"
	t.Queues["orders.work"] = q
	return t
}

func TestAPreviewSaysWhatIsToBeKnown(t *testing.T) {
	t.Parallel()
	broken := errors.New("too large")
	cases := []struct {
		name    string
		change  func(*parkade.Draft) // of the edit
		topo    func(*parkade.Topology)
		away    bool
		version string
		check   error
		later   time.Duration
		target  parkade.Target
		want    []string
	}{
		{name: "nothing about a plain one"},
		{name: "what the broker wouldn't take", check: parkade.Errorf(parkade.TooLarge, "The body is %d bytes.", 9), want: []string{"refuse unsendable"}},
		{name: "what can't be explained, too", check: broken, want: []string{"refuse unsendable"}},
		{name: "that it is old", later: 25 * time.Hour, want: []string{"warn old"}},
		{name: "that nobody consumes", topo: func(t *parkade.Topology) {
			t.Queues["orders.work"] = parkade.QueueInfo{DeadLetters: true, DeadLetterExchange: "orders.dlx"}
		}, want: []string{"warn no_consumers"}},
		{name: "that it doesn't come back", topo: func(t *parkade.Topology) {
			t.Bindings = []parkade.Binding{{Source: "orders", Destination: "orders.work", Key: "created"}, {Source: "orders.dlx", Destination: "billing"}}
		}, want: []string{"warn loop_open"}},
		{name: "that a reject loses it", topo: func(t *parkade.Topology) { t.Queues["orders.work"] = parkade.QueueInfo{Consumers: 1} }, want: []string{"note no_dead_letter"}},
		{name: "that only an alternate exchange takes it", target: parkade.Target{To: parkade.ToExchange, Exchange: "orders", RoutingKey: "other"}, topo: func(t *parkade.Topology) {
			t.Exchanges["orders"] = parkade.Exchange{Type: "direct", Alternate: "audit"}
			t.Queues["billing"] = parkade.QueueInfo{Consumers: 1}
		}, want: []string{"warn target", "warn target", "warn target", "note no_dead_letter"}},
		{name: "that nothing can be looked at", away: true, target: parkade.Target{To: parkade.ToQueue, Queue: "orders.work"}, want: []string{"warn target", "unchecked topology"}},
		{name: "that gzip isn't", change: func(d *parkade.Draft) { d.Properties.ContentEncoding = new("gzip") }, want: []string{"warn encoding"}},
		{name: "nothing about gzip that is", change: func(d *parkade.Draft) {
			d.Properties.ContentEncoding, d.Body = new("gzip"), []byte("\x1f\x8b\x08")
		}},
		{name: "that JSON isn't", change: func(d *parkade.Draft) { d.Body = []byte(`{"a":`) }, want: []string{"warn json"}},
		{name: "that a direct answer is lost", change: func(d *parkade.Draft) { d.Properties.ReplyTo = new("amq.rabbitmq.reply-to.g1h") }, want: []string{"warn reply_to"}},
		{name: "that an answer is lost", change: func(d *parkade.Draft) { d.Properties.ReplyTo = new("gone") }, want: []string{"warn reply_to"}},
		{name: "nothing about an answer that is waited for", change: func(d *parkade.Draft) { d.Properties.ReplyTo = new("billing") }},
		{name: "nothing about priority 0, which isn't none", version: "4.3.6", topo: quorum, change: func(d *parkade.Draft) { d.Properties.Priority = new(uint8(0)) }},
		{name: "what no priority means on 4.3", version: "4.3.6", topo: quorum, want: []string{"note no_priority"}},
		{name: "nothing about priorities on 4.2", version: "4.2.1", topo: quorum},
		{name: "nothing about a priority that is there", version: "4.3.6", topo: quorum, change: func(d *parkade.Draft) { d.Properties.Priority = new(uint8(1)) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, topo := storetest.Open(t), served()
			id := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("m", "{}"))[0]
			e, err := s.Version(t.Context(), id, parkade.Arrived)
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(&e.Draft)
			}
			if c.topo != nil {
				c.topo(&topo)
			}
			seen := &topo
			if c.away {
				seen = nil
			}
			later := func() time.Time { return time.Now().Add(c.later) }
			v, err := previewer(s, seen, c.version, c.check, later).Preview(t.Context(), replay.PreviewRequest{Message: id, Draft: &e.Draft, Target: c.target})
			if err != nil {
				t.Fatal(err)
			}
			if got := codes(v); !slices.Equal(got, c.want) {
				t.Errorf("it says %q, want %q: %+v", got, c.want, v.Findings)
			}
			for _, f := range v.Findings {
				if !strings.HasSuffix(f.Text, ".") && f.Code != "unsendable" {
					t.Errorf("%q is no sentence", f.Text)
				}
			}
			if refused := v.Refused() != ""; refused != (c.check != nil) {
				t.Errorf("refused: %q", v.Refused())
			}
		})
	}
}

func quorum(t *parkade.Topology) {
	q := t.Queues["orders.work"]
	q.Type = "quorum"
	t.Queues["orders.work"] = q
}

// TestAPreviewKnowsTheHistory of a message that was sent and came back, one that is
// in doubt, one that was confirmed, and of one that is held.
func TestAPreviewKnowsTheHistory(t *testing.T) {
	t.Parallel()
	s, topo := storetest.Open(t), served()
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"), storetest.Delivery("c", "{}"))
	p := previewer(s, &topo, "", nil, nil)
	preview := func(id parkade.MessageID) replay.Preview {
		v, err := p.Preview(t.Context(), replay.PreviewRequest{Message: id})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	send := func(id parkade.MessageID, o parkade.Outcome) parkade.Send {
		v := preview(id)
		op, _, err := s.Create(t.Context(), store.NewOperation{Verb: parkade.Replay, Items: []store.Planned{v.Item}, By: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		if v := preview(id); v.Chosen != nil || !strings.Contains(v.Refused(), "holds it") {
			t.Errorf("held, it would be sent: %q", v.Refused())
		}
		c, err := s.Chunk(t.Context(), op.ID, nil, 1, 1<<20)
		if err == nil {
			err = s.Record(t.Context(), op.ID, []parkade.Result{{Replay: c.Sends[0].Replay, Outcome: o}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.Sends[0]
	}
	first := preview(ids[0])
	sent := send(ids[0], parkade.Confirmed)
	send(ids[1], parkade.Unknown)
	if err := first.Stands(preview(ids[0]).Hash); err == nil {
		t.Error("a preview from before a replay still stands")
	}
	back := storetest.Delivery("a", "{}")
	back.Headers = back.Headers.With(parkade.ReplayIDHeader, sent.Stamp)
	again := storetest.Park(t, s, storetest.Queue(), back)[0]
	for id, want := range map[parkade.MessageID][]string{
		ids[0]: {"ask replayed", "warn replayed_before"},
		ids[1]: {"ask in_doubt", "warn replayed_before"},
		ids[2]: nil,
		again:  {"warn replayed_before", "note came_back"},
	} {
		if got := codes(preview(id)); !slices.Equal(got, want) {
			t.Errorf("of #%d it says %q, want %q", id, got, want)
		}
	}
	if v := preview(again); v.Draft.Exchange != "orders" || v.Draft.RoutingKey != "created" || v.Chosen == nil || len(v.Facts) != 1 || v.Facts[0].Consumers != 2 || v.FactsAt.IsZero() {
		t.Errorf("the preview is %+v", v)
	}
}

func TestAPreviewStandsUntilSomethingChanges(t *testing.T) {
	t.Parallel()
	s, topo := storetest.Open(t), served()
	id := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("a", "{}"))[0]
	e, err := s.Version(t.Context(), id, parkade.Arrived)
	if err != nil {
		t.Fatal(err)
	}
	straight := parkade.Target{To: parkade.ToQueue, Queue: "orders.work"}
	hash := func(change func(*replay.PreviewRequest)) string {
		d := e.Draft
		r := replay.PreviewRequest{Message: id, Seen: 1, Draft: &d}
		change(&r)
		v, err := previewer(s, &topo, "", nil, nil).Preview(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Stands(v.Hash); err != nil {
			t.Error(err)
		}
		return v.Hash
	}
	same := func(*replay.PreviewRequest) {}
	first := hash(same)
	topo.Queues["orders.work"] = parkade.QueueInfo{DeadLetters: true, DeadLetterExchange: "orders.dlx", Consumers: 1, Ready: 70}
	if hash(same) != first {
		t.Error("it changes with the depth of a queue")
	}
	seen := map[string]string{first: "the first"}
	for name, change := range map[string]func(*replay.PreviewRequest){
		"the body":     func(r *replay.PreviewRequest) { r.Draft.Body = []byte("{} ") },
		"a property":   func(r *replay.PreviewRequest) { r.Draft.Properties.Type = new("t") },
		"a header":     func(r *replay.PreviewRequest) { r.Draft.Headers = r.Draft.Headers.With("n", int32(1)) },
		"its type":     func(r *replay.PreviewRequest) { r.Draft.Headers = r.Draft.Headers.With("n", int64(1)) },
		"the target":   func(r *replay.PreviewRequest) { r.Target = straight },
		"the version":  func(r *replay.PreviewRequest) { r.Draft = nil },
		"what is said": func(r *replay.PreviewRequest) { r.Draft.Properties.ReplyTo = new("gone") },
	} {
		h := hash(change)
		if seen[h] != "" {
			t.Errorf("%s has the hash of %s", name, seen[h])
		}
		seen[h] = name
	}
	if _, err := s.SaveEdit(t.Context(), store.NewEdit{Message: id, Seen: 1, Base: 1, By: "ben", Draft: e.Draft}); err != nil {
		t.Fatal(err)
	}
	_, err = previewer(s, &topo, "", nil, nil).Preview(t.Context(), replay.PreviewRequest{Message: id, Seen: 1, Draft: &e.Draft})
	if kind, sentence := parkade.Explain(err); kind != parkade.Conflict || !strings.Contains(sentence, "by ben") {
		t.Errorf("after somebody else's edit: %v", err)
	}
	if _, err := previewer(s, &topo, "", nil, nil).Preview(t.Context(), replay.PreviewRequest{Message: id, Sends: new(int64(3))}); err == nil {
		t.Error("a version that doesn't exist would be sent")
	}
}
