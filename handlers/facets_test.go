package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parkade"
	"parkade/store/storetest"
)

func TestFacetsCountAndTheBarOffersVhosts(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
	if page := s.ask(t, "/messages", nil).Body.String(); strings.Contains(page, `name="vhost"`) {
		t.Error("with one vhost there is something to choose")
	}
	other := storetest.Delivery("c", "{}")
	other.RoutingKey = "billing"
	storetest.Park(t, s.Store, parkade.Queue{Broker: "main", Vhost: "billing", Name: "billing.parking"}, other)
	page := s.ask(t, "/messages", nil)
	wants(t, page.Body.String(), `<select class="form-select form-select-sm" name="vhost"`, `<option value="billing">`)
	wants(t, text(page), "Queue orders.parking 2", "Vhost / 2 billing 1", "Reason rejected 3", "Routing key created 3")
	chosen := s.ask(t, "/messages?vhost=billing&add=", nil)
	wants(t, text(chosen), "1 message", "Reason rejected 1")
	if strings.Contains(chosen.Body.String(), "<select") {
		t.Error("a vhost that is chosen is offered again")
	}
	wants(t, text(s.ask(t, "/messages?state=discarded", nil)), "orders.parking 0", "rejected 0")
}

// A filter leaves possible copies out unless the request says otherwise.
func TestAnOperationByFilterTakesCopiesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"replay", "discard"} {
		s := open(t)
		storetest.Begin(t, s.Store, storetest.Queue())
		session := storetest.Begin(t, s.Store, storetest.Queue())
		if _, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: []parkade.Delivery{storetest.Delivery("", "x")}}); err != nil {
			t.Fatal(err)
		}
		again := storetest.Delivery("", "x")
		again.Redelivered = true
		session = storetest.Begin(t, s.Store, storetest.Queue())
		if parked, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: []parkade.Delivery{again}}); err != nil || parked.Copies != 1 {
			t.Fatalf("%+v: %v", parked, err)
		}
		for body, want := range map[string]int64{"": 1, `, "copies": false`: 1, `, "copies": true`: 2} {
			request := `{"verb": "` + verb + `", "select": {"filter": {"state": "parked"}}, "dry_run": true` + body + `}`
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/operations", strings.NewReader(request))
			r.Host = "localhost:8080"
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			var plan struct{ Count, Skipped int64 }
			if err := json.Unmarshal(w.Body.Bytes(), &plan); err != nil || w.Code != http.StatusOK || plan.Count-plan.Skipped != want {
				t.Errorf("%s with %q takes %d of %d, want %d: %d %s", verb, body, plan.Count-plan.Skipped, plan.Count, want, w.Code, w.Body)
			}
		}
	}
}
