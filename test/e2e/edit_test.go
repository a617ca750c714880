package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"parkade"
	"parkade/broker/brokertest"
)

// edits opens the edit of a message and chooses that it leaves at once.
func (b *tab) edits(path string) {
	b.t.Helper()
	b.visit(path)
	b.arrives(path)
	b.at("delay", "0s")
}

// at sets a field of the form by its name, as far as a person could have.
func (b *tab) at(name, value string) {
	b.t.Helper()
	if !eval[bool](b, `((name, value) => {
		const it = document.forms.edit.elements[name]
		if (!it || it.disabled || !it.checkVisibility()) return false
		it.value = value
		it.dispatchEvent(new Event("input", {bubbles: true}))
		return it.value === value
	})(`+quoted(name)+`,`+quoted(value)+`)`) {
		b.t.Fatalf("the form takes no %q as %s", value, name)
	}
}

// body finds what the body is typed into: the editor, or the text area.
const body = `(document.querySelector("[data-editor] + div")?.shadowRoot?.querySelector(".cm-content") ?? document.getElementById("edit-body"))`

// rewrites selects the whole body and types another text over it.
func (b *tab) rewrites(text string) {
	b.t.Helper()
	eval[bool](b, body+`.focus() ?? true`)
	all := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "a", Code: "KeyA", WindowsVirtualKeyCode: 65, Modifiers: 2, Commands: []string{"selectAll"}}
	up := all
	up.Type, up.Commands = input.DispatchKeyEventTypeKeyUp, nil
	for _, e := range []input.DispatchKeyEventParams{all, up} {
		if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, e); err != nil {
			b.t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		b.t.Fatal(err)
	}
}

// previews presses Preview, until the broker's statistics have forgotten the consumer
// that rejected: what is said of it is part of what is confirmed.
func (b *tab) previews() {
	b.t.Helper()
	b.waits("nobody consumes "+work, func() bool {
		b.press("Preview")
		b.sees("What will be published")
		return contains(b.text(), "Nobody consumes "+work)
	})
}

// keeps presses Keep as draft, and waits until it is kept.
func (b *tab) keeps(id string) {
	b.t.Helper()
	b.press("Keep as draft")
	b.waits("it is kept", func() bool {
		here, err := try[string](b, `document.readyState === "complete" ? location.pathname : ""`)
		return err == nil && here == "/messages/"+id
	})
}

// The main job: a body that isn't JSON any more is explained and kept, what will be
// sent is shown, and its consumer gets just that.
func TestAMessageIsMendedAndReplayed(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"with the editor": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := drained(t)
			s.fail(t, "order.placed", order("o-1", placed))
			s.parked(t, 1)
			b := open(t, s.URL)
			b.script(script)
			b.visit("/messages/1")
			b.press("Edit")
			b.arrives("/messages/1/edit")
			b.at("delay", "0s")
			b.rewrites("{ \"order\": 4711,\n\t\"total\" : 12.60,\n}\n")
			b.press("Preview")
			b.sees("Not valid JSON, in line 3, column 1", "12.60", "It can be sent all the same")
			b.shoot("edit-bad-" + name)
			b.rewrites(strings.ReplaceAll(strings.Replace(placed, "12.50", "12.60", 1), "\r\n", "\n"))
			b.previews()
			b.sees("Valid JSON", "$.total", "12.60", "kept line by line")
			b.shoot("edit-good-" + name)
			b.press("Replay 1 edited → " + work)
			b.arrives("/operations/1")
			got := brokertest.Take(t, s.amqp, work, 1)[0]
			if want := strings.Replace(placed, "12.50", "12.60", 1); string(got.Body) != want {
				t.Errorf("the consumer got %q, want %q", got.Body, want)
			}
			if got.MessageId != "o-1" || got.Headers["tenant"] != "berlin" || got.Headers["x-try"] != int32(2) || got.Headers[parkade.ReplayIDHeader] == nil {
				t.Errorf("the consumer got %+v", got)
			}
		})
	}
}

func TestTheEditPageInEveryLook(t *testing.T) {
	t.Parallel()
	s := drained(t)
	s.fail(t, "order.placed", order("o-1", placed))
	s.parked(t, 1)
	b := open(t, s.URL)
	b.look("edit", page{path: "/messages/1/edit", reads: "What changes"})
	b.size(desk, false)
	b.edits("/messages/1/edit")
	b.rewrites(`{"order": 4711, "total": 13, "items": [1, 2], "note": null, "paid": true}`)
	b.press("Preview")
	b.sees("Replay 1 edited")
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{desk, phone} {
			b.size(width, dark)
			b.fits("preview")
			b.accessible("preview", dark)
			b.shoot("edit-preview-" + map[bool]string{true: "dark", false: "light"}[dark] + "-" + map[int64]string{desk: "desk", phone: "phone"}[width])
		}
	}
}

// mending opens the edit of the one message of a scene and previews a change.
func mending(t *testing.T, script bool) (scene, *tab) {
	t.Helper()
	s := asked(t)
	b := open(t, s.URL)
	b.script(script)
	b.edits("/messages/1/edit")
	b.rewrites(`{"mended": 1}`)
	b.previews()
	b.sees("$.mended")
	return s, b
}

func TestADoubleClickSendsAnEditOnce(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"with the editor": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := mending(t, script)
			at := b.find("Replay 1 edited → " + work)
			b.do("click twice", chromedp.MouseClickXY(at.X, at.Y), chromedp.MouseClickXY(at.X, at.Y, chromedp.ClickCount(2)))
			b.arrives("/operations/1")
			s.sentOnce(t)
		})
	}
}

func TestTheSecondToEditIsShownTheDifferenceAndChooses(t *testing.T) {
	t.Parallel()
	s := asked(t)
	first := open(t, s.URL)
	second := first.another()
	for _, b := range []*tab{first, second} {
		b.edits("/messages/1/edit")
	}
	first.rewrites(`{"country": "GB"}`)
	first.keeps("1")
	second.tolerate("status of 409")
	second.rewrites(`{"country": "IE"}`)
	second.press("Keep as draft")
	second.sees("Somebody was faster", "$.country", "GB", "IE", "What you typed is still here")
	second.accessible("a clash", false)
	second.fits("a clash")
	second.shoot("edit-clash")
	second.keeps("1")
	second.sees("version 3")
}

// The chain: mended wrong, it fails again, comes back, and is mended once more.
func TestWhatComesBackIsMendedAgain(t *testing.T) {
	t.Parallel()
	s, b := mending(t, true)
	b.press("Replay 1 edited → " + work)
	b.arrives("/operations/1")
	s.failAgain(t, 1)
	s.parked(t, 1)
	b.visit("/messages/2")
	b.sees("One message, 2 rounds", "Operation 1")
	b.press("Receipt")
	b.sees("version 2, SHA-256")
	b.edits("/messages/2/edit")
	if was := eval[string](b, `new FormData(document.forms.edit).get("body")`); was != `{"mended": 1}` {
		t.Errorf("what came back is %q", was)
	}
	b.rewrites(`{"mended": 2}`)
	b.previews()
	b.sees("$.mended")
	b.press("Replay 1 edited → " + work)
	b.arrives("/operations/2")
	if got := brokertest.Take(t, s.amqp, work, 1)[0]; string(got.Body) != `{"mended": 2}` {
		t.Errorf("the consumer got %q", got.Body)
	}
	for _, m := range []string{"/messages/1", "/messages/2"} {
		b.visit(m)
		b.sees("One message, 2 rounds", "Operation 1", "Operation 2")
	}
}
