package store_test

import (
	"fmt"
	"strings"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// parkN parks n messages with ids and returns theirs here.
func parkN(t *testing.T, s *store.Store, n int) []parkade.MessageID {
	t.Helper()
	var ds []parkade.Delivery
	for i := range n {
		ds = append(ds, storetest.Delivery(fmt.Sprintf("m-%d", i+1), fmt.Sprintf("body %d", i+1)))
	}
	return storetest.Park(t, s, storetest.Queue(), ds...)
}

// replayOf plans to send messages to the exchange orders, as they are now.
func replayOf(t *testing.T, s *store.Store, ids ...parkade.MessageID) store.NewOperation {
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

func create(tb testing.TB, s *store.Store, n store.NewOperation) parkade.Operation {
	tb.Helper()
	op, created, err := s.Create(tb.Context(), n)
	if err != nil || !created {
		tb.Fatalf("create: %v, created %v", err, created)
	}
	return op
}

func chunk(t *testing.T, s *store.Store, id parkade.OperationID, done []parkade.Result, limit int) store.Chunk {
	t.Helper()
	c, err := s.Chunk(t.Context(), id, done, limit, 16<<20)
	if err != nil {
		t.Fatalf("chunk: %v", err)
	}
	return c
}

func record(t *testing.T, s *store.Store, id parkade.OperationID, done ...parkade.Result) {
	t.Helper()
	if err := s.Record(t.Context(), id, done); err != nil {
		t.Fatalf("record: %v", err)
	}
}

func message(t *testing.T, s *store.Store, id parkade.MessageID) parkade.Message {
	t.Helper()
	m, err := s.Message(t.Context(), id)
	if err != nil {
		t.Fatalf("message: %v", err)
	}
	return m
}

func operation(t *testing.T, s *store.Store, id parkade.OperationID) parkade.Operation {
	t.Helper()
	op, err := s.Operation(t.Context(), id)
	if err != nil {
		t.Fatalf("operation: %v", err)
	}
	return op
}

// wantConflict fails unless err is a Conflict that says all of these.
func wantConflict(t *testing.T, err error, says ...string) {
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
func comeBack(t *testing.T, s *store.Store, v parkade.Send) parkade.MessageID {
	t.Helper()
	d := storetest.Delivery(parkade.Text(v.Draft.Properties.MessageID), string(v.Draft.Body))
	d.Headers = d.Headers.With(parkade.ReplayIDHeader, v.Stamp)
	return storetest.Park(t, s, storetest.Queue(), d)[0]
}
