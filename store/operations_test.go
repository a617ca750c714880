package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// parkN parks n messages with ids and returns theirs here.
func parkN(t testing.TB, s *store.Store, n int) []parkade.MessageID {
	t.Helper()
	var ds []parkade.Delivery
	for i := range n {
		ds = append(ds, storetest.Delivery(fmt.Sprintf("m-%d", i+1), fmt.Sprintf("body %d", i+1)))
	}
	return storetest.Park(t, s, storetest.Queue(), ds...)
}

// replayOf plans to send messages to the exchange orders, as they are now.
func replayOf(t testing.TB, s *store.Store, ids ...parkade.MessageID) store.NewOperation {
	t.Helper()
	ms, hash, err := s.Selection(t.Context(), ids)
	if err != nil {
		t.Fatalf("select: %v", err)
	}
	n := store.NewOperation{
		Verb: parkade.Replay, By: "ann", Target: parkade.Target{To: parkade.ToAuto},
		Expect: &store.Expect{Count: int64(len(ms)), Hash: hash},
	}
	for _, m := range ms {
		n.Items = append(n.Items, store.Planned{
			Message: m.ID, Version: m.Version, LastReplay: m.LastReplay, Exchange: "orders", RoutingKey: "created",
		})
	}
	return n
}

func create(t testing.TB, s *store.Store, n store.NewOperation) parkade.Operation {
	t.Helper()
	op, created, err := s.Create(t.Context(), n)
	if err != nil || !created {
		t.Fatalf("create: %v, created %v", err, created)
	}
	return op
}

func chunk(t testing.TB, s *store.Store, id parkade.OperationID, done []parkade.Result, limit int) store.Chunk {
	t.Helper()
	c, err := s.Chunk(t.Context(), id, done, limit, 16<<20)
	if err != nil {
		t.Fatalf("chunk: %v", err)
	}
	return c
}

func record(t testing.TB, s *store.Store, id parkade.OperationID, done ...parkade.Result) {
	t.Helper()
	if err := s.Record(t.Context(), id, done); err != nil {
		t.Fatalf("record: %v", err)
	}
}

func message(t testing.TB, s *store.Store, id parkade.MessageID) parkade.Message {
	t.Helper()
	m, err := s.Message(t.Context(), id)
	if err != nil {
		t.Fatalf("message: %v", err)
	}
	return m
}

func operation(t testing.TB, s *store.Store, id parkade.OperationID) parkade.Operation {
	t.Helper()
	op, err := s.Operation(t.Context(), id)
	if err != nil {
		t.Fatalf("operation: %v", err)
	}
	return op
}

// wantConflict fails unless err is a Conflict that says all of these.
func wantConflict(t testing.TB, err error, says ...string) {
	t.Helper()
	kind, sentence := parkade.Explain(err)
	if err == nil || kind != parkade.Conflict {
		t.Fatalf("got %v, want a conflict", err)
	}
	for _, part := range says {
		if !strings.Contains(sentence, part) {
			t.Errorf("%q doesn't say %q", sentence, part)
		}
	}
}

// results gives each of the sends the same outcome.
func results(o parkade.Outcome, sends []parkade.Send) []parkade.Result {
	var rs []parkade.Result
	for _, v := range sends {
		rs = append(rs, parkade.Result{Replay: v.Replay, Outcome: o})
	}
	return rs
}

// comeBack parks a copy of what was sent, as its consumer would have.
func comeBack(t testing.TB, s *store.Store, v parkade.Send) parkade.MessageID {
	t.Helper()
	d := storetest.Delivery(parkade.Text(v.Draft.Properties.MessageID), string(v.Draft.Body))
	d.Headers = d.Headers.With(parkade.ReplayIDHeader, v.Stamp)
	return storetest.Park(t, s, storetest.Queue(), d)[0]
}

func TestAReplayIsSentAndConfirmed(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 3)
	op := create(t, s, replayOf(t, s, ids...))
	if op.State != parkade.Running || op.Total != 3 || op.Left != 3 {
		t.Fatalf("created %+v", op)
	}
	if m := message(t, s, ids[0]); m.State != parkade.InOperation || m.Operation != op.ID {
		t.Fatalf("message is %s of operation %d", m.State, m.Operation)
	}
	c := chunk(t, s, op.ID, nil, 2)
	if len(c.Sends) != 2 || c.Left != 1 || c.State != parkade.Running {
		t.Fatalf("first chunk: %d sends, left %d, %s", len(c.Sends), c.Left, c.State)
	}
	v := c.Sends[0]
	if v.Message != ids[0] || string(v.Draft.Body) != "body 1" || v.Draft.Exchange != "orders" || v.Draft.RoutingKey != "created" ||
		v.Draft.Headers.Text(parkade.ReplayIDHeader) != v.Stamp || v.Queue != storetest.Queue() {
		t.Errorf("sends %+v", v)
	}
	if _, there := v.Draft.Headers.Get("x-death"); there {
		t.Error("x-death is sent again")
	}
	c2 := chunk(t, s, op.ID, results(parkade.Confirmed, c.Sends), 2)
	if c := chunk(t, s, op.ID, results(parkade.Confirmed, c2.Sends), 2); c.State != parkade.Finished || len(c.Sends) != 0 || c.Left != 0 {
		t.Errorf("at the end: %+v", c)
	}
	op = operation(t, s, op.ID)
	if op.Counts[parkade.Confirmed] != 3 || op.Left != 0 || op.EndedAt.IsZero() {
		t.Errorf("ended as %+v", op)
	}
	m := message(t, s, ids[0])
	if m.State != parkade.Replayed || m.Replays != 1 || m.LastReplay != v.Replay || m.LastOutcome != parkade.Confirmed || m.ExpiresAt.IsZero() {
		t.Errorf("message ended as %+v", m)
	}
	if rs, err := s.Replays(t.Context(), ids[0]); err != nil || len(rs) != 1 || rs[0].Stamp != v.Stamp || rs[0].Outcome != parkade.Confirmed {
		t.Errorf("its replays are %+v, %v", rs, err)
	}
	items, err := s.Items(t.Context(), op.ID, "", 1, 10)
	if err != nil || len(items) != 2 || items[0].Message != ids[1] || items[0].Replay == nil {
		t.Errorf("items %+v, %v", items, err)
	}
	wantSound(t, s)
}

// TestWhatBecomesOfAReplay is the table of states of docs/protocol.md.
func TestWhatBecomesOfAReplay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		outcome, becomes parkade.Outcome
		cameBack         bool
		doubt            bool // it was in doubt before
		want             parkade.State
	}{
		{"confirmed", parkade.Confirmed, parkade.Confirmed, false, false, parkade.Replayed},
		{"returned", parkade.Unroutable, parkade.Unroutable, false, false, parkade.Parked},
		{"nacked", parkade.Nacked, parkade.Nacked, false, false, parkade.Parked},
		{"refused", parkade.Refused, parkade.Refused, false, false, parkade.Parked},
		{"unknown", parkade.Unknown, parkade.Unknown, false, false, parkade.InDoubt},
		{"confirmed after it came back", parkade.Confirmed, parkade.Confirmed, true, false, parkade.Replayed},
		{"unknown after it came back", parkade.Unknown, parkade.Confirmed, true, false, parkade.Replayed},
		{"nacked after it came back", parkade.Nacked, parkade.Confirmed, true, false, parkade.Replayed},
		{"confirmed after doubt", parkade.Confirmed, parkade.Confirmed, false, true, parkade.Replayed},
		{"returned after doubt", parkade.Unroutable, parkade.Unroutable, false, true, parkade.InDoubt},
		{"nacked after doubt", parkade.Nacked, parkade.Nacked, false, true, parkade.InDoubt},
		{"refused after doubt", parkade.Refused, parkade.Refused, false, true, parkade.InDoubt},
		{"unknown after doubt", parkade.Unknown, parkade.Unknown, false, true, parkade.InDoubt},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			id := parkN(t, s, 1)[0]
			n := replayOf(t, s, id)
			if c.doubt {
				op := create(t, s, n)
				record(t, s, op.ID, results(parkade.Unknown, chunk(t, s, op.ID, nil, 1).Sends)...)
				n = replayOf(t, s, id)
				n.Accept = []parkade.State{parkade.InDoubt}
			}
			op := create(t, s, n)
			sends := chunk(t, s, op.ID, nil, 1).Sends
			if c.cameBack {
				comeBack(t, s, sends[0])
			}
			record(t, s, op.ID, parkade.Result{Replay: sends[0].Replay, Outcome: c.outcome, Why: "so"})
			m := message(t, s, id)
			if m.State != c.want || m.LastOutcome != c.becomes || m.LastReplay != sends[0].Replay || m.CameBack != c.cameBack {
				t.Errorf("message is %s, last outcome %s of %d, came back %v", m.State, m.LastOutcome, m.LastReplay, m.CameBack)
			}
			op = operation(t, s, op.ID)
			if op.State != parkade.Finished || op.Counts[c.becomes] != 1 || op.Counts[parkade.Intent] != 0 {
				t.Errorf("operation is %s with %v", op.State, op.Counts)
			}
			record(t, s, op.ID, parkade.Result{Replay: sends[0].Replay, Outcome: parkade.Refused})
			if again := message(t, s, id); again != m && again.LastOutcome != m.LastOutcome {
				t.Errorf("a second outcome changed it to %s", again.LastOutcome)
			}
			wantSound(t, s)
		})
	}
}

func TestAnUnknownReplayThatComesBackDidArrive(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	op := create(t, s, replayOf(t, s, id))
	sends := chunk(t, s, op.ID, nil, 1).Sends
	record(t, s, op.ID, results(parkade.Unknown, sends)...)
	back := comeBack(t, s, sends[0])
	if m := message(t, s, id); m.State != parkade.Replayed || !m.CameBack {
		t.Errorf("message is %s", m.State)
	}
	if m := message(t, s, back); m.Previous != id || m.Round != 2 || m.State != parkade.Parked {
		t.Errorf("its next round is %+v", m)
	}
	op = operation(t, s, op.ID)
	if op.CameBack != 1 || op.Counts[parkade.Confirmed] != 1 || op.Counts[parkade.Unknown] != 0 {
		t.Errorf("operation counts %v, %d came back", op.Counts, op.CameBack)
	}
	rs, err := s.Replays(t.Context(), id)
	if err != nil || rs[0].Outcome != parkade.Confirmed || rs[0].Why != "it came back" || rs[0].ReturnedAs != back {
		t.Errorf("replay %+v, %v", rs, err)
	}
	wantSound(t, s)
}

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
