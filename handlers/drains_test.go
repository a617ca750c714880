package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestADrainIsStartedByAFormThatSaysWhatFollows(t *testing.T) {
	t.Parallel()
	w := watch(t)
	q := named("orders.parking")
	w.has(w.reads("/drains/start?"+about(q).Encode()), "Drain orders.parking", "this store holds the only copy", "Nothing speaks against draining it")

	form := about(q)
	form.Set("reason", "night shift")
	answer := w.ask("/drains/start", form)
	if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/queue?"+about(q).Encode() {
		t.Fatalf("answers %d to %s", answer.Code, answer.Header().Get("Location"))
	}
	w.has(w.reads("/queue?"+about(q).Encode()), "started draining orders.parking", "“night shift”")
	w.has(w.reads("/actions?verb=drain"), "somebody at 127.0.0.1", "night shift")
	if page := w.reads("/actions?verb=brake"); strings.Contains(page, "night shift") {
		t.Error("the filter by verb shows another verb")
	}
}

func TestADrainThatAsksNeedsATick(t *testing.T) {
	t.Parallel()
	w := watch(t)
	facts := fine()
	facts.OtherConsumers = 2
	w.facts["shared.parking"] = facts
	q := named("shared.parking")
	w.has(w.reads("/drains/start?"+about(q).Encode()), "2 other consumers also take from it", "Drain it in spite of that")

	form := about(q)
	form.Set("reason", "typed reason")
	answer := w.ask("/drains/start", form)
	if answer.Code != http.StatusConflict {
		t.Fatalf("without the tick it answers %d", answer.Code)
	}
	w.has(plain(answer.Body.String()), "shared.parking isn't drained")
	w.has(answer.Body.String(), `value="typed reason"`)
	if sheet := w.ask("/drains/start", form, "HX-Request", "true"); sheet.Code != http.StatusConflict || sheet.Header().Get("HX-Retarget") == "" {
		t.Errorf("in a sheet it answers %d without saying where to show it", sheet.Code)
	}

	form.Set("accept", "yes")
	if answer := w.ask("/drains/start", form, "HX-Request", "true"); answer.Code != http.StatusOK || answer.Header().Get("HX-Redirect") == "" {
		t.Errorf("with the tick a sheet answers %d, leading to %q", answer.Code, answer.Header().Get("HX-Redirect"))
	}
	w.has(w.reads("/queue?"+about(q).Encode()), "in spite of what the preflight asks about")
}

func TestAQueueThatIsRefusedCannotBeStarted(t *testing.T) {
	t.Parallel()
	w := watch(t)
	facts := fine()
	facts.AutoDelete = true
	w.facts["gone.parking"] = facts
	q := named("gone.parking")
	page := w.reads("/drains/start?" + about(q).Encode())
	w.has(page, "Refused: It is an auto-delete queue", "It is never drained like this")
	if strings.Contains(page, "→ this store") {
		t.Error("there is a button all the same")
	}
	form := about(q)
	form.Set("accept", "yes")
	if answer := w.ask("/drains/start", form); answer.Code != http.StatusConflict {
		t.Errorf("accepting it answers %d", answer.Code)
	}
}

func TestTheNextNTakeANumber(t *testing.T) {
	t.Parallel()
	w := watch(t)
	for _, count := range []string{"", "0", "-1", "many", "1000001", "1e3"} {
		form := about(named("orders.parking"))
		form.Set("count", count)
		if answer := w.ask("/drains/next", form); answer.Code != http.StatusUnprocessableEntity {
			t.Errorf("count %q answers %d", count, answer.Code)
		}
	}
	form := about(named("orders.parking"))
	form.Set("count", "3")
	if answer := w.ask("/drains/next", form); answer.Code != http.StatusSeeOther {
		t.Errorf("3 answers %d: %s", answer.Code, plain(answer.Body.String()))
	}
}

func TestTheBrakeSaysWhatItStops(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.has(w.reads("/drains/brake"), "Stop all draining", "Replays go on", "it stops nothing")
	if answer := w.ask("/drains/brake", url.Values{"on": {"yes"}, "reason": {"upgrade"}}); answer.Code != http.StatusSeeOther {
		t.Fatalf("the brake answers %d", answer.Code)
	}
	w.has(w.reads("/drains/brake"), "Release the brake", "somebody at 127.0.0.1 stopped all draining", "“upgrade”")
	if answer := w.ask("/drains/brake", url.Values{"on": {"perhaps"}}); answer.Code != http.StatusUnprocessableEntity {
		t.Errorf("perhaps answers %d", answer.Code)
	}
	w.ask("/drains/brake", url.Values{"on": {"no"}})
	if b, err := w.store.Brake(t.Context()); err != nil || b.On {
		t.Errorf("after releasing it the brake is %+v, %v", b, err)
	}
}
