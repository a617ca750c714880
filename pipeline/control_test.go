package pipeline_test

import (
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parkade/pipeline"
)

func TestTrafficOutsideOfItsBoundsIsRefused(t *testing.T) {
	t.Parallel()
	for word, traffic := range map[string]pipeline.Traffic{
		"poison":   {Poison: -1},
		"slow":     {Slow: 101},
		"no_id":    {NoID: math.NaN()},
		"add up":   {Poison: 50, Transient: 30, Malformed: 15, NoID: 6},
		"rate":     {Rate: math.Inf(1)},
		"slow_ms":  {SlowMillis: 60_001},
		"failures": {TransientFailures: -1},
	} {
		if err := traffic.Validate(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%+v: %v, want an error about %s", traffic, err, word)
		}
	}
	most := pipeline.Traffic{Rate: 1000, Poison: 25, Transient: 25, Malformed: 25, NoID: 25, Slow: 100, Duplicate: 100, SlowMillis: 60_000}
	if err := most.Validate(); err != nil {
		t.Errorf("the most that is allowed: %v", err)
	}
}

func TestControlChangesOnlyWhatItIsAskedTo(t *testing.T) {
	t.Parallel()
	b, err := pipeline.NewBilling(pipeline.Options{
		AMQP: "amqp://localhost", Database: databaseFile(t), Fixed: true, Traffic: pipeline.Traffic{Rate: 4, Poison: 10},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	call := func(method, path, body string, headers ...string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		b.Control().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for name, c := range map[string]struct {
		body string
		says string
	}{
		"no JSON":            {"rate=5", "must be a JSON object"},
		"an unknown field":   {`{"rat": 5}`, "rat"},
		"more than one":      {`{"rate": 5} {"rate": 6}`, "one JSON object"},
		"out of bounds":      {`{"rate": 5000}`, "rate must be between"},
		"half of it is fine": {`{"rate": 5, "poison": 101}`, "poison must be between"},
	} {
		if status, answer := call(http.MethodPatch, "/traffic", c.body); status != http.StatusUnprocessableEntity || !strings.Contains(answer, c.says) {
			t.Errorf("%s: %d %s, want 422 and %q", name, status, answer, c.says)
		}
	}
	if status, _ := call(http.MethodPost, "/break", "", "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("a page of another site may switch: %d", status)
	}
	if status, _ := call(http.MethodGet, "/fix", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("looking at /fix: %d", status)
	}
	if _, answer := call(http.MethodGet, "/", ""); !strings.Contains(answer, `"rate": 4,`) || !strings.Contains(answer, `"fixed": true`) {
		t.Errorf("something changed:\n%s", answer)
	}
	if _, answer := call(http.MethodPost, "/traffic", `{"rate": 0.5}`); !strings.Contains(answer, `"rate": 0.5,`) || !strings.Contains(answer, `"poison": 10,`) {
		t.Errorf("the traffic is now\n%s", answer)
	}
}

func TestAddressesAreCheckedAndNeverRepeated(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]pipeline.Options{
		"AMQP":       {AMQP: "amqps://me:secret@host:notaport"},
		"management": {AMQP: "amqp://localhost", Management: "ftp://me:secret@host"},
		"PostgreSQL": {AMQP: "amqp://localhost", Database: "postgres://me:secret@host:notaport/x"},
		"MariaDB":    {AMQP: "amqp://localhost", Database: "mariadb:me:secret@tcp(host"},
		"no scheme":  {AMQP: "amqp://localhost", Database: "oracle://me:secret@host/x"},
	} {
		_, err := pipeline.NewBilling(o, slog.New(slog.DiscardHandler))
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
