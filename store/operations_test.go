package store_test

import (
	"testing"
	"time"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func TestAMessageThatMovedIsAConflictThatSaysHow(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0)
	s := storetest.Open(t, store.Options{Clock: func() time.Time { return now }})
	ids := parkN(t, s, 6)
	stale := replayOf(t, s, ids[0])
	doubt := replayOf(t, s, ids[1])

	op := create(t, s, replayOf(t, s, ids[0], ids[1]))
	_, _, err := s.Create(t.Context(), stale)
	wantConflict(t, err, "#1 is already in operation #1, which ann began 0 s ago", "Nothing was sent.")

	sends := chunk(t, s, op.ID, nil, 2).Sends
	record(t, s, op.ID, parkade.Result{Replay: sends[0].Replay, Outcome: parkade.Confirmed}, parkade.Result{Replay: sends[1].Replay, Outcome: parkade.Unknown})
	now = now.Add(40 * time.Second)
	_, _, err = s.Create(t.Context(), stale)
	wantConflict(t, err, "#1 was replayed 40 s ago by ann (operation #1, confirmed). Nothing was sent.")
	stale.Accept = []parkade.State{parkade.Replayed}
	_, _, err = s.Create(t.Context(), stale)
	wantConflict(t, err, "#1 was replayed 40 s ago")
	_, _, err = s.Create(t.Context(), doubt)
	wantConflict(t, err, "#2 was replayed 40 s ago by ann (operation #1, unknown)")
	_, _, err = s.Create(t.Context(), replayOf(t, s, ids[1]))
	wantConflict(t, err, "#2 is in doubt")

	create(t, s, store.NewOperation{Verb: parkade.Discard, IDs: ids[2:5], By: "bob"})
	now = now.Add(3 * time.Minute)
	_, _, err = s.Create(t.Context(), store.NewOperation{Verb: parkade.Resolve, IDs: ids[2:], By: "ann"})
	wantConflict(t, err, "#3 is discarded, since 3 min ago by bob", "2 others moved too", "Nothing was changed.")
	_, _, err = s.Create(t.Context(), store.NewOperation{Verb: parkade.Discard, IDs: []parkade.MessageID{99}})
	wantConflict(t, err, "#99 is no longer in the store")
	if m := message(t, s, ids[5]); m.State != parkade.Parked {
		t.Errorf("a refused operation left #6 %s", m.State)
	}
	wantSound(t, s)
}

func TestTheSameRequestMakesOneOperation(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 2)
	n := replayOf(t, s, ids[0])
	n.IdempotencyKey, n.RequestHash = "k", [32]byte{1}
	first := create(t, s, n)
	again, created, err := s.Create(t.Context(), n)
	if err != nil || created || again.ID != first.ID {
		t.Errorf("got operation %d, created %v, %v", again.ID, created, err)
	}
	other := replayOf(t, s, ids[1])
	other.IdempotencyKey, other.RequestHash = "k", [32]byte{2}
	_, _, err = s.Create(t.Context(), other)
	wantConflict(t, err, "belongs to another request", "operation #1")
}

func TestASetMustBeWhatWasConfirmed(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 4)
	all := store.NewOperation{Verb: parkade.Discard, Filter: &parkade.Filter{State: parkade.Parked}, By: "ann", Reason: "test"}
	shown, err := s.Preview(t.Context(), all)
	if err != nil || shown.Count != 4 {
		t.Fatalf("preview %+v, %v", shown, err)
	}
	if _, hash, err := s.Selection(t.Context(), []parkade.MessageID{ids[3], ids[1], ids[0], ids[2]}); err != nil || hash != shown.Hash {
		t.Errorf("the same set has the hash %s, %v", hash, err)
	}
	if ops, err := s.Operations(t.Context(), 0, 10); err != nil || len(ops) != 0 {
		t.Errorf("a preview left %d operations, %v", len(ops), err)
	}
	all.Expect = &shown
	op := create(t, s, replayOf(t, s, ids[0]))
	_, _, err = s.Create(t.Context(), all)
	wantConflict(t, err, "4 messages were shown, and now it would be 3")
	record(t, s, op.ID, results(parkade.Unroutable, chunk(t, s, op.ID, nil, 1).Sends)...)
	_, _, err = s.Create(t.Context(), all)
	wantConflict(t, err, "it still has 4 messages")
	if shown, err = s.Preview(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	done := create(t, s, all)
	if done.State != parkade.Finished || done.Total != 4 || done.Left != 0 || done.Filter != "state=parked" {
		t.Errorf("made %+v", done)
	}
	actions, err := s.Actions(t.Context(), store.ActionFilter{Message: ids[1]}, 0, 10)
	if err != nil || len(actions) != 1 || actions[0].Verb != "discard" || actions[0].Count != 4 || actions[0].Reason != "test" || actions[0].Queue == nil {
		t.Errorf("actions %+v, %v", actions, err)
	}
	_, _, err = s.Create(t.Context(), store.NewOperation{Verb: parkade.Discard, Filter: all.Filter})
	if kind, _ := parkade.Explain(err); kind != parkade.Invalid {
		t.Errorf("an empty set: %v", err)
	}
	wantSound(t, s)
}

func TestRestoreUndoesADiscard(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 2)
	op := create(t, s, replayOf(t, s, ids[1]))
	record(t, s, op.ID, results(parkade.Unknown, chunk(t, s, op.ID, nil, 1).Sends)...)
	create(t, s, store.NewOperation{Verb: parkade.Discard, IDs: ids, Accept: []parkade.State{parkade.InDoubt}})
	for _, id := range ids {
		if m := message(t, s, id); m.State != parkade.Discarded || m.ExpiresAt.Sub(m.ChangedAt) != 7*24*time.Hour {
			t.Errorf("#%d is %s until %s", id, m.State, m.ExpiresAt)
		}
	}
	create(t, s, store.NewOperation{Verb: parkade.Restore, Filter: &parkade.Filter{}})
	if a, b := message(t, s, ids[0]), message(t, s, ids[1]); a.State != parkade.Parked || b.State != parkade.InDoubt || !a.ExpiresAt.IsZero() {
		t.Errorf("restored to %s and %s", a.State, b.State)
	}
	wantSound(t, s)
}

func TestPossibleCopiesStayOutOfASetUnlessTicked(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	d := storetest.Delivery("", "same")
	session := storetest.Begin(t, s, storetest.Queue())
	if _, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: []parkade.Delivery{d}}); err != nil {
		t.Fatal(err)
	}
	session = storetest.Begin(t, s, storetest.Queue())
	d.Redelivered = true
	got, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: []parkade.Delivery{d}})
	if err != nil || got.Copies != 1 {
		t.Fatalf("parked %+v, %v", got, err)
	}
	all := store.NewOperation{Verb: parkade.Discard, Filter: &parkade.Filter{}}
	if shown, err := s.Preview(t.Context(), all); err != nil || shown.Count != 1 {
		t.Errorf("without copies %d, %v", shown.Count, err)
	}
	all.Copies = true
	if op := create(t, s, all); op.Total != 2 {
		t.Errorf("with copies %d", op.Total)
	}
	wantSound(t, s)
}

func TestAFilterCanBeReplayed(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	parkN(t, s, 3)
	n := store.NewOperation{Verb: parkade.Replay, Filter: &parkade.Filter{State: parkade.Parked}, Target: parkade.Target{To: parkade.ToAuto}}
	if _, _, err := s.Create(t.Context(), n); err == nil {
		t.Error("a filter can't be replayed to nowhere")
	}
	n.Target = parkade.Target{To: parkade.ToQueue, Queue: "orders.work"}
	op := create(t, s, n)
	sends := chunk(t, s, op.ID, nil, 10).Sends
	if len(sends) != 3 || sends[2].Draft.Exchange != "" || sends[2].Draft.RoutingKey != "orders.work" {
		t.Errorf("sends %+v", sends)
	}
}
