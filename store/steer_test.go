package store_test

import (
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func TestAPausedOperationHasNothingOnItsWayAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 6)
	op := create(t, s, replayOf(t, s, ids...)).ID
	c := chunk(t, s, op, nil, 4)
	if err := s.Pause(t.Context(), op, "bob"); err != nil {
		t.Fatal(err)
	}
	if o := operation(t, s, op); o.State != parkade.Pausing || o.Why != "Paused by bob." {
		t.Errorf("is %s: %s", o.State, o.Why)
	}
	if c := chunk(t, s, op, nil, 4); len(c.Sends) != 0 || c.State != parkade.Pausing {
		t.Errorf("a pausing operation took %d", len(c.Sends))
	}
	wantConflict(t, s.Resume(t.Context(), op, "bob"), "4 of its messages are still on the way")
	record(t, s, op, results(parkade.Confirmed, c.Sends[:2])...)
	record(t, s, op, results(parkade.NotSent, c.Sends[2:])...)
	if o := operation(t, s, op); o.State != parkade.Paused || o.Left != 4 || o.Counts[parkade.NotSent] != 0 {
		t.Errorf("is %s, left %d, %v", o.State, o.Left, o.Counts)
	}
	if m := message(t, s, ids[2]); m.State != parkade.InOperation || m.LastReplay != 0 {
		t.Errorf("what was given back is %s after replay %d", m.State, m.LastReplay)
	}
	wantSound(t, s)
	if err := s.Resume(t.Context(), op, "bob"); err != nil {
		t.Fatal(err)
	}
	c = chunk(t, s, op, nil, 10)
	if len(c.Sends) != 4 || c.Sends[0].Message != ids[2] || c.Sends[3].Message != ids[5] {
		t.Fatalf("resumed with %d sends", len(c.Sends))
	}
	if n, _ := c.Sends[0].Draft.Headers.Int(parkade.ReplayAttemptHeader); n != 1 {
		t.Errorf("attempt %d of what was never sent", n)
	}
	record(t, s, op, results(parkade.Confirmed, c.Sends)...)
	if o := operation(t, s, op); o.State != parkade.Finished || o.Counts[parkade.Confirmed] != 6 {
		t.Errorf("is %s with %v", o.State, o.Counts)
	}
	actions, err := s.Actions(t.Context(), store.ActionFilter{Operation: op}, 0, 10)
	if err != nil || len(actions) != 3 || actions[0].Verb != "resume" || actions[1].Verb != "pause" || actions[2].Verb != "replay" {
		t.Errorf("actions %+v, %v", actions, err)
	}
	wantSound(t, s)
}

func TestACancelledOperationLetsItsMessagesGo(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 5)
	first := create(t, s, replayOf(t, s, ids[4])).ID
	record(t, s, first, results(parkade.Unknown, chunk(t, s, first, nil, 1).Sends)...)
	n := replayOf(t, s, ids...)
	n.Accept = []parkade.State{parkade.InDoubt}
	op := create(t, s, n).ID
	c := chunk(t, s, op, nil, 3)
	if err := s.Cancel(t.Context(), op, "bob"); err != nil {
		t.Fatal(err)
	}
	record(t, s, op, results(parkade.NotSent, c.Sends[1:])...)
	if o := operation(t, s, op); o.State != parkade.Cancelling {
		t.Errorf("is %s with one on its way", o.State)
	}
	record(t, s, op, results(parkade.Unroutable, c.Sends[:1])...)
	o := operation(t, s, op)
	if o.State != parkade.Cancelled || o.Left != 2 || o.Counts[parkade.NotSent] != 2 || o.Counts[parkade.Unroutable] != 1 {
		t.Errorf("is %s, left %d, %v", o.State, o.Left, o.Counts)
	}
	for i, want := range []parkade.State{parkade.Parked, parkade.Parked, parkade.Parked, parkade.Parked, parkade.InDoubt} {
		if m := message(t, s, ids[i]); m.State != want || m.Operation != 0 {
			t.Errorf("#%d is %s of operation %d, want %s", ids[i], m.State, m.Operation, want)
		}
	}
	wantConflict(t, s.Resume(t.Context(), op, "bob"), "can't be resumed: it is cancelled")
	for which, want := range map[string]int{"": 5, "cancelled": 2, "unroutable": 1, "confirmed": 0, "intent": 0, store.Skipped: 0} {
		if items, err := s.Items(t.Context(), op, which, 0, 10); err != nil || len(items) != want {
			t.Errorf("%d items %q, want %d, %v", len(items), which, want, err)
		}
	}
	if err := s.Dismiss(t.Context(), op, "bob"); err != nil || operation(t, s, op).Dismissed.IsZero() {
		t.Errorf("not dismissed: %v", err)
	}
	wantSound(t, s)
}

func TestTooManyBadOutcomesInARowPause(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 10)
	n := replayOf(t, s, ids...)
	n.MaxBad = 3
	op := create(t, s, n).ID
	c := chunk(t, s, op, nil, 8)
	done := results(parkade.Unroutable, c.Sends[:6])
	done[2].Outcome = parkade.Confirmed
	record(t, s, op, done[:5]...)
	if o := operation(t, s, op); o.State != parkade.Running {
		t.Errorf("is %s after two in a row", o.State)
	}
	done[5].Why = "no queue is bound there"
	record(t, s, op, append(done[5:], results(parkade.NotSent, c.Sends[6:])...)...)
	o := operation(t, s, op)
	if o.State != parkade.Paused || o.Left != 4 || o.Why != "3 messages in a row were not confirmed; the last one was unroutable: no queue is bound there." {
		t.Errorf("is %s, left %d: %s", o.State, o.Left, o.Why)
	}
	if err := s.Resume(t.Context(), op, "bob"); err != nil {
		t.Fatal(err)
	}
	if c := chunk(t, s, op, nil, 8); len(c.Sends) != 4 || c.State != parkade.Running {
		t.Errorf("resumed with %d sends, %s", len(c.Sends), c.State)
	}
}

func TestWhatCameBackWhileItWaitedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	first := create(t, s, replayOf(t, s, id)).ID
	sends := chunk(t, s, first, nil, 1).Sends
	record(t, s, first, results(parkade.Unknown, sends)...)
	n := replayOf(t, s, id)
	n.Accept = []parkade.State{parkade.InDoubt}
	op := create(t, s, n).ID
	comeBack(t, s, sends[0])
	if c := chunk(t, s, op, nil, 1); len(c.Sends) != 0 || c.State != parkade.Finished {
		t.Errorf("sends %+v, %s", c.Sends, c.State)
	}
	if m := message(t, s, id); m.State != parkade.Replayed {
		t.Errorf("message is %s", m.State)
	}
	items, err := s.Items(t.Context(), op, store.Skipped, 0, 10)
	if err != nil || len(items) != 1 || items[0].Skipped != "its earlier replay came back meanwhile, so it did arrive" {
		t.Errorf("items %+v, %v", items, err)
	}
	wantSound(t, s)
}

func TestAChunkStaysWithinItsBytes(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	op := create(t, s, replayOf(t, s, parkN(t, s, 5)...)).ID // of 6 bytes each
	for _, want := range []int{2, 1, 2} {
		size := int64(6 * want)
		if want == 1 {
			size = 1
		}
		c, err := s.Chunk(t.Context(), op, nil, 10, size)
		if err != nil || len(c.Sends) != want {
			t.Errorf("%d sends within %d bytes, %v", len(c.Sends), size, err)
		}
	}
}

func TestWhatThePlanLeftOutIsRecordedAndNotHeld(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 3)
	n := replayOf(t, s, ids...)
	n.Items[1].Skip = "no origin"
	op := create(t, s, n)
	if op.Skipped != 1 || op.Left != 2 || op.Total != 3 {
		t.Errorf("made %+v", op)
	}
	if m := message(t, s, ids[1]); m.State != parkade.Parked {
		t.Errorf("left out, but %s", m.State)
	}
	c := chunk(t, s, op.ID, nil, 10)
	record(t, s, op.ID, results(parkade.Confirmed, c.Sends)...)
	if o := operation(t, s, op.ID); len(c.Sends) != 2 || o.State != parkade.Finished || o.Skipped != 1 {
		t.Errorf("%d sends, %s, %d skipped", len(c.Sends), o.State, o.Skipped)
	}
	wantSound(t, s)
}

func TestAPersonDecidesAboutAMessageInDoubt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arrived bool
		state   parkade.State
		as      string
	}{{true, parkade.Resolved, "arrived"}, {false, parkade.Parked, "not arrived"}} {
		s := storetest.Open(t)
		id := parkN(t, s, 1)[0]
		wantConflict(t, s.Settle(t.Context(), id, c.arrived, "ann", ""), "isn't in doubt any more: it is parked")
		op := create(t, s, replayOf(t, s, id)).ID
		sends := chunk(t, s, op, nil, 1).Sends
		record(t, s, op, results(parkade.Unknown, sends)...)
		if err := s.Settle(t.Context(), id, c.arrived, "ann", "saw it in their log"); err != nil {
			t.Fatal(err)
		}
		if m := message(t, s, id); m.State != c.state {
			t.Errorf("message is %s, want %s", m.State, c.state)
		}
		rs, err := s.Replays(t.Context(), id)
		if err != nil || rs[0].Outcome != parkade.Unknown || rs[0].DecidedBy != "ann" || rs[0].DecidedAs != c.as {
			t.Errorf("replay %+v, %v", rs, err)
		}
		actions, err := s.Actions(t.Context(), store.ActionFilter{Message: id}, 0, 10)
		if err != nil || len(actions) != 2 || actions[0].Detail != "taken as "+c.as {
			t.Errorf("actions %+v, %v", actions, err)
		}
		wantSound(t, s)
	}
}

func TestAGivenBackMessageIsGivenBack(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	n := replayOf(t, s, id)
	n.Verb, n.Items[0].Exchange, n.Items[0].RoutingKey = parkade.GiveBack, "", storetest.Queue().Name
	op := create(t, s, n).ID
	record(t, s, op, results(parkade.Confirmed, chunk(t, s, op, nil, 1).Sends)...)
	if m := message(t, s, id); m.State != parkade.GivenBack {
		t.Errorf("message is %s", m.State)
	}
	wantSound(t, s)
}

func TestEverybodyWhoFollowsHearsOfAChunk(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	op := create(t, s, replayOf(t, s, parkN(t, s, 1)...)).ID
	changed, stop := s.Subscribe(store.Operations)
	defer stop()
	chunk(t, s, op, nil, 1)
	select {
	case <-changed:
	default:
		t.Error("no signal after a chunk was taken")
	}
}
