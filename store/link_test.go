package store_test

import (
	"encoding/base32"
	"fmt"
	"strings"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// sendOnce records a replay of message 1 with that outcome, as an operation with
// that verb does, and returns its stamp.
func sendOnce(t *testing.T, s *store.Store, outcome parkade.Outcome, verb parkade.Verb) string {
	t.Helper()
	state, expires, holder := outcome.Next(), "NULL", "NULL"
	if !state.Undecided() {
		expires = "1"
	}
	if state == parkade.InOperation {
		holder = "1"
	}
	do(t, s,
		`INSERT INTO operation (id, verb, state, by, reason, target, policy, total, base_replay_id, created_at)
		 VALUES (1, '`+string(verb)+`', 'running', '', '', '{}', '{}', 1, 0, 0)`,
		`INSERT INTO replay (id, run_id, message_id, version, operation_id, pos, exchange, routing_key, state, intent_at)
		 VALUES (1, (SELECT max(id) FROM run), 1, 1, 1, 1, 'orders', 'created', '`+string(outcome)+`', 0)`,
		fmt.Sprintf(`UPDATE message SET state = '%s', expires_at = %s, operation_id = %s, replays = 1, last_replay_id = 1, last_outcome = '%s' WHERE id = 1`,
			state, expires, holder, outcome),
		`UPDATE counter SET state = '`+string(state)+`' WHERE state = 'parked'`)
	var epoch []byte
	if err := raw(t, s).QueryRowContext(t.Context(), `SELECT epoch FROM run ORDER BY id DESC`).Scan(&epoch); err != nil {
		t.Fatal(err)
	}
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(epoch)) + "-1"
}

func stamped(d parkade.Delivery, stamp string) parkade.Delivery {
	d.Headers = d.Headers.With(parkade.ReplayIDHeader, stamp)
	return d
}

// wantCounted fails unless exactly n messages are counted in a state.
func wantCounted(t *testing.T, s *store.Store, state parkade.State, n int64) {
	t.Helper()
	if got, _, err := s.Count(t.Context(), parkade.Filter{State: state}, 0); got != n || err != nil {
		t.Errorf("%d messages are counted %s, want %d; %v", got, state, n, err)
	}
}

func TestAReplayThatCameBackIsLinked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		sent, returns parkade.Delivery
		outcome       parkade.Outcome
		linked        bool
		state         parkade.State // of what was sent
		becomes       parkade.Outcome
	}{
		{"confirmed", plain("a", "x"), plain("a", "x"), parkade.Confirmed, true, parkade.Replayed, parkade.Confirmed},
		{"edited on its way", plain("a", "x"), plain("a", "y"), parkade.Confirmed, true, parkade.Replayed, parkade.Confirmed},
		{"in doubt until then", plain("a", "x"), plain("a", "x"), parkade.Unknown, true, parkade.Replayed, parkade.Confirmed},
		{"still on its way", plain("a", "x"), plain("a", "x"), parkade.Intent, true, parkade.InOperation, parkade.Intent},
		{"without an id", plain("", "x"), plain("", "x"), parkade.Confirmed, true, parkade.Replayed, parkade.Confirmed},
		{"a header copied to another message", plain("a", "x"), plain("b", "x"), parkade.Unknown, false, parkade.InDoubt, parkade.Unknown},
		{"a header copied to another body without an id", plain("", "x"), plain("", "y"), parkade.Unknown, false, parkade.InDoubt, parkade.Unknown},
		{"of what certainly never arrived", plain("a", "x"), plain("a", "x"), parkade.Unroutable, false, parkade.Parked, parkade.Unroutable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			storetest.Park(t, s, storetest.Queue(), c.sent)
			stamp := sendOnce(t, s, c.outcome, parkade.Replay)
			storetest.Park(t, s, storetest.Queue(), stamped(c.returns, stamp))
			before, err1 := s.Message(t.Context(), 1)
			after, err2 := s.Message(t.Context(), 2)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if linked := after.CameFrom == 1 && after.Previous == 1 && after.Round == 2; linked != c.linked || before.CameBack != c.linked {
				t.Errorf("came from %d, previous %d, round %d, came back %v; want linked %v", after.CameFrom, after.Previous, after.Round, before.CameBack, c.linked)
			}
			if before.State != c.state || before.LastOutcome != c.becomes || after.ForeignReplay != "" {
				t.Errorf("what was sent is %s (%s), foreign %q", before.State, before.LastOutcome, after.ForeignReplay)
			}
			n := int64(1)
			if c.state == parkade.Parked {
				n = 2
			}
			wantCounted(t, s, c.state, n)
			rounds, err := s.Rounds(t.Context(), 1)
			if err != nil || (len(rounds) == 2) != c.linked {
				t.Errorf("%d rounds, %v", len(rounds), err)
			}
		})
	}
}

func TestWhatWasGivenBackOpensNoNewRound(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	storetest.Park(t, s, storetest.Queue(), storetest.Delivery("a", "x"))
	stamp := sendOnce(t, s, parkade.Confirmed, parkade.GiveBack)
	storetest.Park(t, s, storetest.Queue(), stamped(plain("a", "x"), stamp))
	m, err := s.Message(t.Context(), 2)
	if err != nil || m.Round != 1 || m.Previous != 1 {
		t.Errorf("round %d after %d, %v", m.Round, m.Previous, err)
	}
	if m.Origin == nil || *m.Origin != (parkade.Origin{Exchange: "orders", RoutingKey: "created", Queue: "orders.work"}) {
		t.Errorf("it forgot its origin: %+v", m.Origin)
	}
}

func TestWhatWasReplayedStraightRemembersWhereItWasPublished(t *testing.T) {
	t.Parallel()
	first := parkade.Origin{Exchange: "orders", RoutingKey: "created", Queue: "orders.work"}
	elsewhere := parkade.Origin{RoutingKey: "billing.work", Queue: "billing.work"}
	for died, want := range map[parkade.Origin]parkade.Origin{
		{RoutingKey: "orders.work", Queue: "orders.work"}: first,
		elsewhere: elsewhere,
		{Exchange: "other", RoutingKey: "created", Queue: "orders.work"}: {Exchange: "other", RoutingKey: "created", Queue: "orders.work"},
	} {
		s := storetest.Open(t)
		storetest.Park(t, s, storetest.Queue(), storetest.Delivery("a", "x"))
		back := stamped(plain("a", "x"), sendOnce(t, s, parkade.Confirmed, parkade.Replay))
		back.Headers = back.Headers.With("x-death", parkade.List{parkade.NewTable(
			parkade.Field{Name: "queue", Value: died.Queue}, parkade.Field{Name: "reason", Value: parkade.Rejected},
			parkade.Field{Name: "exchange", Value: died.Exchange}, parkade.Field{Name: "routing-keys", Value: parkade.List{died.RoutingKey}},
		)})
		storetest.Park(t, s, storetest.Queue(), back)
		if m, err := s.Message(t.Context(), 2); err != nil || m.Round != 2 || m.Origin == nil || *m.Origin != want {
			t.Errorf("died as %+v it has round %d and origin %+v, want %+v (%v)", died, m.Round, m.Origin, want, err)
		}
	}
}

func TestAStampOfAnotherStoreIsKept(t *testing.T) {
	t.Parallel()
	for stamp, foreign := range map[string]bool{"aaaaaaaaaaaaa-7": true, "hello": false, "aaaaaaaaaaaaa-": false, "aaaaaaaaaaaaa-07": false} {
		s := storetest.Open(t)
		storetest.Park(t, s, storetest.Queue(), stamped(plain("a", "x"), stamp))
		m, err := s.Message(t.Context(), 1)
		if err != nil || (m.ForeignReplay == stamp) != foreign || m.CameFrom != 0 || m.Round != 1 {
			t.Errorf("%q: foreign %q, %v", stamp, m.ForeignReplay, err)
		}
	}
}
