package store_test

import (
	"path/filepath"
	"testing"

	"parkade"
	"parkade/store/storetest"
)

func TestACrashLeavesWhatWasOnItsWayUnknown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parkade.db")
	s := storetest.Reopen(t, path)
	ids := parkN(t, s, 6)
	op := create(t, s, replayOf(t, s, ids[:4]...)).ID
	c := chunk(t, s, op, nil, 3)
	record(t, s, op, results(parkade.Confirmed, c.Sends[:1])...)
	comeBack(t, s, c.Sends[1])
	cancelling := create(t, s, replayOf(t, s, ids[4:]...)).ID
	chunk(t, s, cancelling, nil, 1)
	if err := s.Cancel(t.Context(), cancelling, "bob"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.Reopen(t, path)
	for i, want := range []parkade.State{
		parkade.Replayed, parkade.Replayed, parkade.InDoubt, parkade.InOperation, parkade.InDoubt, parkade.Parked,
	} {
		if m := message(t, s, ids[i]); m.State != want {
			t.Errorf("#%d is %s, want %s", ids[i], m.State, want)
		}
	}
	if o := operation(t, s, op); o.State != parkade.Interrupted || o.Why == "" || o.Left != 1 || o.Counts[parkade.Unknown] != 1 || o.Counts[parkade.Confirmed] != 2 {
		t.Errorf("is %s (%s), left %d, %v", o.State, o.Why, o.Left, o.Counts)
	}
	if o := operation(t, s, cancelling); o.State != parkade.Cancelled {
		t.Errorf("the other is %s", o.State)
	}
	if rs, err := s.Replays(t.Context(), ids[2]); err != nil || rs[0].Why == "" || rs[0].Outcome != parkade.Unknown {
		t.Errorf("replay %+v, %v", rs, err)
	}
	wantSound(t, s)
	if err := s.Resume(t.Context(), op, "bob"); err != nil {
		t.Fatal(err)
	}
	again := chunk(t, s, op, nil, 10)
	if len(again.Sends) != 1 || again.Sends[0].Message != ids[3] {
		t.Errorf("resumed with %+v", again.Sends)
	}
	if again.Sends[0].Stamp[:13] == c.Sends[0].Stamp[:13] {
		t.Error("the stamps of two runs share an epoch")
	}
}

// What has nothing left to do needs nobody to finish it, however it ended: with
// everything taken, or with only left-out messages to come.
func TestAnInterruptedOperationWithNothingLeftIsFinished(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]bool{"everything taken": false, "left-out ones to come": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "parkade.db")
			s := storetest.Reopen(t, path)
			ids := parkN(t, s, 3)
			n := replayOf(t, s, ids...)
			if rest {
				n.Items[2].Skip = "It has no target."
			}
			killed := create(t, s, n).ID
			c := chunk(t, s, killed, nil, 3)
			if rest {
				c.Sends = c.Sends[:2]
			}
			record(t, s, killed, results(parkade.Confirmed, c.Sends[:1])...)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = storetest.Reopen(t, path)
			o := operation(t, s, killed)
			if o.State != parkade.Finished || o.Left != 0 || o.Counts[parkade.Unknown] != int64(len(c.Sends)-1) || o.EndedAt.IsZero() {
				t.Errorf("after a kill it is %s, left %d, %v", o.State, o.Left, o.Counts)
			}
			wantSound(t, s)

			stopped := create(t, s, replayOf(t, s, parkN(t, s, 2)...)).ID
			c = chunk(t, s, stopped, nil, 2)
			if err := s.Interrupt(t.Context(), stopped, "The dashboard was stopped."); err != nil {
				t.Fatal(err)
			}
			if o := operation(t, s, stopped); o.State != parkade.Interrupted {
				t.Errorf("with two on their way it is %s", o.State)
			}
			record(t, s, stopped, results(parkade.Confirmed, c.Sends)...)
			if o := operation(t, s, stopped); o.State != parkade.Finished || o.Why != "" {
				t.Errorf("after the last confirm it is %s: %s", o.State, o.Why)
			}
			wantSound(t, s)
		})
	}
}
