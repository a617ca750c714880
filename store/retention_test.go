package store_test

import (
	"slices"
	"testing"
	"time"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func TestRetentionTakesOnlyWhatIsOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	s := storetest.Open(t, store.Options{Clock: func() time.Time { return now }})
	var ds []parkade.Delivery
	for range 9 {
		ds = append(ds, storetest.Delivery("", "xyz"))
	}
	storetest.Park(t, s, storetest.Queue(), ds...)
	for id, state := range map[int64]parkade.State{
		1: parkade.Discarded, 2: parkade.Replayed, 3: parkade.Replayed, // the next round of 3 is 7, which is parked
		4: parkade.Resolved,  // in an operation that goes on
		5: parkade.Resolved,  // in one that ended
		6: parkade.Discarded, // the next round of 6 is 8, which is discarded too
		8: parkade.Discarded,
	} {
		closeSome(t, s, id, state, now)
	}
	do(t, s, `UPDATE message SET previous_id = 3 WHERE id = 7`, `UPDATE message SET previous_id = 6 WHERE id = 8`)
	for id, state := range []parkade.OperationState{parkade.Paused, parkade.Finished} {
		do(t, s, `INSERT INTO operation (id, verb, state, by, reason, target, policy, total, base_replay_id, created_at)
			VALUES (`+parkade.OperationID(id+1).String()+`, 'resolve', '`+string(state)+`', '', '', '{}', '{}', 1, 0, 0)`,
			`INSERT INTO operation_item (operation_id, pos, message_id, version, sends, was)
			VALUES (`+parkade.OperationID(id+1).String()+`, 1, `+parkade.MessageID(id+4).String()+`, 1, 1, 'parked')`)
	}
	if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
		t.Fatalf("before its time, %d were removed, %v", n, err)
	}
	now = now.Add(8 * 24 * time.Hour)
	if n, err := s.Sweep(t.Context()); err != nil || n != 5 {
		t.Errorf("%d were removed, %v", n, err)
	}
	if got := pages(t, s, parkade.Filter{}, 50, true); !slices.Equal(got, []parkade.MessageID{3, 4, 7, 9}) {
		t.Errorf("left are %v", got)
	}
	now = now.Add(10 * 365 * 24 * time.Hour)
	if n, err := s.Sweep(t.Context()); err != nil || n != 0 {
		t.Errorf("years later %d more were removed, %v", n, err)
	}
	wantCounted(t, s, parkade.Parked, 2)
	wantCounted(t, s, parkade.Discarded, 0)
	if _, err := s.Body(t.Context(), 1); err == nil {
		t.Error("the body of a removed message is still there")
	}
}

func TestASweepGivesRoomBackToTheDisk(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	s := storetest.Open(t, store.Options{Clock: func() time.Time { return now }})
	var ds []parkade.Delivery
	for range 20 {
		ds = append(ds, parkade.Delivery{Body: make([]byte, 1<<20)})
	}
	storetest.Park(t, s, storetest.Queue(), ds...)
	for id := range int64(20) {
		closeSome(t, s, id+1, parkade.Discarded, now)
	}
	now = now.Add(8 * 24 * time.Hour)
	if n, err := s.Sweep(t.Context()); n != 20 || err != nil {
		t.Fatalf("%d removed, %v", n, err)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Bytes > 10<<20 || st.WAL > 1<<20 {
		t.Errorf("%d MiB and a log of %d MiB are left, %v", st.Bytes>>20, st.WAL>>20, err)
	}
}

func TestPagesNeitherRepeatNorSkipWhileMessagesArrive(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	other := parkade.Queue{Broker: "main", Vhost: "/", Name: "other"}
	session, second := storetest.Begin(t, s, storetest.Queue()), storetest.Begin(t, s, other)
	arrive := func() {
		for _, session := range []parkade.Session{session, second} {
			if _, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: []parkade.Delivery{plain("", "x"), plain("", "y"), plain("", "z")}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Prove(t.Context(), session); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 5 {
		arrive()
	}
	storetest.Begin(t, s, parkade.Queue{Broker: "third", Vhost: "/", Name: "empty"})
	filter := parkade.Filter{Broker: "main", State: parkade.Parked} // two queues of three
	var ids []parkade.MessageID
	p := parkade.Page{Limit: 4}
	for more := true; more; {
		var ms []parkade.Message
		var err error
		if ms, more, err = s.Messages(t.Context(), filter, p); err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			ids = append(ids, m.ID)
		}
		p.Before = ids[len(ids)-1]
		arrive()
	}
	for i, id := range ids {
		if id != parkade.MessageID(30-i) {
			t.Fatalf("pages list %v", ids)
		}
	}
	if len(ids) != 30 {
		t.Errorf("pages list %d messages, want 30", len(ids))
	}
	prev, next, err := s.Neighbours(t.Context(), filter, false, 30)
	if err != nil || prev != 31 || next != 29 {
		t.Errorf("beside 30 are %d and %d, %v", prev, next, err)
	}
}

func TestFacetsOldestAndSiblings(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	q := storetest.Queue()
	storetest.Park(t, s, q, storetest.Delivery("a", "x"), storetest.Delivery("b", "x"), plain("c", "x"))
	f, err := s.Facets(t.Context())
	if err != nil || !slices.Equal(f.Queues, []parkade.Queue{q}) || !slices.Equal(f.Reasons, []string{parkade.Rejected}) || !slices.Equal(f.Keys, []string{"created", "orders.parking"}) {
		t.Errorf("facets %+v, %v", f, err)
	}
	first, _ := s.Message(t.Context(), 1)
	oldest, err := s.Oldest(t.Context())
	if err != nil || len(oldest) != 1 || !oldest[q].Equal(first.ParkedAt) {
		t.Errorf("oldest %v, %v", oldest, err)
	}
	siblings, err := s.SiblingOrigins(t.Context(), q)
	want := parkade.Siblings{Origin: parkade.Origin{Exchange: "orders", RoutingKey: "created", Queue: "orders.work"}, Count: 2}
	if err != nil || len(siblings) != 1 || siblings[0] != want {
		t.Errorf("siblings %+v, %v", siblings, err)
	}
}
