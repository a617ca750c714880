package web_test

import (
	"net/http"
	"strings"
	"testing"

	"parkade/config"
	"parkade/static"
)

func TestEveryAnswerCarriesThePolicy(t *testing.T) {
	t.Parallel()
	s := stocked(t)
	for _, path := range []string{"/nope", "/api/v1/messages", "/api/v1/messages/1/body", "/api/v1/nope", "/metrics", "/healthz", "/api/v1/openapi.yaml"} {
		h := s.ask(t, "GET", path, "").Header()
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy %q lacks %s", path, csp, want)
			}
		}
		for _, never := range []string{"unsafe", "*", "data:"} {
			if strings.Contains(csp, never) {
				t.Errorf("%s: the policy %q has %s", path, csp, never)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" || h.Get("Cache-Control") != "no-store" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers %v", path, h)
		}
	}
}

func TestABodyIsSavedAndNeverRun(t *testing.T) {
	t.Parallel()
	w := stocked(t).ask(t, "GET", "/api/v1/messages/3/body", "")
	h := w.Header()
	if w.Body.String() != "x" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%q with %v", w.Body, h)
	}
}

func TestHowARefusalLooksIsNoSecret(t *testing.T) {
	t.Parallel()
	if w := open(t).ask(t, "GET", static.Path("app.css"), "", "Host", "evil.example"); w.Code != http.StatusOK {
		t.Errorf("the styles of the page that refuses a name are answered with %d", w.Code)
	}
}

func TestOnlyOurOwnNamesAreAnswered(t *testing.T) {
	t.Parallel()
	local := open(t)
	public := open(t, publicURL("https://ops.example.com/parkade"), func(c *config.Config) { c.Hosts = []string{"parkade.svc"} })
	everywhere := open(t, func(c *config.Config) { c.Listen, c.InsecureListen = "0.0.0.0:8080", true })
	tests := []struct {
		name string
		site site
		host string
		want int
	}{
		{"localhost", local, "localhost:8080", 200},
		{"another port, as behind a tunnel", local, "localhost:9999", 200},
		{"loopback", local, "127.0.0.1:8080", 200},
		{"loopback, version 6", local, "[::1]:8080", 200},
		{"capitals", local, "LocalHost", 200},
		{"a stranger's name", local, "evil.example:8080", 403},
		{"a name that only begins like ours", local, "localhost.evil.example", 403},
		{"an address that isn't listened on", local, "10.0.0.1:8080", 403},
		{"none", local, "", 403},
		{"the public name", public, "ops.example.com", 200},
		{"a further name", public, "PARKADE.svc:8080", 200},
		{"a stranger's name, with a public one set", public, "evil.example", 403},
		{"an address, listening on all", everywhere, "10.0.0.1:8080", 200},
		{"a name, listening on all", everywhere, "evil.example:8080", 403},
	}
	for _, tt := range tests {
		if w := tt.site.ask(t, "GET", "/api/v1/messages", "", "Host", tt.host); w.Code != tt.want {
			t.Errorf("%s (%s): status %d, want %d", tt.name, tt.host, w.Code, tt.want)
		}
	}
	if w := local.ask(t, "GET", "/healthz", "", "Host", "10.1.2.3:8080"); w.Code != http.StatusOK {
		t.Errorf("a probe by address: status %d", w.Code)
	}
}

func TestAPageOfAnotherSiteChangesNothing(t *testing.T) {
	t.Parallel()
	local, public := open(t), open(t, publicURL("https://ops.example.com/parkade"))
	tests := []struct {
		name    string
		site    site
		headers []string
		want    int
	}{
		{"a script", local, nil, 200},
		{"our own page", local, []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:8080"}, 200},
		{"another site", local, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"a page of a sibling", local, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"another site, old browser", local, []string{"Origin", "https://evil.example"}, 403},
		{"an origin that is hidden", local, []string{"Origin", "null"}, 403},
		{"our own page, old browser", local, []string{"Origin", "http://localhost:8080"}, 200},
		{"our own page behind a proxy that renames", public, []string{"Origin", "https://ops.example.com"}, 200},
		{"another site behind that", public, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
	}
	for _, tt := range tests {
		w := tt.site.ask(t, "POST", "/api/v1/drains/brake", `{"on": false}`, tt.headers...)
		if w.Code != tt.want {
			t.Errorf("%s: status %d, want %d: %s", tt.name, w.Code, tt.want, w.Body)
		}
		if w := tt.site.ask(t, "GET", "/api/v1/drains", "", tt.headers...); w.Code != http.StatusOK {
			t.Errorf("%s, looking only: status %d", tt.name, w.Code)
		}
	}
}

func TestBehindAPathTheProxyMayStripItOrNot(t *testing.T) {
	t.Parallel()
	s := open(t, publicURL("https://ops.example.com/ops/parkade"))
	for _, path := range []string{"/ops/parkade/api/v1/messages", "/api/v1/messages"} {
		if w := s.ask(t, "GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	for _, path := range []string{"/ops/parkade", "/ops/parkade/", "/ops/parkade/nope", "/nope"} {
		page := text(t, s.ask(t, "GET", path, ""))
		if strings.Contains(page, `="/static/`) || !strings.Contains(page, `="/ops/parkade/static/`) || strings.Contains(page, "/ops/parkade//") {
			t.Errorf("%s links outside of its path", path)
		}
	}
	if w := s.ask(t, "GET", "/ops/parkadex/api/v1/messages", ""); w.Code != http.StatusNotFound {
		t.Errorf("a path that only begins like ours: status %d", w.Code)
	}
	if w := s.ask(t, "GET", "/ops/parkade/api/v1/messages/99", ""); w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("an error of the API below a path is %s", w.Header().Get("Content-Type"))
	}
}

func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, path := range []string{"/api/v1/drains/start", "/api/v1/operations/1/cancel", "/api/v1/drains/brake"} {
		if w := s.ask(t, "GET", path, ""); w.Code != http.StatusMethodNotAllowed && w.Code != http.StatusNotFound {
			t.Errorf("GET %s: status %d", path, w.Code)
		}
	}
}

func TestWhoActsIsWhoeverTheProxySaysOnlyWhereThereIsOne(t *testing.T) {
	t.Parallel()
	direct, proxied := open(t), open(t, publicURL("https://ops.example.com"))
	for want, s := range map[string]site{"somebody at 127.0.0.1": direct, "somebody at 203.0.113.9": proxied} {
		w := s.ask(t, "POST", "/api/v1/drains/brake", `{"on": true}`, "X-Forwarded-For", "203.0.113.9")
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("got %s, want %s", w.Body, want)
		}
	}
}
