package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// waiting parks two messages and makes an operation that starts in a minute.
func waiting(t *testing.T, s *store.Store) parkade.Operation {
	t.Helper()
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
	o, _, err := s.Create(t.Context(), store.NewOperation{
		Verb: parkade.Replay, IDs: ids, Target: parkade.Target{To: parkade.ToQueue, Queue: "orders.work"}, By: "ann", Delay: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func wantState(t *testing.T, s *store.Store, id parkade.OperationID, want parkade.OperationState) parkade.Operation {
	t.Helper()
	o, err := s.Operation(t.Context(), id)
	if err != nil || o.State != want {
		t.Fatalf("it is %s, want %s (%v)", o.State, want, err)
	}
	return o
}

func TestAScheduledOperationSendsNothingBeforeItsTimeAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	clock := store.Options{Clock: func() time.Time { return now }}
	path := filepath.Join(t.TempDir(), "parkade.db")
	s := storetest.Reopen(t, path, clock)
	o := waiting(t, s)
	if o.State != parkade.Scheduled || !o.DueAt.Equal(now.Add(time.Minute)) || !o.StartedAt.IsZero() || o.Left != 2 {
		t.Fatalf("it is %s, due at %s, started at %s, %d left", o.State, o.DueAt, o.StartedAt, o.Left)
	}
	nothing := func() {
		t.Helper()
		if next, err := s.StartDue(t.Context()); err != nil || next != time.Minute {
			t.Errorf("the next one is due in %s (%v)", next, err)
		}
		if c, err := s.Chunk(t.Context(), o.ID, nil, 10, 1<<20); err != nil || len(c.Sends) != 0 || c.State != parkade.Scheduled {
			t.Errorf("%d are taken while it is %s (%v)", len(c.Sends), c.State, err)
		}
		if err := s.Interrupt(t.Context(), o.ID, "The dashboard was stopped."); err != nil {
			t.Error(err)
		}
		wantState(t, s, o.ID, parkade.Scheduled)
	}
	nothing()
	if err := s.Pause(t.Context(), o.ID, "ann"); err == nil {
		t.Error("what hasn't begun could be paused")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.Reopen(t, path, clock)
	nothing()
	now = now.Add(time.Hour)
	if next, err := s.StartDue(t.Context()); err != nil || next != 0 {
		t.Errorf("the next one is due in %s (%v)", next, err)
	}
	if o := wantState(t, s, o.ID, parkade.Running); !o.StartedAt.Equal(now) {
		t.Errorf("it started at %s", o.StartedAt)
	}
	if c, err := s.Chunk(t.Context(), o.ID, nil, 10, 1<<20); err != nil || len(c.Sends) != 2 {
		t.Errorf("%d are taken (%v)", len(c.Sends), err)
	}
}

func TestAScheduledOperationIsCalledBackOrStartedNow(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	back := waiting(t, s)
	for range 2 { // a double click
		if err := s.Cancel(t.Context(), back.ID, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if o := wantState(t, s, back.ID, parkade.Cancelled); !o.StartedAt.IsZero() || o.EndedAt.IsZero() {
		t.Errorf("it started at %s and ended at %s", o.StartedAt, o.EndedAt)
	}
	if n, _, err := s.Count(t.Context(), parkade.Filter{State: parkade.Parked}, 10); err != nil || n != 2 {
		t.Errorf("%d are parked again (%v)", n, err)
	}
	if next, err := s.StartDue(t.Context()); err != nil || next != 0 {
		t.Errorf("something is due in %s (%v)", next, err)
	}
	now := waiting(t, s)
	for range 2 {
		if err := s.Resume(t.Context(), now.ID, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, s, now.ID, parkade.Running)
	wantSound(t, s)
}

func TestOnlyWhatIsSentCanWait(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("a", "{}"))
	for name, n := range map[string]store.NewOperation{
		"a discard":  {Verb: parkade.Discard, IDs: ids, Delay: time.Second},
		"the past":   {Verb: parkade.Replay, IDs: ids, Delay: -time.Second},
		"next month": {Verb: parkade.Replay, IDs: ids, Delay: 31 * 24 * time.Hour},
	} {
		if _, _, err := s.Create(t.Context(), n); err == nil {
			t.Errorf("%s was delayed", name)
		}
	}
}

func TestSteeringIsTheSameAcrossRestarts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parkade.db")
	s := storetest.Reopen(t, path)
	id := waiting(t, s).ID
	do := func(steer func(*store.Store) error) func() error { return func() error { return steer(s) } }
	resume := do(func(s *store.Store) error { return s.Resume(t.Context(), id, "ann") })
	pause := do(func(s *store.Store) error { return s.Pause(t.Context(), id, "ann") })
	cancel := do(func(s *store.Store) error { return s.Cancel(t.Context(), id, "ann") })
	for _, step := range []struct {
		steer         func() error
		state, booted parkade.OperationState
		why           string // after the restart
	}{
		{resume, parkade.Running, parkade.Interrupted, "The dashboard stopped while it was at work."},
		{resume, parkade.Running, parkade.Interrupted, "The dashboard stopped while it was at work."},
		{resume, parkade.Running, parkade.Interrupted, "The dashboard stopped while it was at work."},
		{cancel, parkade.Cancelled, parkade.Cancelled, "Cancelled by ann."},
	} {
		if err := step.steer(); err != nil {
			t.Fatal(err)
		}
		wantState(t, s, id, step.state)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = storetest.Reopen(t, path)
		if o := wantState(t, s, id, step.booted); o.Why != step.why {
			t.Errorf("it is %s because %q", o.State, o.Why)
		}
	}
	id = waitingAgain(t, s)
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	if err := pause(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.Reopen(t, path)
	if o := wantState(t, s, id, parkade.Paused); o.Why != "Paused by ann." || o.Left != 2 {
		t.Errorf("it is paused because %q with %d to go", o.Why, o.Left)
	}
	wantSound(t, s)
}

// waitingAgain makes an operation like that of waiting from the same messages.
func waitingAgain(t *testing.T, s *store.Store) parkade.OperationID {
	t.Helper()
	o, _, err := s.Create(t.Context(), store.NewOperation{
		Verb: parkade.Replay, IDs: []parkade.MessageID{1, 2}, Target: parkade.Target{To: parkade.ToQueue, Queue: "orders.work"}, By: "ann", Delay: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}
