package static_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"parkade/static"
)

func names() []string { return []string{"app.css", "app.js", "theme.js", "sprite.svg", "favicon.svg"} }

func get(t *testing.T, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	return request(t, http.MethodGet, path, accept)
}

func request(t *testing.T, method, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if accept != "" {
		req.Header.Set("Accept-Encoding", accept)
	}
	rec := httptest.NewRecorder()
	static.Handler().ServeHTTP(rec, req)
	return rec
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryAssetMayBeKeptForEver(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{
		".css": "text/css; charset=utf-8",
		".js":  "text/javascript; charset=utf-8",
		".svg": "image/svg+xml",
	}
	for _, name := range names() {
		res := get(t, static.Path(name), "")
		if res.Code != http.StatusOK || text(t, res.Body) == "" {
			t.Errorf("%s: status %d or empty", name, res.Code)
		}
		want := map[string]string{
			"Content-Type":           kinds[name[strings.LastIndex(name, "."):]],
			"Cache-Control":          "public, max-age=31536000, immutable",
			"X-Content-Type-Options": "nosniff",
			"Vary":                   "Accept-Encoding",
		}
		for key, value := range want {
			if got := res.Header().Get(key); got != value {
				t.Errorf("%s: %s is %q, want %q", name, key, got, value)
			}
		}
	}
}

func TestAddressChangesWithContent(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^/static/[a-z]+\.[0-9a-f]{12}\.(css|js|svg)$`)
	for _, name := range names() {
		if path := static.Path(name); !shape.MatchString(path) {
			t.Errorf("%s is at %s", name, path)
		}
	}
}

func TestUnknownNamesAreNotServed(t *testing.T) {
	t.Parallel()
	hashed := static.Path("app.css")
	for _, path := range []string{
		"/static/", "/static/app.css", "/static/app.000000000000.css", hashed + "/", "/static/../embed.go",
		"/static/css/tokens.css", "/app.css",
	} {
		if res := get(t, path, ""); res.Code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, res.Code)
		}
	}
	if res := request(t, http.MethodPost, hashed, ""); res.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d, want 405", res.Code)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	res := request(t, http.MethodHead, static.Path("app.js"), "gzip")
	if body := text(t, res.Body); body != "" || res.Header().Get("Content-Length") == "" {
		t.Errorf("body of %d bytes, Content-Length %q", len(body), res.Header().Get("Content-Length"))
	}
}

func TestGzipOnlyForThoseWhoTakeIt(t *testing.T) {
	t.Parallel()
	path := static.Path("app.css")
	plain := text(t, get(t, path, "").Body)
	for accept, want := range map[string]bool{
		"":                        false,
		"identity":                false,
		"gzip":                    true,
		"br, GZIP;q=0.5":          true,
		"gzip;q=0":                false,
		"gzip; q=0.000, *":        false,
		"*":                       true,
		"*;q=0":                   false,
		"gzip;q=no":               false,
		"deflate, gzip, br, zstd": true,
	} {
		res := get(t, path, accept)
		packed := res.Header().Get("Content-Encoding") == "gzip"
		if packed != want {
			t.Errorf("Accept-Encoding %q: gzip %v, want %v", accept, packed, want)
			continue
		}
		body := io.Reader(res.Body)
		if packed {
			unpacked, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = unpacked
		}
		if text(t, body) != plain {
			t.Errorf("Accept-Encoding %q: the content differs", accept)
		}
	}
}

func TestFirstLoadLeavesRoomForThePage(t *testing.T) {
	t.Parallel()
	const budget = 100 << 10 // of the 150 KB that a first load may take
	var total int64
	for _, name := range names() {
		res := get(t, static.Path(name), "gzip")
		total += int64(len(text(t, res.Body)))
	}
	if total > budget {
		t.Errorf("assets take %d bytes on the wire, budget is %d", total, budget)
	}
}

// The pages' security policy forbids what these patterns would need.
func TestAssetsNeedNothingThatThePolicyForbids(t *testing.T) {
	t.Parallel()
	css := text(t, get(t, static.Path("app.css"), "").Body)
	for _, pattern := range []string{`url\(`, `@import`, `//[a-z0-9.-]+\.[a-z]{2,}/.*\.(css|woff2?)`} {
		if found := regexp.MustCompile(pattern).FindString(css); found != "" {
			t.Errorf("app.css holds %q", found)
		}
	}
	js := text(t, get(t, static.Path("app.js"), "").Body)
	if strings.Contains(js, "sourceMappingURL") {
		t.Error("app.js names a source map that is not served")
	}
}

func TestUnknownAssetIsAMistakeInTheProgram(t *testing.T) {
	t.Parallel()
	defer func() { // recover works nowhere else
		if recover() == nil {
			t.Error("Path of an unknown asset did not panic")
		}
	}()
	static.Path("nothing.css")
}
