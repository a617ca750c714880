package store_test

import (
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// What went wrong needs somebody until it was dealt with, however that was done.
func TestWhatWasHandledElsewhereNeedsNobody(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := parkN(t, s, 8)
	op := create(t, s, replayOf(t, s, ids...)).ID
	c := chunk(t, s, op, nil, 8)
	outcomes := []parkade.Outcome{
		parkade.Unroutable, parkade.Nacked, parkade.Unroutable, parkade.Unroutable, parkade.Unknown, parkade.Unknown, parkade.Confirmed, parkade.Confirmed,
	}
	for i, o := range outcomes {
		record(t, s, op, results(o, c.Sends[i:i+1])...)
	}
	first, second := comeBack(t, s, c.Sends[6]), comeBack(t, s, c.Sends[7])
	wantUnhandled := func(when string, want ...parkade.MessageID) {
		t.Helper()
		ops := []parkade.Operation{{ID: 99}, operation(t, s, op)}
		if err := s.CountUnhandled(t.Context(), ops); err != nil {
			t.Fatal(err)
		}
		replays, err := s.Unhandled(t.Context(), op, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []parkade.MessageID
		for _, r := range replays {
			got = append(got, r.Message)
		}
		if len(got) != len(want) || ops[1].Unhandled != int64(len(want)) || ops[0].Unhandled != 0 {
			t.Fatalf("%s: %v need somebody, counted %d, want %v", when, got, ops[1].Unhandled, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v need somebody, want %v", when, got, want)
			}
		}
	}
	wantUnhandled("at first", ids[6], ids[7], ids[0], ids[1], ids[2], ids[3], ids[4], ids[5])
	if one, err := s.Unhandled(t.Context(), op, 1); err != nil || len(one) != 1 || one[0].Message != ids[6] || one[0].ReturnedAs != first {
		t.Errorf("the first is %+v: %v", one, err)
	}

	again := create(t, s, replayOf(t, s, ids[0])).ID
	wantUnhandled("held by another", ids[6], ids[7], ids[1], ids[2], ids[3], ids[4], ids[5])
	record(t, s, again, results(parkade.Confirmed, chunk(t, s, again, nil, 1).Sends)...)
	closing := func(verb parkade.Verb, id parkade.MessageID) {
		t.Helper()
		if _, _, err := s.Create(t.Context(), store.NewOperation{Verb: verb, IDs: []parkade.MessageID{id}, By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	closing(parkade.Discard, ids[1])
	closing(parkade.Resolve, ids[2])
	if err := s.Settle(t.Context(), ids[4], false, "ann", "it isn't there"); err != nil {
		t.Fatal(err)
	}
	closing(parkade.Resolve, first)
	wantUnhandled("when most are handled", ids[7], ids[3], ids[5])

	once := create(t, s, replayOf(t, s, ids[3])).ID
	record(t, s, once, results(parkade.Unroutable, chunk(t, s, once, nil, 1).Sends)...)
	wantUnhandled("when one failed again, which is now of the other operation", ids[7], ids[5])
	comeBack(t, s, c.Sends[5])
	wantUnhandled("when the one in doubt came back", ids[5], ids[7])
	closing(parkade.Discard, second)
	wantUnhandled("in the end", ids[5])
	if o := operation(t, s, op); o.Counts[parkade.Unroutable] != 3 {
		t.Errorf("what happened is forgotten: %v", o.Counts)
	}
}
