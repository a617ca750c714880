package handlers_test

import (
	"net/http"
	"net/url"
	"testing"

	"parkade"
	"parkade/store/storetest"
)

func TestGivingBackSaysWhatItStopsAndBothPagesSayThatItDid(t *testing.T) {
	t.Parallel()
	w := watch(t)
	storetest.Park(t, w.store, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
	for _, ask := range []string{"/give_back?id=1&id=2", "/give_back?filter=queue%3Dorders.parking"} {
		w.has(w.reads(ask), "Give back 2 messages", "orders.parking isn’t drained now", "as they arrived", "10 s after you press")
	}
	if err := w.drains.Start(t.Context(), storetest.Queue(), false, "ann", ""); err != nil {
		t.Fatal(err)
	}
	form := fields(w.ask("/give_back?id=1&id=2", nil).Body.String())
	if form.Get("delay") != "10s" {
		t.Errorf("two leave after %q", form.Get("delay"))
	}
	for range 2 { // a double click
		if answer := w.ask("/give_back", form); answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/operations/1" {
			t.Fatalf("it answers %d: %s", answer.Code, plain(answer.Body.String()))
		}
	}
	w.has(w.reads("/operations/1"), "Give back 2 → their parking queue", "Scheduled", "Draining orders.parking is paused until somebody resumes it")
	w.has(w.reads("/queue?"+about(storetest.Queue()).Encode()), "Operation #1 gives 2 messages back to it.")
	start := about(storetest.Queue())
	if answer := w.ask("/drains/start", start); answer.Code != http.StatusConflict {
		t.Errorf("resuming the drain meanwhile answers %d", answer.Code)
	} else {
		w.has(plain(answer.Body.String()), "Operation #1 gives messages back to orders.parking")
	}
	if answer := w.ask("/operations/1/cancel", url.Values{}); answer.Code != http.StatusSeeOther {
		t.Fatalf("calling it back answers %d", answer.Code)
	}
	w.has(w.reads("/operations/1"), "Drain it again…")
	if answer := w.ask("/drains/start", start); answer.Code != http.StatusSeeOther {
		t.Errorf("resuming the drain afterwards answers %d", answer.Code)
	}
	if m, err := w.store.Message(t.Context(), 1); err != nil || m.State != parkade.Parked {
		t.Errorf("message 1 is %s (%v)", m.State, err)
	}
}
