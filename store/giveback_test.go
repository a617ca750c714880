package store_test

import (
	"path/filepath"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func kindOf(err error) parkade.Kind {
	kind, _ := parkade.Explain(err)
	return kind
}

// wanted returns what was decided about draining q.
func wanted(t *testing.T, s *store.Store, q parkade.Queue) store.SourceChoice {
	t.Helper()
	all, err := s.Wanted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Queue == q {
			return c
		}
	}
	return store.SourceChoice{}
}

// givenBack parks two messages in each of two queues, and gives those of the first
// back.
func givenBack(t *testing.T, s *store.Store) (op parkade.Operation, q, other parkade.Queue) {
	t.Helper()
	q, other = storetest.Queue(), parkade.Queue{Broker: "main", Vhost: "/", Name: "mail.parking"}
	storetest.Park(t, s, other, storetest.Delivery("x", "{}"), storetest.Delivery("y", "{}"))
	d := storetest.Delivery("a", "{}")
	d.Headers = d.Headers.With("x-attempt", int32(3))
	storetest.Park(t, s, q, d, storetest.Delivery("", "no id"))
	for _, one := range []parkade.Queue{q, other} {
		if err := s.Want(t.Context(), one, true, false, "ann", "go"); err != nil {
			t.Fatal(err)
		}
	}
	op, _, err := s.Create(t.Context(), store.NewOperation{Verb: parkade.GiveBack, Filter: &parkade.Filter{Queue: q.Name}, By: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	return op, q, other
}

func sendsOf(t *testing.T, s *store.Store, id parkade.OperationID) []parkade.Send {
	t.Helper()
	c, err := s.Chunk(t.Context(), id, nil, 100, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return c.Sends
}

func TestGivingBackPausesTheDrainUntilAPersonResumesIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parkade.db")
	s := storetest.Reopen(t, path)
	op, q, other := givenBack(t, s)
	check := func() {
		t.Helper()
		if c := wanted(t, s, q); c.Wanted != "off" || c.By != "bob" || c.Why != "Operation #1 gives 2 messages back to it." {
			t.Errorf("its drain is wanted %+v", c)
		}
		if c := wanted(t, s, other); c.Wanted != "on" {
			t.Errorf("the drain of another queue is wanted %+v", c)
		}
		if err := s.MayDrain(t.Context(), q); kindOf(err) != parkade.Conflict {
			t.Errorf("it may be drained: %v", err)
		}
		if err := s.Want(t.Context(), q, true, false, "ann", ""); kindOf(err) != parkade.Conflict {
			t.Errorf("its drain could be resumed: %v", err)
		}
		if err := s.Want(t.Context(), other, true, false, "ann", ""); err != nil {
			t.Errorf("the drain of another queue: %v", err)
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.Reopen(t, path)
	check()
	if queues, err := s.GaveBackTo(t.Context(), op.ID); err != nil || len(queues) != 1 || queues[0] != q {
		t.Errorf("it is about %v (%v)", queues, err)
	}
	if err := s.Cancel(t.Context(), op.ID, "ann"); err != nil {
		t.Fatal(err)
	}
	if c := wanted(t, s, q); c.Wanted != "off" {
		t.Errorf("after the end its drain is wanted %+v", c)
	}
	if err := s.Want(t.Context(), q, true, false, "ann", ""); err != nil {
		t.Errorf("after the end its drain can't be resumed: %v", err)
	}
	wantSound(t, s)
}

func TestWhatWasGivenBackAndDrainedAgainOpensNoRound(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]parkade.Outcome{"confirmed": parkade.Confirmed, "in doubt": parkade.Unknown, "still on its way": parkade.Intent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			op, q, _ := givenBack(t, s)
			sends := sendsOf(t, s, op.ID)
			if len(sends) != 2 || sends[0].Draft.Exchange != "" || sends[0].Draft.RoutingKey != q.Name {
				t.Fatalf("it sends %+v", sends)
			}
			if n, _ := sends[0].Draft.Headers.Int("x-attempt"); n != 3 {
				t.Error("an attempt header is stripped")
			}
			if _, ok := sends[0].Draft.Headers.Get("x-death"); !ok {
				t.Error("x-death is stripped")
			}
			var done []parkade.Result
			var again []parkade.Delivery
			for _, send := range sends {
				done = append(done, parkade.Result{Replay: send.Replay, Outcome: outcome, Why: "so it was"})
				again = append(again, parkade.Delivery{Content: send.Draft.Content, Body: send.Draft.Body})
			}
			if outcome != parkade.Intent {
				if err := s.Record(t.Context(), op.ID, done); err != nil {
					t.Fatal(err)
				}
			}
			ids := storetest.Park(t, s, q, again...)
			if outcome == parkade.Intent {
				for i := range done {
					done[i].Outcome = parkade.Confirmed
				}
				if err := s.Record(t.Context(), op.ID, done); err != nil {
					t.Fatal(err)
				}
			}
			for i, id := range ids {
				m, err := s.Message(t.Context(), id)
				if err != nil || m.State != parkade.Parked || m.Round != 1 || m.Previous != sends[i].Message {
					t.Errorf("drained again it is %s in round %d after #%d (%v)", m.State, m.Round, m.Previous, err)
				}
				before, err := s.Message(t.Context(), sends[i].Message)
				if err != nil || before.State != parkade.GivenBack || before.CameBack || before.LastOutcome != parkade.Confirmed {
					t.Errorf("the one before is %s, %s, came back: %t (%v)", before.State, before.LastOutcome, before.CameBack, err)
				}
			}
			wantSound(t, s)
		})
	}
}
