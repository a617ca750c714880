package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func TestAReplaySendsWhatItsFormShowed(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
	page := s.ask(t, "/replay?id=1&id=2", nil)
	wants(t, text(page), "Replay 2 → orders.work", "Exchange orders, key created: reaches orders.work and no other queue", "As it was published", "Straight into the queue that failed it", "Stripped: x-death")
	form := fields(page.Body.String())
	form.Set("why", "fixed in 2026.11.3")
	form.Set("rate", "50")
	w := s.ask(t, "/replay", form)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/operations/1" {
		t.Fatalf("it answers %d and leads to %q: %s", w.Code, w.Header().Get("Location"), text(w))
	}
	op, err := s.Operation(t.Context(), 1)
	if err != nil || op.Verb != parkade.Replay || op.Total != 2 || op.Reason != "fixed in 2026.11.3" || op.Rate != 50 {
		t.Errorf("the operation is %+v: %v", op, err)
	}
	if again := s.ask(t, "/replay", form); again.Header().Get("Location") != "/operations/1" {
		t.Errorf("the form sent twice answers %d: %s", again.Code, text(again))
	}
	if all, _ := s.Operations(t.Context(), 0, 10); len(all) != 1 {
		t.Errorf("the form sent twice made %d operations", len(all))
	}
}

func TestAReplayIsShownAgainWhenItIsNotWhatWasShown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, s site, form url.Values){
		"somebody was faster": func(t *testing.T, s site, _ url.Values) {
			t.Helper()
			if _, _, err := s.Create(t.Context(), store.NewOperation{Verb: parkade.Discard, IDs: []parkade.MessageID{2}, By: "anna"}); err != nil {
				t.Fatal(err)
			}
		},
		"another target was chosen": func(_ *testing.T, _ site, form url.Values) {
			form.Set("to", "custom")
			form.Set("routing_key", "orders.work")
		},
		"the rate is no number": func(_ *testing.T, _ site, form url.Values) { form.Set("rate", "fast") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
			form := fields(s.ask(t, "/replay?id=1&id=2", nil).Body.String())
			form.Set("why", "because <b>")
			change(t, s, form)
			before, _ := s.Operations(t.Context(), 0, 10)
			w := s.ask(t, "/replay", form)
			if w.Code != http.StatusConflict && w.Code != http.StatusUnprocessableEntity {
				t.Errorf("it answers %d", w.Code)
			}
			wants(t, text(w), "Nothing was changed.")
			wants(t, w.Body.String(), `value="because &lt;b&gt;"`)
			if after, _ := s.Operations(t.Context(), 0, 10); len(after) != len(before) {
				t.Error("an operation was made all the same")
			}
		})
	}
}

func TestAChoiceThatWouldLoseMessagesIsShownAndBlocked(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := storetest.Delivery("a", "{}")
	d.Headers = parkade.NewTable(parkade.Field{Name: "x-death", Value: parkade.List{parkade.NewTable(
		parkade.Field{Name: "queue", Value: "elsewhere"}, parkade.Field{Name: "reason", Value: parkade.Rejected},
		parkade.Field{Name: "exchange", Value: ""}, parkade.Field{Name: "routing-keys", Value: parkade.List{"elsewhere"}}, parkade.Field{Name: "count", Value: int64(1)})}})
	storetest.Park(t, s.Store, storetest.Queue(), d)
	page := s.ask(t, "/replay?id=1", nil)
	wants(t, text(page), "would be lost: its dead-letter exchange gone doesn't exist", "1 left out", "Replay 0")
	wants(t, page.Body.String(), "disabled")
}

func TestOneInDoubtIsSentOnlyWhenTicked(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"))
	doubt(t, s)
	wants(t, s.read(t, "/messages/1"), "In doubt", "Nobody knows whether its last replay arrived", "the line broke")
	wants(t, s.read(t, "/replay?id=1"), "Replay 0", "1 left out", "Send the 1 in doubt as well")
	wants(t, s.read(t, "/replay?id=1&with=in+doubt"), "Replay 1 → orders.work")
	if w := s.ask(t, "/messages/1/decide", url.Values{"arrived": {"yes"}, "why": {"seen in the shop"}}); w.Code != http.StatusSeeOther {
		t.Fatalf("the decision answers %d: %s", w.Code, text(w))
	}
	wants(t, s.read(t, "/messages/1"), "Resolved by hand", "took it as arrived", "seen in the shop")
}

// doubt leaves the outcome of a replay of message 1 unknown.
func doubt(t *testing.T, s site) {
	t.Helper()
	op, _, err := s.Create(t.Context(), store.NewOperation{
		Verb: parkade.Replay, IDs: []parkade.MessageID{1}, Target: parkade.Target{To: parkade.ToQueue, Queue: "orders.work"}, By: "anna",
	})
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := s.Chunk(t.Context(), op.ID, nil, 1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), op.ID, []parkade.Result{{Replay: chunk.Sends[0].Replay, Outcome: parkade.Unknown, Why: "the line broke"}}); err != nil {
		t.Fatal(err)
	}
}

func TestDiscardingSaysWhatItMeansAndCanBeUndone(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
	for _, step := range []struct {
		path, says, button string
		state              parkade.State
	}{
		{"/discard?id=1&id=2", "this store holds the only copy", "Discard 2", parkade.Discarded},
		{"/restore?filter=state%3Ddiscarded", "parked again", "Restore 2", parkade.Parked},
		{"/resolve?id=1&id=2", "something else dealt with them", "Resolve 2", parkade.Resolved},
		{"/restore?id=1&id=2", "parked again", "Restore 2", parkade.Parked},
		{"/discard?filter=queue%3Dorders.parking", "this store holds the only copy", "Discard 2", parkade.Discarded},
	} {
		page := s.ask(t, step.path, nil)
		wants(t, text(page), step.says, step.button)
		path, _, _ := strings.Cut(step.path, "?")
		w := s.ask(t, path, fields(page.Body.String()))
		if w.Code != http.StatusSeeOther {
			t.Fatalf("%s answers %d: %s", step.path, w.Code, text(w))
		}
		for id := range parkade.MessageID(2) {
			if m, err := s.Message(t.Context(), id+1); err != nil || m.State != step.state {
				t.Errorf("after %s message %d is %s: %v", step.path, id+1, m.State, err)
			}
		}
	}
}

func TestADiscardIsRefusedWhenTheSetMoved(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"))
	form := fields(s.ask(t, "/discard?filter=state%3Dparked", nil).Body.String())
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("b", "{}"))
	w := s.ask(t, "/discard", form)
	if w.Code != http.StatusConflict {
		t.Fatalf("it answers %d: %s", w.Code, text(w))
	}
	wants(t, text(w), "Nothing was changed", "Discard 2")
	if m, _ := s.Message(t.Context(), 1); m.State != parkade.Parked {
		t.Errorf("message 1 is %s", m.State)
	}
}

func TestASheetIsAPartOfAPage(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"))
	w := s.ask(t, "/replay?id=1", nil, "HX-Request", "true")
	if strings.Contains(w.Body.String(), "<html") || !strings.Contains(w.Body.String(), `commandfor="sheet"`) {
		t.Errorf("a sheet is a page, or can't be closed: %s", w.Body)
	}
	sent := s.ask(t, "/replay", fields(w.Body.String()), "HX-Request", "true")
	if got := sent.Header().Get("HX-Redirect"); got != "/operations/1" {
		t.Errorf("the sheet leads to %q with %d: %s", got, sent.Code, text(sent))
	}
	if none := s.ask(t, "/replay", nil); none.Code != http.StatusUnprocessableEntity || !strings.Contains(text(none), "Tick the messages first") {
		t.Errorf("nothing ticked answers %d: %s", none.Code, text(none))
	}
}

func TestAnotherTargetIsChosenFromWhatExistsAndThePolicyIsShown(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"))
	page := s.ask(t, "/replay?id=1", nil)
	wants(t, page.Body.String(), `list="replay-exchanges"`, `<option value="orders">`, `<option value="orders.work">`, `<option value="elsewhere">`)
	wants(t, text(page), "By the configuration they go where each one came from, worked out from the bindings")
}
