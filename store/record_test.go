package store_test

import (
	"testing"

	"parkade"
	"parkade/store/storetest"
)

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
