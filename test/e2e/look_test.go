package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe.min.js
var axe string

// The widths at which pages are looked at: a desk and a phone.
const (
	desk  = 1440
	phone = 390
)

// size sets the width of the window, and the theme that the system asks for.
func (b *tab) size(width int64, dark bool) {
	b.t.Helper()
	theme := "light"
	if dark {
		theme = "dark"
	}
	b.do("resize", chromedp.EmulateViewport(width, 900))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
}

// accessible fails the test for whatever axe finds on the page as it is now. In the
// dark only colours are looked at again.
func (b *tab) accessible(page string, dark bool) {
	b.t.Helper()
	if !eval[bool](b, `"axe" in window`) {
		eval[bool](b, axe+`; true`)
	}
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	rules := `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
	if dark {
		rules = `["color-contrast", "link-in-text-block"]`
	}
	found, err := chromedp.Run(ctx, chromedp.Evaluate[string](`axe.run(document, {
		runOnly: `+rules+`, resultTypes: ["violations"], preload: false,
	}).then((r) => JSON.stringify(r.violations))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("axe on %s: %v", page, err)
	}
	var violations []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		for _, n := range v.Nodes {
			b.t.Errorf("%s: %s (%s): %.200s\n%.200s", page, v.Help, v.ID, n.HTML, n.FailureSummary)
		}
	}
}

// fits fails the test if the page can be scrolled sideways, and says what sticks
// out.
func (b *tab) fits(page string) {
	b.t.Helper()
	out := eval[string](b, `(() => {
		const root = document.documentElement
		if (root.scrollWidth <= root.clientWidth) return ""
		const wide = [...document.body.querySelectorAll("*")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > root.clientWidth + 1)
		return root.scrollWidth + " px: " + wide.slice(-3).map((e) => e.outerHTML.slice(0, 160)).join("\n")
	})()`)
	if out != "" {
		b.t.Errorf("%s can be scrolled sideways, it is %s", page, out)
	}
}

// shoot keeps a picture of the page in the folder that PARKADE_SHOTS names, to be
// looked at by a person.
func (b *tab) shoot(name string) {
	b.t.Helper()
	folder := os.Getenv("PARKADE_SHOTS")
	if folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatalf("take a picture: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
