package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parkade/broker/brokertest"
)

func TestLettersTypedInTheEditorAreTextAndTheKeyboardLeavesIt(t *testing.T) {
	t.Parallel()
	s, b := mending(t, true)
	b.arrives("/messages/1/edit")
	eval[bool](b, body+`.focus() ?? true`)
	b.waits("the preview stands", func() bool { return !eval[bool](b, `document.querySelector("[data-confirm]").disabled`) })
	b.types("t/gmr[?")
	b.sees("Changed since the preview")
	if !eval[bool](b, `document.querySelector("[data-confirm]").disabled`) {
		t.Error("what wasn't previewed can be sent")
	}
	typed := eval[string](b, `new FormData(document.forms.edit).get("body")`)
	if !contains(typed, "t/gmr[") || !contains(typed, `"mended": 1`) {
		t.Errorf("the form has %q", typed)
	}
	undo := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "z", Code: "KeyZ", WindowsVirtualKeyCode: 90, Modifiers: 2}
	for range 3 {
		if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, undo); err != nil {
			t.Fatal(err)
		}
	}
	if now := eval[string](b, `new FormData(document.forms.edit).get("body")`); now != `{"mended": 1}` {
		t.Errorf("undone it is %q", now)
	}
	b.types(kb.Tab)
	if eval[string](b, `document.activeElement.id`) != "edit-file" {
		t.Error("Tab stays in the editor")
	}
	b.press("Preview")
	b.sees("$.mended")
	if n := brokertest.Ready(t, s.amqp, work); n != 0 {
		t.Errorf("%d were sent", n)
	}
}

func TestABodyIsTakenFromAFileAndATooLargeOneIsRefusedKindly(t *testing.T) {
	t.Parallel()
	s := asked(t)
	b := open(t, s.URL)
	b.edits("/messages/1/edit")
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	choose := func(content []byte, size int64) {
		name := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		b.do("choose a file", chromedp.SetUploadFiles("#edit-file", []string{name}))
	}
	choose(nil, 100<<20)
	if why := eval[string](b, `document.getElementById("edit-file").validationMessage`); !contains(why, "This file has 100.0 MiB; at most 48.0 MiB") {
		t.Errorf("it says %q", why)
	}
	choose(every, 256)
	b.press("Preview")
	b.sees("2 B → 256 B")
	b.keeps("1")
	b.edits("/messages/1/edit")
	b.previews()
	b.press("Replay 1")
	b.arrives("/operations/1")
	if got := brokertest.Take(t, s.amqp, work, 1)[0]; !bytes.Equal(got.Body, every) {
		t.Errorf("the consumer got %q", got.Body)
	}
}

func TestALargeBodyIsTypedIntoOrElseRefusedKindly(t *testing.T) {
	t.Parallel()
	s := drained(t)
	line := strings.Repeat("0123456789abcde", 6) + "\n"
	for _, size := range []int{15 << 20, 3 << 20} {
		m := order("big", strings.Repeat(line, size/len(line)))
		m.ContentType = "text/plain"
		brokertest.Publish(t, s.amqp, "orders", "order.placed", m)
		reject(t, s.amqp, work, 1)
	}
	s.parked(t, 2)
	b := open(t, s.URL)
	b.edits("/messages/1/edit")
	b.sees("which no text field takes well", "choose the file below")
	b.previews()
	b.sees("it would be sent as it arrived")
	b.edits("/messages/2/edit")
	b.press("Put it into the form all the same")
	b.arrives("/messages/2/edit?")
	eval[bool](b, body+`.focus() ?? true`)
	b.types("x")
	if n, want := eval[int](b, `new FormData(document.forms.edit).get("body").length`), (3<<20)/len(line)*len(line)+1; n != want {
		t.Errorf("the form has %d characters, want %d", n, want)
	}
}
