package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/config"
	"parkade/drain"
	"parkade/handlers"
	"parkade/store/storetest"
)

type kind struct {
	name   string
	err    error
	status int
	detail string // "" for what is explained to nobody
}

func kinds() []kind {
	said := func(k parkade.Kind) error {
		return fmt.Errorf("wrapped: %w", parkade.Errorf(k, "The <b>sentence</b>.").At("limit").Because(errors.New("secret cause")))
	}
	const sentence = "The <b>sentence</b>."
	return []kind{
		{"invalid", said(parkade.Invalid), 422, sentence},
		{"not found", said(parkade.NotFound), 404, sentence},
		{"conflict", said(parkade.Conflict), 409, sentence},
		{"forbidden", said(parkade.Forbidden), 403, sentence},
		{"too large", said(parkade.TooLarge), 413, sentence},
		{"unavailable", said(parkade.Unavailable), 503, sentence},
		{"internal", said(parkade.Internal), 500, sentence},
		{"a fault of ours", errors.New("secret cause"), 500, ""},
		{"a panic", nil, 500, ""},
		{"no route", echo.ErrNotFound, 404, "There is nothing at this address."},
		{"no method", echo.ErrMethodNotAllowed, 405, "This address can't be used like that."},
	}
}

// failing is a site with the product's own chain, whose every address fails with err.
func failing(t *testing.T, k kind, logs *strings.Builder) http.Handler {
	t.Helper()
	cfg := &config.Config{Listen: "127.0.0.1:8080"}
	st := storetest.Open(t)
	d := handlers.Deps{Store: st, Drains: drain.New(drain.Options{Store: st}), Config: func() *config.Config { return cfg }, Now: time.Now}
	e := echo.New()
	e.HTTPErrorHandler = answerErrors(d, slog.New(slog.NewTextHandler(logs, nil)))
	e.Pre(identify, secure, recoverPanic)
	fail := func(echo.Context) error {
		if k.err == nil {
			panic("secret cause")
		}
		return k.err
	}
	e.Any("/*", fail)
	return e
}

func TestEveryKindOfErrorIsAnsweredInEveryForm(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			var logs strings.Builder
			site := failing(t, k, &logs)
			ask := func(path string, headers ...string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, http.NoBody)
				if len(headers) > 0 {
					r.Header.Set(headers[0], headers[1])
				}
				w := httptest.NewRecorder()
				site.ServeHTTP(w, r)
				if w.Code != k.status {
					t.Errorf("%s: status %d, want %d", path, w.Code, k.status)
				}
				if strings.Contains(w.Body.String(), "secret") {
					t.Errorf("%s tells the cause: %s", path, w.Body)
				}
				return w
			}
			checkJSON(t, k, ask("/api/v1/x"))
			escaped := strings.NewReplacer("<", "&lt;", ">", "&gt;", "'", "&#39;").Replace(k.detail)
			page := ask("/x", "Accept", "text/html").Body.String()
			if !strings.Contains(page, "<h1>") || !strings.Contains(page, escaped) {
				t.Errorf("the page is %s", page)
			}
			w := ask("/x", "HX-Request", "true")
			part := w.Body.String()
			if strings.Contains(part, "<html") || !strings.Contains(part, escaped) || w.Header().Get("HX-Retarget") != slot || w.Header().Get("HX-Reswap") != "innerHTML" {
				t.Errorf("the part for %q is %s", w.Header().Get("HX-Retarget"), part)
			}
			if logged := strings.Count(logs.String(), "request failed"); (k.status >= 500) != (logged == 3) || k.status < 500 && logged > 0 {
				t.Errorf("logged %d times of 3: %s", logged, logs.String())
			}
			if k.status >= 500 && !strings.Contains(logs.String(), "secret cause") {
				t.Error("the log lacks the cause")
			}
		})
	}
}

func checkJSON(t *testing.T, k kind, w *httptest.ResponseRecorder) {
	t.Helper()
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if w.Header().Get("Content-Type") != "application/problem+json" || p.Status != k.status || p.Title != http.StatusText(k.status) ||
		p.Type == "" || p.Detail == "" || k.detail != "" && p.Detail != k.detail || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("the problem is %+v", p)
	}
	if _, phrased := errors.AsType[*parkade.Error](k.err); phrased && p.Field != "limit" {
		t.Errorf("the field is %q", p.Field)
	}
}
