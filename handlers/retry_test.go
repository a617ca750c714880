package handlers_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// ended cancels an operation of six: confirmed, unroutable, nacked, unknown, and
// two that were never sent.
func (w *watched) ended() parkade.Operation {
	w.t.Helper()
	o := w.worked()
	if err := w.store.Cancel(w.t.Context(), o.ID, "anna"); err != nil {
		w.t.Fatal(err)
	}
	return o
}

func TestWhatFailedIsRetriedByANewOperation(t *testing.T) {
	t.Parallel()
	w := watch(t)
	o := w.ended()
	w.has(w.reads("/operations/"+o.ID.String()), "Replay the 4 that failed…", "Outcomes as CSV", "Dismiss")
	ask := "/replay?" + url.Values{"retry": {o.ID.String()}, "outcome": {"unroutable", "nacked", "cancelled"}}.Encode()
	page := w.ask(ask, nil).Body.String()
	w.has(plain(page), "Those of operation #1 that ended", "unroutable: no queue was bound there. 1", "never sent, because it was cancelled. 2", "They may have arrived", "Replay 4 → orders.work")
	form := fields(page)
	if form.Get("to") != "custom" || strings.Contains(strings.Join(form["outcome"], " "), "unknown") {
		t.Errorf("the form says %v", form)
	}
	form.Set("routing_key", "orders.work")
	if answer := w.ask("/replay", form); answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/operations/2" {
		t.Fatalf("it answers %d: %s", answer.Code, plain(answer.Body.String()))
	}
	n, err := w.store.Operation(t.Context(), 2)
	if err != nil || n.Total != 4 || n.Target != o.Target {
		t.Errorf("the new one has %d messages for %+v (%v)", n.Total, n.Target, err)
	}
	w.has(w.reads("/replay?retry=1&outcome=unknown"), "Replay 1 → orders.work")
	w.has(w.reads("/replay?retry=1&outcome=nacked"), "Operation 2 holds it", "Replay 0")
}

func TestOutcomesAreDownloadedAsATableThatIsNoProgram(t *testing.T) {
	t.Parallel()
	w := watch(t)
	storetest.Park(t, w.store, storetest.Queue(), storetest.Delivery(`=HYPERLINK("http://evil","x")`, "{}"), storetest.Delivery("+1,\n2", "{}"), storetest.Delivery("plain", "{}"))
	o, _, err := w.store.Create(t.Context(), store.NewOperation{Verb: parkade.Replay, IDs: []parkade.MessageID{1, 2, 3}, Target: parkade.Target{To: parkade.ToQueue, Queue: "@work"}, By: "anna"})
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := w.store.Chunk(t.Context(), o.ID, nil, 2, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Record(t.Context(), o.ID, []parkade.Result{{Replay: chunk.Sends[0].Replay, Outcome: parkade.Nacked, Why: "-1"}, {Replay: chunk.Sends[1].Replay, Outcome: parkade.Confirmed}}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/operations/1/replays.csv": 3, "/operations/1/replays.csv?outcome=nacked": 1, "/api/v1/operations/1/replays.csv": 3} {
		answer := w.ask(path, nil)
		rows, err := csv.NewReader(answer.Body).ReadAll()
		if err != nil || answer.Code != http.StatusOK || len(rows) != want+1 || !strings.HasPrefix(answer.Header().Get("Content-Disposition"), "attachment") {
			t.Fatalf("%s answers %d with %d lines (%v)", path, answer.Code, len(rows), err)
		}
		for _, row := range rows {
			for i, cell := range row {
				if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r\n") {
					t.Errorf("%s could be a formula: %q", rows[0][i], cell)
				}
			}
		}
		if first := rows[1]; first[5] != `'=HYPERLINK("http://evil","x")` || first[6] != "nacked" || first[7] != "'-1" || first[12] != "'@work" {
			t.Errorf("the first line is %q", first)
		}
	}
}

func TestAnOperationIsInViewUntilItIsDismissed(t *testing.T) {
	t.Parallel()
	w := watch(t)
	o := w.worked()
	path := "/operations/" + o.ID.String()
	if answer := w.ask(path+"/dismiss", url.Values{}); answer.Code != http.StatusConflict {
		t.Errorf("dismissing one that is at work answers %d", answer.Code)
	}
	if err := w.store.Cancel(t.Context(), o.ID, "anna"); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"/operations", "/"} {
		w.has(w.reads(list), "Replay 6 → orders.work")
	}
	for range 2 { // a double click
		if answer := w.ask(path+"/dismiss", url.Values{}); answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/operations" {
			t.Errorf("dismissing it answers %d", answer.Code)
		}
	}
	for _, list := range []string{"/operations", "/"} {
		if page := w.reads(list); strings.Contains(page, "Replay 6") {
			t.Errorf("%s still shows it", list)
		}
	}
	w.has(w.reads("/operations?dismissed=yes"), "Replay 6 → orders.work")
	w.has(w.reads(path), "Cancelled")
}
