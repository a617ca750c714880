package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTheSameIdempotencyKeyNeverActsTwice(t *testing.T) {
	t.Parallel()
	s := stocked(t)
	create := func(key, body string) (*httptest.ResponseRecorder, string) {
		w := s.ask(t, "POST", "/api/v1/operations", body, "Idempotency-Key", key)
		var o struct{ ID string }
		_ = json.Unmarshal(w.Body.Bytes(), &o)
		return w, o.ID
	}
	const replay = `{"verb": "replay", "select": {"ids": ["1"]}}`
	first, id := create("k", replay)
	if first.Code != http.StatusCreated || first.Header().Get("Location") != "/api/v1/operations/"+id {
		t.Fatalf("status %d, location %s", first.Code, first.Header().Get("Location"))
	}
	if again, same := create("k", `{ "select": {"ids": ["1"]}, "verb": "replay" }`); again.Code != http.StatusCreated || same != id {
		t.Errorf("again: status %d, operation %s, want %s", again.Code, same, id)
	}
	if other, _ := create("k", `{"verb": "replay", "select": {"ids": ["2"]}, "include": ["replayed"]}`); other.Code != http.StatusConflict {
		t.Errorf("another request with the same key: status %d", other.Code)
	}
	if held, _ := create("l", replay); held.Code != http.StatusConflict {
		t.Errorf("another key: status %d", held.Code)
	}
}

func TestAReplayOfAFilterGoesWhereItsDryRunSaid(t *testing.T) {
	t.Parallel()
	s := stocked(t)
	dry := s.ask(t, "POST", "/api/v1/operations", `{"verb": "replay", "select": {"filter": {"state": "parked"}}, "dry_run": true}`)
	var plan struct {
		Count  int64
		Hash   string
		Groups []struct{ Messages int64 }
	}
	if err := json.Unmarshal(dry.Body.Bytes(), &plan); err != nil || plan.Count != 2 || len(plan.Groups) != 1 {
		t.Fatalf("planned %s (%v)", dry.Body, err)
	}
	expect := func(hash string) *httptest.ResponseRecorder {
		return s.ask(t, "POST", "/api/v1/operations", `{"verb": "replay", "select": {"filter": {"state": "parked"}}, "expect": {"count": 2, "hash": "`+hash+`"}}`)
	}
	if w := expect("other"); w.Code != http.StatusConflict {
		t.Errorf("a set that wasn't confirmed: status %d", w.Code)
	}
	if w := expect(plan.Hash); w.Code != http.StatusCreated {
		t.Errorf("the set that was confirmed: status %d: %s", w.Code, w.Body)
	}
}
