package web_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestAFaultOfOursIsLoggedAndExplainedToNobody(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	w := s.ask(t, "GET", "/api/v1/messages", "", "X-Request-Id", "proxy-7")
	body := text(t, w)
	if w.Code < http.StatusInternalServerError || strings.Contains(body, "sql") || !strings.Contains(body, `"request_id":"proxy-7"`) {
		t.Errorf("status %d: %s", w.Code, body)
	}
	log := s.logs.String()
	if strings.Count(log, "proxy-7") != 1 || !strings.Contains(log, "request failed") || !strings.Contains(log, "err=") {
		t.Errorf("the log has: %s", log)
	}
	if page := s.ask(t, "GET", "/nope", ""); page.Code != http.StatusNotFound {
		t.Errorf("without a store, another error has status %d", page.Code)
	}
	if ready := s.ask(t, "GET", "/readyz", ""); ready.Code != http.StatusServiceUnavailable {
		t.Errorf("without a store, it says that it is ready: %d", ready.Code)
	}
	if healthy := s.ask(t, "GET", "/healthz", ""); healthy.Code != http.StatusOK {
		t.Errorf("without a store, the process is said to be dead: %d", healthy.Code)
	}
	if m := text(t, s.ask(t, "GET", "/metrics", "")); !strings.Contains(m, "parkade_store_up 0") {
		t.Error("the metrics don't say that the store is away")
	}
}

func TestARequestIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	big := `{"verb": "replay", "reason": "` + strings.Repeat("x", 5<<20) + `"}`
	if w := s.ask(t, "POST", "/api/v1/drains/start", big); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", w.Code)
	}
	if w := s.ask(t, "POST", "/api/v1/operations", "verb=replay", "Content-Type", "application/x-www-form-urlencoded"); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a form is taken for JSON: status %d", w.Code)
	}
}

func TestWhatWatchesTheProcessIsAnswered(t *testing.T) {
	t.Parallel()
	s := stocked(t)
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if w := s.ask(t, "GET", path, "", "Host", "pod-7.cluster"); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
	if w := s.ask(t, "HEAD", "/readyz", ""); w.Code != http.StatusOK {
		t.Errorf("HEAD /readyz: status %d", w.Code)
	}
	got := text(t, s.ask(t, "GET", "/metrics", ""))
	for _, want := range []string{
		`parkade_messages{broker="main",queue="orders.parking",state="parked",vhost="/"} 2`,
		`parkade_messages{broker="main",queue="orders.parking",state="in doubt",vhost="/"} 1`,
		`parkade_build_info{version="test"} 1`, "parkade_store_up 1", "parkade_drain_brake 0", "parkade_disk_free_bytes", "parkade_oldest_parked_timestamp_seconds", "go_goroutines",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

func TestStaticFilesMayBeKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	page := text(t, s.ask(t, "GET", "/nope", ""))
	_, rest, _ := strings.Cut(page, `href="/static/`)
	name, _, _ := strings.Cut(rest, `"`)
	w := s.ask(t, "GET", "/static/"+name, "")
	if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%s: status %d, %s", name, w.Code, w.Header().Get("Cache-Control"))
	}
}
