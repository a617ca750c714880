package views_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"parkade/static"
	"parkade/views"
)

func html(ctx context.Context, t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func sprite(t *testing.T) string {
	t.Helper()
	rec := httptest.NewRecorder()
	static.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, static.Path("sprite.svg"), nil))
	return rec.Body.String()
}

func TestEveryIconThatAPageUsesIsInTheSprite(t *testing.T) {
	t.Parallel()
	drawn := sprite(t)
	files, err := filepath.Glob("*.templ")
	if err != nil {
		t.Fatal(err)
	}
	use := regexp.MustCompile(`\bIcon\("([^"]+)"\)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range use.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(drawn, `id="`+match[1]+`"`) {
				t.Errorf("%s uses the icon %q: add it to dev/vendor-assets and run that", file, match[1])
			}
		}
	}
}

func TestEveryStateHasAShape(t *testing.T) {
	t.Parallel()
	drawn := sprite(t)
	for _, state := range []views.State{
		views.Bad, views.Warn, views.Stale, views.Acknowledged, views.Running, views.OK, views.NotApplicable,
	} {
		if !strings.Contains(drawn, `id="st-`+string(state)+`"`) {
			t.Errorf("no shape for %q", state)
		}
	}
}

func TestStateIconSaysItsLabelOrNothing(t *testing.T) {
	t.Parallel()
	ctx := views.WithBase(t.Context(), "/base")
	spoken := html(ctx, t, views.StateIcon(views.Bad, `over "100"`))
	if !strings.Contains(spoken, `role="img" aria-label="over &#34;100&#34;"`) {
		t.Errorf("label is not escaped or missing: %s", spoken)
	}
	if !strings.Contains(spoken, `href="/base/static/sprite.`) {
		t.Errorf("not below the base: %s", spoken)
	}
	if silent := html(ctx, t, views.StateIcon(views.OK, "")); !strings.Contains(silent, `aria-hidden="true"`) {
		t.Errorf("silent icon is not hidden: %s", silent)
	}
}

func TestBarsAddUpAndSkipNothing(t *testing.T) {
	t.Parallel()
	got := html(t.Context(), t, views.Bars("3 of 4", 4,
		views.Part{Kind: "ok", Count: 2}, views.Part{Kind: "fly"}, views.Part{Kind: "back", Count: 1}))
	want := `<svg class="pk-bars" role="img" aria-label="3 of 4">` +
		`<rect class="ok" x="0.00%" width="50.00%" height="100%"/>` +
		`<rect class="back" x="50.00%" width="25.00%" height="100%" fill="url(#pk-back)"/></svg>`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBarsNeverLeaveTheirGround(t *testing.T) {
	t.Parallel()
	got := html(t.Context(), t, views.Bars("too many", 2, views.Part{Kind: "ok", Count: 1}, views.Part{Kind: "lost", Count: 9}))
	if !strings.Contains(got, `x="50.00%" width="50.00%"`) {
		t.Errorf("second part is not cut at the end: %s", got)
	}
	if empty := html(t.Context(), t, views.Bars("none", 0, views.Part{Kind: "ok", Count: 1})); strings.Contains(empty, "rect") {
		t.Errorf("parts of nothing are drawn: %s", empty)
	}
}
