package store_test

import (
	"crypto/sha256"
	"errors"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func asError(err error, to **parkade.Error) bool {
	e, ok := errors.AsType[*parkade.Error](err)
	*to = e
	return ok
}

// sendOne claims the only message of an operation.
func sendOne(t *testing.T, s *store.Store, id parkade.OperationID) parkade.Send {
	t.Helper()
	c := chunk(t, s, id, nil, 10)
	if len(c.Sends) != 1 {
		t.Fatalf("%d messages are sent", len(c.Sends))
	}
	return c.Sends[0]
}

func TestAnEditAndItsReplayAreMadeTogether(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	n := replayOf(t, s, id)
	edit := editOf(t, s, id, "ann", "mended")
	n.Edit, n.IdempotencyKey = &edit, "once"
	op := create(t, s, n)
	if again, created, err := s.Create(t.Context(), n); err != nil || created || again.ID != op.ID {
		t.Errorf("the same request made operation %d, %v, %v", again.ID, created, err)
	}
	if m := message(t, s, id); m.Version != 2 || m.State != parkade.InOperation {
		t.Errorf("the message is %s in version %d", m.State, m.Version)
	}
	sent := sendOne(t, s, op.ID)
	if string(sent.Draft.Body) != "mended" || sent.Draft.Exchange != "orders" || !sent.Risky {
		t.Errorf("sent %q to %q, alone: %v", sent.Draft.Body, sent.Draft.Exchange, sent.Risky)
	}
	record(t, s, op.ID, results(parkade.Confirmed, []parkade.Send{sent})...)
	rs, err := s.Replays(t.Context(), id)
	if err != nil || len(rs) != 1 || rs[0].Version != 2 || rs[0].SentHash != sha256.Sum256([]byte("mended")) {
		t.Errorf("the receipt is %+v, %v", rs, err)
	}
	if b, err := s.Body(t.Context(), id); err != nil || string(b) != "body 1" {
		t.Errorf("what arrived is %q, %v", b, err)
	}
}

func TestAReplayOfSomethingThatMovedSavesNoEdit(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 2)
	stale := replayOf(t, s, ids[0])
	mine := editOf(t, s, ids[0], "ann", "mine")
	stale.Edit = &mine
	saved(t, s, editOf(t, s, ids[0], "ben", "theirs"))
	_, _, err := s.Create(t.Context(), stale)
	wantConflict(t, err, "ben", "Nothing was saved or sent.")
	replayed := replayOf(t, s, ids[1])
	edit := editOf(t, s, ids[1], "ann", "mine")
	replayed.Edit = &edit
	op := create(t, s, replayOf(t, s, ids[1]))
	record(t, s, op.ID, results(parkade.Unroutable, []parkade.Send{sendOne(t, s, op.ID)})...)
	_, _, err = s.Create(t.Context(), replayed)
	wantConflict(t, err, "was replayed")
	for i, want := range []int64{2, 1} {
		if m := message(t, s, ids[i]); m.Version != want || m.State != parkade.Parked {
			t.Errorf("#%d is %s in version %d", m.ID, m.State, m.Version)
		}
	}
	two := replayOf(t, s, ids...)
	two.Edit = &edit
	if _, _, err := s.Create(t.Context(), two); err == nil {
		t.Error("one edit was sent for two messages")
	}
}

func TestAnySavedVersionCanBeSent(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	for _, body := range []string{"two", "three"} {
		saved(t, s, editOf(t, s, id, "ann", body))
	}
	for _, c := range []struct {
		sends *int64
		want  string
	}{{nil, "three"}, {new(int64(2)), "two"}, {new(int64(1)), "body 1"}} {
		n := replayOf(t, s, id)
		n.Items[0].Sends = c.sends
		op := create(t, s, n)
		sent := sendOne(t, s, op.ID)
		if string(sent.Draft.Body) != c.want {
			t.Errorf("sent %q, want %q", sent.Draft.Body, c.want)
		}
		record(t, s, op.ID, results(parkade.Nacked, []parkade.Send{sent})...)
		rs, err := s.Replays(t.Context(), id)
		if err != nil || rs[0].SentHash != sha256.Sum256([]byte(c.want)) {
			t.Errorf("the receipt of %q is %x, %v", c.want, rs[0].SentHash, err)
		}
	}
	for _, v := range []int64{-1, 0, 4} {
		n := replayOf(t, s, id)
		n.Items[0].Sends = &v
		if _, _, err := s.Create(t.Context(), n); err == nil {
			t.Errorf("version %d is sent", v)
		}
	}
	filtered := store.NewOperation{Verb: parkade.Replay, By: "ann", Filter: &parkade.Filter{}, Target: parkade.Target{To: parkade.ToQueue, Queue: "q"}}
	op := create(t, s, filtered)
	if sent := sendOne(t, s, op.ID); string(sent.Draft.Body) != "three" {
		t.Errorf("of a filter, %q is sent", sent.Draft.Body)
	}
}

// TestWhatIsEditedIsKnownAgainByWhatWasSent also where an edit takes the message
// id away, or gives one.
func TestWhatIsEditedIsKnownAgainByWhatWasSent(t *testing.T) {
	t.Parallel()
	for name, messageID := range map[string]*string{"with another id": new("other"), "without an id": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			id := parkN(t, s, 1)[0]
			for round := range int64(3) {
				n := replayOf(t, s, id)
				edit := editOf(t, s, id, "ann", "body in round "+parkade.MessageID(round).String())
				edit.Draft.Properties.MessageID = messageID
				n.Edit = &edit
				op := create(t, s, n)
				sent := sendOne(t, s, op.ID)
				record(t, s, op.ID, results(parkade.Confirmed, []parkade.Send{sent})...)
				next := comeBack(t, s, sent)
				m := message(t, s, next)
				if m.Previous != id || m.CameFrom != sent.Replay || m.Round != round+2 || m.Origin == nil {
					t.Fatalf("#%d follows #%d in round %d (%+v)", next, m.Previous, m.Round, m.Origin)
				}
				if was := message(t, s, id); !was.CameBack || was.State != parkade.Replayed {
					t.Errorf("#%d is %s, came back: %v", id, was.State, was.CameBack)
				}
				id = next
			}
			rounds, err := s.Rounds(t.Context(), id)
			if err != nil || len(rounds) != 4 || rounds[3].ID != id {
				t.Errorf("%d rounds, %v", len(rounds), err)
			}
			wantSound(t, s)
		})
	}
}

func TestAnEditedHeaderOnAnotherMessageIsOnlyACopy(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	n := replayOf(t, s, id)
	edit := editOf(t, s, id, "ann", "mended")
	edit.Draft.Properties.MessageID = new("new id")
	n.Edit = &edit
	op := create(t, s, n)
	sent := sendOne(t, s, op.ID)
	record(t, s, op.ID, results(parkade.Confirmed, []parkade.Send{sent})...)
	sent.Draft.Properties.MessageID = new("m-1") // of what arrived, which isn't what was sent
	if m := message(t, s, comeBack(t, s, sent)); m.CameFrom != 0 || m.Round != 1 {
		t.Errorf("it is taken for what was sent: round %d", m.Round)
	}
}
