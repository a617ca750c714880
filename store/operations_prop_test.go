package store_test

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// TestAnySequenceOfEventsKeepsTheStoreSound drives operations as people, runners,
// crashes and consumers do, in any order, and looks after each step whether all
// that docs/protocol.md promises holds.
func TestAnySequenceOfEventsKeepsTheStoreSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: t, path: filepath.Join(t.TempDir(), rapid.StringMatching(`[a-z]{12}`).Draw(rt, "file"))}
		w.s = storetest.Reopen(t, w.path)
		w.messages = parkN(t, w.s, 6)
		defer func() { _ = w.s.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"create": w.create, "chunk": w.chunk, "record": w.record, "steer": w.steer, "crash": w.crash,
			"came back": w.cameBack, "settle": w.settle, "close": w.closeMessages, "edit": w.edit,
			"": func(*rapid.T) { wantSound(t, w.s) },
		})
	})
}

type world struct {
	t        *testing.T
	path     string
	s        *store.Store
	messages []parkade.MessageID
	ops      []parkade.OperationID
	flying   map[parkade.OperationID][]parkade.Send // of this process
	sent     []parkade.Send
	arrived  map[parkade.ReplayID]bool // as far as RabbitMQ is concerned
}

// allowed fails the test for an error that isn't meant for a person.
func (w *world) allowed(err error) {
	w.t.Helper()
	if kind, _ := parkade.Explain(err); err != nil && kind == parkade.Internal {
		w.t.Fatalf("not a refusal: %v", err)
	}
}

func (w *world) operation(t *rapid.T) parkade.OperationID {
	if len(w.ops) == 0 {
		t.Skip("no operation yet")
	}
	return rapid.SampledFrom(w.ops).Draw(t, "operation")
}

func (w *world) create(t *rapid.T) {
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom(w.messages), 1, 4, rapid.ID[parkade.MessageID]).Draw(t, "messages")
	n := replayOf(w.t, w.s, ids...)
	n.MaxBad = rapid.IntRange(1, 4).Draw(t, "max bad")
	if len(ids) == 1 && rapid.Bool().Draw(t, "edit") {
		edit := editOf(w.t, w.s, ids[0], "ann", rapid.String().Draw(t, "body"))
		n.Edit = &edit
	}
	n.Accept = rapid.SliceOfDistinct(rapid.SampledFrom([]parkade.State{parkade.InDoubt, parkade.Replayed}), rapid.ID[parkade.State]).Draw(t, "accept")
	if rapid.Bool().Draw(t, "filter") {
		n.Items, n.Expect, n.Edit, n.Filter = nil, nil, nil, &parkade.Filter{}
		n.Target = parkade.Target{To: parkade.ToQueue, Queue: "q"}
	}
	op, _, err := w.s.Create(w.t.Context(), n)
	w.allowed(err)
	if err == nil {
		w.ops = append(w.ops, op.ID)
	}
}

// outcomes draws what became of some that are on their way. What RabbitMQ says
// didn't arrive didn't; what was given back was never sent.
func (w *world) outcomes(t *rapid.T, id parkade.OperationID) []parkade.Result {
	flying := w.flying[id]
	n := rapid.IntRange(0, len(flying)).Draw(t, "settled")
	var done []parkade.Result
	for _, v := range flying[:n] {
		of := []parkade.Outcome{parkade.Confirmed, parkade.Unknown}
		if !w.arrived[v.Replay] {
			of = append(of, parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.NotSent)
		}
		o := rapid.SampledFrom(of).Draw(t, "outcome")
		if o == parkade.Confirmed || o == parkade.Unknown && rapid.Bool().Draw(t, "arrived") {
			w.arrived[v.Replay] = true
		}
		if o != parkade.NotSent {
			w.sent = append(w.sent, v)
		}
		done = append(done, parkade.Result{Replay: v.Replay, Outcome: o})
	}
	w.flying[id] = flying[n:]
	return done
}

func (w *world) chunk(t *rapid.T) {
	w.remember()
	id := w.operation(t)
	done := w.outcomes(t, id)
	c := chunk(w.t, w.s, id, done, rapid.IntRange(0, 3).Draw(t, "limit"))
	for _, v := range c.Sends {
		for _, others := range w.flying {
			for _, other := range others {
				if other.Message == v.Message {
					w.t.Errorf("message %d is sent twice at a time", v.Message)
				}
			}
		}
	}
	w.flying[id] = append(w.flying[id], c.Sends...)
}

func (w *world) remember() {
	if w.flying == nil {
		w.flying = make(map[parkade.OperationID][]parkade.Send)
	}
	if w.arrived == nil {
		w.arrived = make(map[parkade.ReplayID]bool)
	}
}

func (w *world) record(t *rapid.T) {
	w.remember()
	id := w.operation(t)
	record(w.t, w.s, id, w.outcomes(t, id)...)
}

func (w *world) steer(t *rapid.T) {
	id := w.operation(t)
	ctx := w.t.Context()
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0:
		w.allowed(w.s.Pause(ctx, id, "ann"))
	case 1, 2:
		w.allowed(w.s.Resume(ctx, id, "ann"))
	case 3:
		w.allowed(w.s.Cancel(ctx, id, "ann"))
	case 4:
		w.allowed(w.s.Interrupt(ctx, id, "Stopping."))
	case 5:
		w.allowed(w.s.Dismiss(ctx, id, "ann"))
	}
}

// crash loses all that is in memory. Any of what was on its way may have arrived.
func (w *world) crash(t *rapid.T) {
	w.remember()
	if err := w.s.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.s = storetest.Reopen(w.t, w.path)
	for _, flying := range w.flying {
		for _, v := range flying {
			w.arrived[v.Replay] = w.arrived[v.Replay] || rapid.Bool().Draw(t, "arrived")
			w.sent = append(w.sent, v)
		}
	}
	for _, flying := range w.flying {
		for _, v := range flying {
			rs, err := w.s.Replays(w.t.Context(), v.Message)
			for _, r := range rs {
				if r.ID == v.Replay && r.Outcome != parkade.Unknown && r.Outcome != parkade.Confirmed {
					w.t.Errorf("replay %d may have arrived, and is %s after a crash, %v", r.ID, r.Outcome, err)
				}
			}
		}
	}
	clear(w.flying)
	var open int
	for _, id := range w.ops {
		open += int(operation(w.t, w.s, id).Counts[parkade.Intent])
	}
	if open != 0 {
		w.t.Errorf("%d replays are on their way after a start", open)
	}
}

// cameBack parks again what a consumer got, be its confirm here or not.
func (w *world) cameBack(t *rapid.T) {
	w.remember()
	var can []parkade.Send
	for _, v := range w.sent {
		if w.arrived[v.Replay] {
			can = append(can, v)
		}
	}
	for _, flying := range w.flying {
		can = append(can, flying...)
	}
	if len(can) == 0 {
		t.Skip("nothing arrived")
	}
	v := can[rapid.IntRange(0, len(can)-1).Draw(t, "which")]
	w.arrived[v.Replay] = true
	w.messages = append(w.messages, comeBack(w.t, w.s, v))
}

// edit saves another body, seen as the message is or as it was before.
func (w *world) edit(t *rapid.T) {
	n := editOf(w.t, w.s, rapid.SampledFrom(w.messages).Draw(t, "message"), "ben", rapid.String().Draw(t, "body"))
	n.Seen -= int64(rapid.IntRange(0, 1).Draw(t, "too late"))
	_, err := w.s.SaveEdit(w.t.Context(), n)
	w.allowed(err)
}

func (w *world) settle(t *rapid.T) {
	w.allowed(w.s.Settle(w.t.Context(), rapid.SampledFrom(w.messages).Draw(t, "message"), rapid.Bool().Draw(t, "arrived"), "ann", ""))
}

// closeMessages discards, resolves or restores.
func (w *world) closeMessages(t *rapid.T) {
	n := store.NewOperation{Verb: rapid.SampledFrom([]parkade.Verb{parkade.Discard, parkade.Resolve, parkade.Restore}).Draw(t, "verb")}
	if n.Verb != parkade.Restore && rapid.Bool().Draw(t, "in doubt too") {
		n.Accept = []parkade.State{parkade.InDoubt}
	}
	if rapid.Bool().Draw(t, "all") {
		n.Filter = &parkade.Filter{}
	} else {
		n.IDs = []parkade.MessageID{rapid.SampledFrom(w.messages).Draw(t, "message")}
	}
	_, _, err := w.s.Create(w.t.Context(), n)
	w.allowed(err)
}
