package e2e

import (
	"maps"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

// focus describes what has the focus: its words, and what is wrong with how it is
// shown, if anything.
type focus struct{ Words, Wrong string }

const focused = `(() => {
	const it = document.activeElement
	const words = [it.ariaLabel, it.innerText, it.value, ...[...(it.labels ?? [])].map((l) => l.innerText)].filter(Boolean).join(" ").replace(/\s+/g, " ").trim()
	if (it === document.body) return {words: "", wrong: ""}
	const ringed = (e) => {
		const style = getComputedStyle(e)
		return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 || style.boxShadow !== "none"
	}
	const box = it.getBoundingClientRect()
	let wrong = ringed(it) || it.matches("input") && ringed(it.parentElement) ? "" : "has no visible focus"
	const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)
	if (!wrong && box.width > 1 && !(top && (it.contains(top) || top.contains(it) || [...(it.labels ?? [])].some((l) => l.contains(top))))) wrong = "lies under something else"
	return {words, wrong}
})()`

// tabTo goes on with the tab key until something with these words has the focus.
// Everything on the way has to be seen to have it.
func (b *tab) tabTo(words string) {
	b.t.Helper()
	seen := map[string]bool{}
	for range 120 {
		b.types(kb.Tab)
		at := eval[focus](b, focused)
		if at.Wrong != "" {
			b.t.Errorf("on %s, %q %s", b.where(), at.Words, at.Wrong)
		}
		if contains(at.Words, words) {
			return
		}
		seen[at.Words] = true
	}
	b.t.Fatalf("the tab key never leads to %q, only to %v", words, slices.Sorted(maps.Keys(seen)))
}

func TestTheMainJobIsDoneWithTabAndEnter(t *testing.T) {
	t.Parallel()
	s := stage(t)
	s.fail(t, "order.placed", order("o-4711", placed))
	s.run()
	b := open(t, s.URL)
	b.visit("/queues")
	b.sees(parking)
	b.tabTo("→ this store…")
	b.types(kb.Enter)
	b.sees("What was checked just now")
	b.tabTo("and what comes → this store")
	b.types(kb.Enter)
	b.arrives("/queue?")
	b.tabTo("Messages")
	b.types(kb.Enter)
	b.arrives("/messages")
	b.sees("o-4711")
	b.tabTo("Rejected in " + work)
	b.types(kb.Enter)
	b.arrives("/messages/1")
	b.tabTo("Replay 1 → " + work + "…")
	b.types(kb.Enter)
	b.sees("Before anything is sent")
	b.tabTo("Replay 1 → " + work)
	b.types(kb.Enter)
	b.arrives("/operations/1")
	b.sees("Finished", "1 confirmed")
	if got := brokertest.Take(t, s.amqp, work, 1)[0]; string(got.Body) != placed {
		t.Errorf("the consumer got %q", got.Body)
	}
}

func TestTheMainJobIsDoneWithSingleKeys(t *testing.T) {
	t.Parallel()
	s := stage(t, dashtest.Parking{Queue: parking, Auto: true})
	s.run()
	s.fail(t, "order.placed", order("o-1", "{}"), order("o-2", placed), order("o-3", "{}"))
	s.parked(t, 3)
	b := open(t, s.URL)
	b.visit("/")
	b.types("gm")
	b.arrives("/messages")
	b.types("jj")
	b.waits("the second row has the focus", func() bool {
		return contains(eval[string](b, `document.activeElement.closest("tr")?.innerText ?? ""`), "o-2")
	})
	b.types("x")
	b.sees("1 ticked")
	b.types("x")
	b.types(kb.Enter)
	b.arrives("/messages/2")
	b.types("R")
	b.sees("Before anything is sent")
	b.types(kb.Escape)
	b.waits("the sheet is closed and its opener has the focus", func() bool {
		return eval[bool](b, `document.querySelector("dialog[open]") === null`) && contains(eval[focus](b, focused).Words, "Replay 1")
	})
	b.types("?")
	b.sees("Open the replay sheet (never sends by itself)")
	b.types(kb.Escape)
	b.types("]")
	b.arrives("/messages/1")
	b.types("[")
	b.arrives("/messages/2")
	b.types("/")
	b.types("o-3" + kb.Enter)
	b.arrives("/messages?")
	b.sees("1 message,", "o-3")
	b.types("gp")
	b.arrives("/operations")
	b.back("/messages?")
}
