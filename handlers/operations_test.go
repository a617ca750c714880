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

// worked makes an operation of six messages, four of which have an outcome.
func (w *watched) worked() parkade.Operation {
	w.t.Helper()
	ctx := w.t.Context()
	var all []parkade.Delivery
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		all = append(all, storetest.Delivery(id, "{}"))
	}
	ids := storetest.Park(w.t, w.store, storetest.Queue(), all...)
	o, _, err := w.store.Create(ctx, store.NewOperation{
		Verb: parkade.Replay, IDs: ids, Target: parkade.Target{To: parkade.ToQueue, Queue: "orders.work"}, Rate: 2,
		By: "anna", Reason: "fixed in 2026.11.3", Policy: parkade.Policy{ResetHeaders: []string{"x-try"}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	chunk, err := w.store.Chunk(ctx, o.ID, nil, 4, 1<<20)
	if err != nil || len(chunk.Sends) != 4 {
		w.t.Fatalf("chunk: %d sends, %v", len(chunk.Sends), err)
	}
	ends := []parkade.Result{
		{Outcome: parkade.Confirmed},
		{Outcome: parkade.Unroutable, Why: "312 NO_ROUTE"},
		{Outcome: parkade.Nacked, Why: "maximum length reached"},
		{Outcome: parkade.Unknown, Why: "the connection was lost"},
	}
	for i := range ends {
		ends[i].Replay = chunk.Sends[i].Replay
	}
	if err := w.store.Record(ctx, o.ID, ends); err != nil {
		w.t.Fatal(err)
	}
	return o
}

func TestAnOperationShowsEveryOutcome(t *testing.T) {
	t.Parallel()
	w := watch(t)
	o := w.worked()
	path := "/operations/" + o.ID.String()
	page := w.reads(path)
	w.has(page,
		"Replay 6 → orders.work", "Running", "1 confirmed, 1 unroutable, 1 nacked, 1 unknown, 2 to go", "at most 2/s",
		"3 need a look", "312 NO_ROUTE", "maximum length reached", "the connection was lost", "It may or may not have arrived",
		"Cancel the remaining 2 …", "anna", "fixed in 2026.11.3", "x-try", "straight into the queue orders.work")
	w.has(w.ask(path, nil).Body.String(), `aria-label="Of 6: 1 Confirmed, 0 On its way, 1 Unroutable, 1 Nacked, 0 Refused, 1 Unknown, 2 Not sent."`)

	only := w.ask(path+"?outcome=nacked", nil).Body.String()
	if i := strings.Index(only, `id="items"`); i < 0 || strings.Contains(only[i:], "312 NO_ROUTE") || !strings.Contains(only[i:], "maximum length reached") {
		t.Error("the list of nacked messages isn't that")
	}
	if answer := w.ask(path+"?outcome=lost", nil); answer.Code != http.StatusUnprocessableEntity {
		t.Errorf("an outcome that isn't one answers %d", answer.Code)
	}
	w.has(w.reads("/operations"), "Replay 6 → orders.work", "fixed in 2026.11.3")
	w.has(w.reads("/"), "1 message is in doubt", "Replay 6 → orders.work")
}

func TestAnOperationIsPausedResumedAndCancelled(t *testing.T) {
	t.Parallel()
	w := watch(t)
	path := "/operations/" + w.worked().ID.String()
	press := func(what, want string) {
		t.Helper()
		if answer := w.ask(path+"/"+what, url.Values{}); answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != path {
			t.Fatalf("%s answers %d to %q", what, answer.Code, answer.Header().Get("Location"))
		}
		w.has(w.reads(path), want)
	}
	press("pause", "Resume 2 → orders.work")
	w.has(w.reads("/"), "Replay 6 → orders.work is paused", "2 of its messages were not sent")
	press("resume", "Pause, 2 wait")
	w.has(w.reads(path+"/cancel"), "Cancel the remaining 2?", "What was sent stays sent")
	press("cancel", "What wasn't is parked again")
	if answer := w.ask(path+"/resume", url.Values{}); answer.Code != http.StatusConflict {
		t.Errorf("resuming what is cancelled answers %d", answer.Code)
	}
	w.has(w.reads("/actions?operation="+strings.TrimPrefix(path, "/operations/")), "paused", "resumed", "cancelled")
}

func TestAnInterruptedOperationSaysWhatItMeans(t *testing.T) {
	t.Parallel()
	w := watch(t)
	o := w.worked()
	if err := w.store.Interrupt(t.Context(), o.ID, "The dashboard stopped."); err != nil {
		t.Fatal(err)
	}
	w.has(w.reads("/operations/"+o.ID.String()), "Interrupted", "The dashboard stopped.", "resuming doesn't send it again")
	w.has(w.reads("/"), "was interrupted")
}

func TestWhatLeavesLaterIsCalledBackOrSentNow(t *testing.T) {
	t.Parallel()
	for _, end := range []struct{ press, says string }{
		{"cancel", "It was called back before anything was sent"},
		{"resume", "Pause, 2 wait"},
	} {
		t.Run(end.press, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
			if got := fields(s.ask(t, "/replay?id=1", nil).Body.String()).Get("delay"); got != "0s" {
				t.Errorf("one message leaves after %q", got)
			}
			form := fields(s.ask(t, "/replay?id=1&id=2", nil).Body.String())
			if got := form.Get("delay"); got != "10s" {
				t.Errorf("two messages leave after %q", got)
			}
			form.Set("delay", "10m")
			if sent := s.ask(t, "/replay", form); sent.Code != http.StatusSeeOther {
				t.Fatalf("the form answers %d: %s", sent.Code, text(sent))
			}
			wants(t, s.read(t, "/operations/1"), "Scheduled", "Leaves in ", "Nothing has been sent", "Call it back", "Send 2 now →")
			if answer := s.ask(t, "/operations/1/pause", url.Values{}); answer.Code != http.StatusConflict {
				t.Errorf("pausing what hasn't begun answers %d", answer.Code)
			}
			for range 2 { // a double click, or a second tab
				if answer := s.ask(t, "/operations/1/"+end.press, url.Values{}); answer.Code != http.StatusSeeOther {
					t.Errorf("%s answers %d", end.press, answer.Code)
				}
			}
			wants(t, s.read(t, "/operations/1"), end.says)
		})
	}
}

func TestWhatWasHandledElsewhereNeedsNoLook(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ids := storetest.Park(t, w.store, storetest.Queue(), storetest.Delivery("a", "{}"))
	o, _, err := w.store.Create(t.Context(), store.NewOperation{Verb: parkade.Replay, IDs: ids, By: "anna"})
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := w.store.Chunk(t.Context(), o.ID, nil, 1, 1<<20)
	if err == nil {
		err = w.store.Record(t.Context(), o.ID, []parkade.Result{{Replay: chunk.Sends[0].Replay, Outcome: parkade.Unroutable, Why: "312 NO_ROUTE"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	path := "/operations/" + o.ID.String()
	w.has(w.reads("/"), "Finished, 1 not delivered")
	w.has(w.reads(path), "1 needs a look")
	if _, _, err := w.store.Create(t.Context(), store.NewOperation{Verb: parkade.Discard, IDs: ids, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{w.reads("/"), w.reads("/operations"), w.reads(path)} {
		w.has(page, "Finished, handled since")
		if strings.Contains(page, "needs a look") || strings.Contains(page, "not delivered") {
			t.Errorf("somebody is asked to look all the same: %s", page)
		}
	}
	w.has(w.reads(path), "1 Unroutable")
}

func TestTwoTabsAndDoubleClicksSteerAnOperationOnce(t *testing.T) {
	t.Parallel()
	w := watch(t)
	path := "/operations/" + w.worked().ID.String()
	for _, step := range []struct {
		press string
		state parkade.OperationState
		stale map[string]int // what a tab that is behind still offers, and what it is told
	}{
		{"pause", parkade.Paused, nil},
		{"resume", parkade.Running, nil},
		{"cancel", parkade.Cancelled, map[string]int{"pause": http.StatusConflict, "resume": http.StatusConflict, "cancel": http.StatusOK}},
	} {
		for range 2 {
			if answer := w.ask(path+"/"+step.press, url.Values{}); answer.Code != http.StatusSeeOther {
				t.Errorf("%s on the page answers %d", step.press, answer.Code)
			}
			if answer := w.ask("/api/v1"+path+"/"+step.press, url.Values{}); answer.Code != http.StatusOK {
				t.Errorf("%s by the API answers %d: %s", step.press, answer.Code, answer.Body)
			}
		}
		o, err := w.store.Operation(t.Context(), 1)
		if err != nil || o.State != step.state {
			t.Fatalf("after %s it is %s (%v)", step.press, o.State, err)
		}
		for press, want := range step.stale {
			if answer := w.ask("/api/v1"+path+"/"+press, url.Values{}); answer.Code != want {
				t.Errorf("%s afterwards answers %d, want %d", press, answer.Code, want)
			}
			if answer := w.ask(path+"/"+press, url.Values{}); want == http.StatusConflict {
				w.has(plain(answer.Body.String()), "Operation #1 can't be", "it is cancelled")
			}
		}
	}
	actions, err := w.store.Actions(t.Context(), store.ActionFilter{Operation: 1}, 0, 10)
	if err != nil || len(actions) != 4 { // made, paused, resumed, cancelled
		t.Errorf("the trail has %d actions (%v)", len(actions), err)
	}
}
