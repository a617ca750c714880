package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long something may take to show before a test gives up.
const patience = 40 * time.Second

func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\nthe page reads:\n%s", what, err, b.text())
	}
}

// visit opens a path of the site.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do("visit "+path, chromedp.Navigate(b.site+path))
}

// text is what a person reads on the page, or why nothing can be read.
func (b *tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(s), " ")
}

// where is the path and query of the page.
func (b *tab) where() string {
	b.t.Helper()
	return eval[string](b, `location.pathname + location.search`)
}

// waits until a condition holds that may be asked in the middle of a navigation.
func (b *tab) waits(what string, condition func() bool) {
	b.t.Helper()
	b.within(patience, what, condition)
}

func (b *tab) within(limit time.Duration, what string, condition func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(30 * time.Millisecond) {
		if condition() {
			return
		}
	}
	b.t.Fatalf("never: %s\nthe page %s reads:\n%s", what, b.where(), b.text())
}

// sees waits until the page reads all of this.
func (b *tab) sees(texts ...string) {
	b.t.Helper()
	for _, what := range texts {
		b.waits("it reads "+what, func() bool { return contains(b.text(), what) })
	}
}

// lacks fails the test if the page reads this.
func (b *tab) lacks(what string) {
	b.t.Helper()
	if text := b.text(); contains(text, what) {
		b.t.Errorf("the page reads %q:\n%s", what, text)
	}
}

// arrives waits until the page is at a path that begins so.
func (b *tab) arrives(path string) {
	b.t.Helper()
	b.waits("it is at "+path, func() bool {
		here, err := try[string](b, `document.readyState === "complete" ? location.pathname + location.search : ""`)
		return err == nil && strings.HasPrefix(here, path)
	})
}

// spot finds the visible thing with this text that can be pressed and scrolls to
// it: the last one, since sheets come last in a page. It has to lie open, not
// under something else.
const spot = `((text) => {
	const words = (s) => s.replace(/\s+/g, " ").trim()
	const all = [...document.querySelectorAll("button, a, summary, label, input[type=checkbox]")]
		.filter((e) => e.checkVisibility() && words(e.innerText + " " + (e.ariaLabel ?? "")).includes(text))
	const it = all.at(-1)
	if (!it) return null
	it.scrollIntoView({block: "center"})
	const box = [...it.getClientRects()].find((r) => r.width > 0 && r.height > 0)
	if (!box) return null
	const at = {x: box.x + box.width / 2, y: box.y + box.height / 2}
	const top = document.elementFromPoint(at.x, at.y)
	return top && (it.contains(top) || top.contains(it)) ? at : null
})`

type point struct{ X, Y float64 }

// find waits for the thing with this text and returns its middle, once the page is
// loaded and the thing no longer moves.
func (b *tab) find(what string) point {
	b.t.Helper()
	var at *point
	b.waits("there is "+what+" to press", func() bool {
		found, err := try[*point](b, `document.readyState === "complete" ? `+spot+"("+quoted(what)+") : null")
		before := at
		at = found
		return err == nil && found != nil && before != nil && *found == *before
	})
	return *at
}

// offersNot fails the test if something with this text can be pressed.
func (b *tab) offersNot(what string) {
	b.t.Helper()
	if eval[*point](b, spot+"("+quoted(what)+")") != nil {
		b.t.Errorf("%q can be pressed; the page reads:\n%s", what, b.text())
	}
}

// back goes back in the history of the tab, as the browser's own button does.
func (b *tab) back(path string) {
	b.t.Helper()
	eval[bool](b, "(history.back(), true)")
	b.arrives(path)
}

// press clicks with the mouse on what has this text.
func (b *tab) press(what string) {
	b.t.Helper()
	at := b.find(what)
	b.do("press "+what, chromedp.MouseClickXY(at.X, at.Y))
}

// types presses keys, as letters or by the names of package kb. As on a real
// keyboard, nothing is written where the page has taken the key for itself.
func (b *tab) types(keys string) {
	b.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		down, up := events[0], events[len(events)-1]
		if len(events) == 3 {
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		for _, e := range []*input.DispatchKeyEventParams{down, up} {
			if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, *e); err != nil {
				b.t.Fatalf("press the key %q: %v", r, err)
			}
		}
	}
}

// fill types into the visible field with this label.
func (b *tab) fill(label, text string) {
	b.t.Helper()
	b.waits("there is a field "+label, func() bool {
		found, err := try[bool](b, `((label) => {
		const named = (e) => (e.ariaLabel ?? "") + [...(e.labels ?? [])].map((l) => l.innerText).join(" ")
		const it = [...document.querySelectorAll("input, select, textarea")].filter((e) => e.checkVisibility() && named(e).includes(label)).at(-1)
		it?.focus()
		it?.select?.()
		return it !== undefined
	})(`+quoted(label)+`)`)
		return err == nil && found
	})
	b.types(text)
}

func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := try[T](b, expression)
	if err != nil {
		b.t.Fatalf("evaluate: %v", err)
	}
	return v
}

func try[T any](b *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can be written
	}
	return string(b)
}

func contains(text, part string) bool { return strings.Contains(text, part) }
