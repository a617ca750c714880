package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// someDelivery draws one of few messages, so that some repeat.
func someDelivery(t *rapid.T) parkade.Delivery {
	id := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "message id")
	body := rapid.SampledFrom([]string{"", "x", "yy"}).Draw(t, "body")
	d := storetest.Delivery(id, body)
	if rapid.Bool().Draw(t, "never died") {
		d.Headers = nil
	}
	d.RoutingKey = rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "key")
	d.Redelivered = rapid.Bool().Draw(t, "redelivered")
	return d
}

func someQueue(t *rapid.T) parkade.Queue {
	return parkade.Queue{
		Broker: rapid.SampledFrom([]string{"main", "other"}).Draw(t, "broker"),
		Vhost:  "/", Name: rapid.SampledFrom([]string{"q1", "q2"}).Draw(t, "queue"),
	}
}

// publishedWith is the key of a message as a list shows it.
func publishedWith(m parkade.Message) string {
	if m.Origin != nil {
		return m.Origin.RoutingKey
	}
	return m.RoutingKey
}

// fill does random work: drains, losses of sessions, closed messages and sweeps.
func fill(t *testing.T, rt *rapid.T, s *store.Store, now *time.Time) {
	t.Helper()
	sessions := map[parkade.Queue]parkade.Session{}
	states := []parkade.State{parkade.Discarded, parkade.Replayed, parkade.Resolved, parkade.GivenBack}
	for range rapid.IntRange(1, 12).Draw(rt, "steps") {
		*now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(rt, "hours")) * time.Hour)
		switch rapid.IntRange(0, 3).Draw(rt, "step") {
		case 0, 1:
			q := someQueue(rt)
			if _, ok := sessions[q]; !ok || rapid.Bool().Draw(rt, "lose the session") {
				sessions[q] = storetest.Begin(t, s, q)
			}
			batch := parkade.Batch{FenceOK: rapid.Bool().Draw(rt, "fence")}
			for range rapid.IntRange(1, 30).Draw(rt, "deliveries") {
				batch.Deliveries = append(batch.Deliveries, someDelivery(rt))
			}
			if _, err := s.Park(t.Context(), sessions[q], batch); err != nil {
				rt.Fatal(err)
			}
			if err := s.Prove(t.Context(), sessions[q]); err != nil {
				rt.Fatal(err)
			}
		case 2:
			closeSome(t, s, rapid.Int64Range(1, 50).Draw(rt, "message"), rapid.SampledFrom(states).Draw(rt, "state"), *now)
		case 3:
			if _, err := s.Sweep(t.Context()); err != nil {
				rt.Fatal(err)
			}
		}
	}
}

// closeSome puts a parked message into a closed state, as an operation does.
func closeSome(t *testing.T, s *store.Store, id int64, state parkade.State, now time.Time) {
	t.Helper()
	db := raw(t, s)
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var source, size, isCopy int64
	err = tx.QueryRowContext(t.Context(), `
		UPDATE message SET state = ?, changed_at = ?, expires_at = ? WHERE id = ? AND state = 'parked'
		RETURNING source_id, size, copy_of IS NOT NULL`,
		state, now.UnixMilli(), now.Add(7*24*time.Hour).UnixMilli(), id).Scan(&source, &size, &isCopy)
	if err != nil {
		return // there is no such message
	}
	for _, move := range []struct {
		state parkade.State
		sign  int64
	}{{parkade.Parked, -1}, {state, 1}} {
		if _, err := tx.ExecContext(t.Context(), `
			INSERT INTO counter VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT DO UPDATE SET messages = messages + ?3, bytes = bytes + ?4, copies = copies + ?5`,
			source, move.state, move.sign, move.sign*size, move.sign*isCopy); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func someFilter(t *rapid.T) parkade.Filter {
	f := parkade.Filter{
		Broker:   rapid.SampledFrom([]string{"", "main", "other", "no such"}).Draw(t, "broker"),
		Queue:    rapid.SampledFrom([]string{"", "q1", "q2"}).Draw(t, "queue"),
		State:    rapid.SampledFrom(append(parkade.States(), "", "", "", "")).Draw(t, "state"),
		NoReason: rapid.Bool().Draw(t, "no reason"),
		Copies:   rapid.Bool().Draw(t, "copies"),
	}
	f.RoutingKey = rapid.SampledFrom([]string{"", "k1", "created"}).Draw(t, "key")
	f.MessageID = rapid.SampledFrom([]string{"", "", "a"}).Draw(t, "message id")
	f.OlderThan = rapid.SampledFrom([]time.Duration{0, 0, 50 * time.Hour}).Draw(t, "older")
	f.NewerThan = rapid.SampledFrom([]time.Duration{0, 0, 80 * time.Hour}).Draw(t, "newer")
	return f
}

// matches says by hand what a filter means.
func matches(f parkade.Filter, m parkade.Message, now time.Time) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	age := now.Sub(m.ParkedAt)
	return is(f.Broker, m.Queue.Broker) && is(f.Queue, m.Queue.Name) && is(string(f.State), string(m.State)) &&
		is(f.RoutingKey, publishedWith(m)) && is(f.MessageID, m.MessageID) &&
		(!f.NoReason || m.Reason == "") && (!f.Copies || m.CopyOf != 0) &&
		(f.OlderThan == 0 || age >= f.OlderThan) && (f.NewerThan == 0 || age <= f.NewerThan)
}

// pages lists everything that matches f, page by page.
func pages(t *testing.T, s *store.Store, f parkade.Filter, limit int, oldest bool) []parkade.MessageID {
	t.Helper()
	var ids []parkade.MessageID
	p := parkade.Page{Limit: limit, Oldest: oldest}
	for {
		ms, more, err := s.Messages(t.Context(), f, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			ids = append(ids, m.ID)
		}
		if !more {
			return ids
		}
		p.Before = ids[len(ids)-1]
	}
}

func TestListCountAndCountersSayTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
		s := storetest.Open(t, store.Options{Clock: func() time.Time { return now }})
		defer s.Close()
		fill(t, rt, s, &now)
		all := everything(t, s)
		countersAgree(t, rt, s, all)
		for range 5 {
			f := someFilter(rt)
			var want []parkade.MessageID
			for _, m := range all {
				if matches(f, m, now) {
					want = append(want, m.ID)
				}
			}
			limit := rapid.IntRange(1, 9).Draw(rt, "limit")
			if got := pages(t, s, f, limit, true); !slices.Equal(got, want) {
				rt.Fatalf("%+v lists %v, want %v", f, got, want)
			}
			if n, exact, err := s.Count(t.Context(), f, 0); err != nil || !exact || n != int64(len(want)) {
				rt.Fatalf("%+v counts %d (%v, %v), want %d", f, n, exact, err, len(want))
			}
			slices.Reverse(want)
			if got := pages(t, s, f, limit, false); !slices.Equal(got, want) {
				rt.Fatalf("%+v lists %v backwards, want %v", f, got, want)
			}
		}
	})
}

func everything(t *testing.T, s *store.Store) []parkade.Message {
	t.Helper()
	var all []parkade.Message
	for _, id := range pages(t, s, parkade.Filter{}, 500, true) {
		m, err := s.Message(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func countersAgree(t *testing.T, rt *rapid.T, s *store.Store, all []parkade.Message) {
	t.Helper()
	want := map[string]store.Counter{}
	for _, m := range all {
		key := fmt.Sprint(m.Queue, m.State)
		c := want[key]
		c.Queue, c.State = m.Queue, m.State
		c.Messages, c.Bytes = c.Messages+1, c.Bytes+m.Size
		if m.CopyOf != 0 {
			c.Copies++
		}
		want[key] = c
	}
	got, err := s.Counters(t.Context())
	if err != nil || len(got) != len(want) {
		rt.Fatalf("counters %+v (%v), want %+v", got, err, want)
	}
	for _, c := range got {
		if c != want[fmt.Sprint(c.Queue, c.State)] {
			rt.Fatalf("counters %+v, want %+v", got, want)
		}
	}
}

func TestACountStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for range 3 {
		storetest.Park(t, s, storetest.Queue(), plain("a", "x"), plain("b", "x"))
	}
	for _, c := range []struct {
		filter parkade.Filter
		limit  int64
		n      int64
		exact  bool
	}{
		{parkade.Filter{MessageID: "a"}, 3, 3, true},
		{parkade.Filter{MessageID: "a"}, 2, 2, false},
		{parkade.Filter{State: parkade.Parked}, 2, 6, true},
	} {
		n, exact, err := s.Count(t.Context(), c.filter, c.limit)
		if n != c.n || exact != c.exact || err != nil {
			t.Errorf("%+v within %d: %d, exact %v, %v", c.filter, c.limit, n, exact, err)
		}
	}
}
