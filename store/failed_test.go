package store_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func TestWhatFailedIsFoundByItsOutcome(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	var all []parkade.Delivery
	for i := range 8 {
		all = append(all, storetest.Delivery(strconv.Itoa(i), "{}"))
	}
	ids := storetest.Park(t, s, storetest.Queue(), all...)
	op, _, err := s.Create(t.Context(), store.NewOperation{Verb: parkade.Replay, IDs: ids, Target: parkade.Target{To: parkade.ToQueue, Queue: "work"}, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Chunk(t.Context(), op.ID, nil, 6, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var done []parkade.Result
	for i, o := range []parkade.Outcome{parkade.Confirmed, parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.Unknown, parkade.NotSent} {
		done = append(done, parkade.Result{Replay: c.Sends[i].Replay, Outcome: o, Why: "so it was"})
	}
	if err := s.Cancel(t.Context(), op.ID, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), op.ID, done); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		outcomes []parkade.Outcome
		want     []parkade.MessageID
	}{
		{[]parkade.Outcome{parkade.Unroutable, parkade.Nacked, parkade.Refused}, ids[1:4]},
		{[]parkade.Outcome{parkade.Unknown}, ids[4:5]},
		{[]parkade.Outcome{parkade.NotSent}, ids[5:]},
		{nil, nil},
	} {
		got, err := s.Failed(t.Context(), op.ID, tt.outcomes)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got, %v):\n%s", tt.outcomes, err, diff)
		}
	}
	if _, err := s.Failed(t.Context(), op.ID, []parkade.Outcome{parkade.Confirmed}); kindOf(err) != parkade.Invalid {
		t.Errorf("what was confirmed could be retried: %v", err)
	}
	if _, err := s.Failed(t.Context(), 99, nil); kindOf(err) != parkade.NotFound {
		t.Errorf("of an operation that isn't there: %v", err)
	}
}

func TestWhatIsDismissedIsStillKept(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
	for _, id := range ids {
		if _, _, err := s.Create(t.Context(), store.NewOperation{Verb: parkade.Discard, IDs: []parkade.MessageID{id}, By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Dismiss(t.Context(), 1, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	shown, err := s.Undismissed(t.Context(), 0, 10)
	if err != nil || len(shown) != 1 || shown[0].ID != 2 {
		t.Errorf("shown are %v (%v)", shown, err)
	}
	if all, err := s.Operations(t.Context(), 0, 10); err != nil || len(all) != 2 || all[1].Dismissed.IsZero() {
		t.Errorf("kept are %v (%v)", all, err)
	}
	if actions, err := s.Actions(t.Context(), store.ActionFilter{Operation: 1}, 0, 10); err != nil || len(actions) != 2 {
		t.Errorf("it was dismissed %d times (%v)", len(actions)-1, err)
	}
}
