package e2e

import (
	"syscall"
	"testing"
	"time"

	"parkade/test/dashtest"
)

// drained is a scene whose parking queue is drained from the start.
func drained(t *testing.T) scene {
	t.Helper()
	s := stage(t, dashtest.Parking{Queue: parking, Auto: true})
	s.run()
	return s
}

// mark marks the page as it is now, to be missed when it is loaded again.
func (b *tab) mark() { eval[int](b, `window.marked = 1`) }

func (b *tab) isMarked() {
	b.t.Helper()
	if !eval[bool](b, `window.marked === 1`) {
		b.t.Error("the page was loaded again")
	}
}

func TestAnOperationIsWatchedUntilItIsFinished(t *testing.T) {
	t.Parallel()
	s := drained(t)
	s.fail(t, "order.placed", order("o-1", "{}"), order("o-2", "{}"), order("o-3", "{}"), order("o-4", "{}"))
	s.parked(t, 4)
	b := open(t, s.URL)
	b.visit("/messages")
	b.press("Replay 4")
	b.fill("At most, messages a second", "2")
	b.press("Replay 4 → " + work)
	b.arrives("/operations/1")
	b.mark()
	b.sees("Running", "Pause")
	b.sees("1 running")
	b.sees("Finished", "4 confirmed")
	b.waits("the rail forgets it", func() bool { return !contains(b.text(), "running") })
	b.isMarked()
}

func TestAListShowsWhatArrivesAndHoldsStillUnderTicks(t *testing.T) {
	t.Parallel()
	s := drained(t)
	s.fail(t, "order.placed", order("o-1", "{}"))
	s.parked(t, 1)
	b := open(t, s.URL)
	b.visit("/messages")
	b.sees("1 message,", "Live")
	b.mark()
	s.fail(t, "order.placed", order("o-2", "{}"))
	arrived := time.Now()
	b.sees("2 messages,", "o-2")
	if took := time.Since(arrived); took > 3*time.Second {
		t.Errorf("what arrived was shown after %s", took)
	}

	// While a row is ticked, the list doesn't move: neither when an event comes nor
	// in the time in which it would have been fetched.
	eval[int](b, `(window.heard = 0, document.addEventListener("htmx:sse:before:message", (e) => { if (e.detail.message.event === "messages") window.heard++ }), 0)`)
	b.press("Tick #1")
	b.sees("1 ticked", "Updates paused while rows are ticked")
	s.fail(t, "order.placed", order("o-3", "{}"))
	b.waits("the page hears of it", func() bool { return eval[int](b, `window.heard`) > 0 })
	eval[int](b, `new Promise((done) => setTimeout(() => done(1), 1500))`)
	b.lacks("o-3")
	if !eval[bool](b, `document.getElementById("t1").checked`) {
		t.Error("the tick is gone")
	}
	b.press("Untick")
	b.sees("3 messages,", "o-3")
	b.isMarked()
}

// A person who looks at a page has to know when it no longer tells the truth.
func TestAPageSaysSinceWhenItIsNoLongerLive(t *testing.T) {
	t.Parallel()
	s := drained(t)
	s.fail(t, "order.placed", order("o-1", "{}"))
	s.parked(t, 1)
	tests := []struct {
		name       string
		stop, goOn func()
	}{
		{
			"the server hangs",
			func() { _ = syscall.Kill(s.PID(), syscall.SIGSTOP) },
			func() { _ = syscall.Kill(s.PID(), syscall.SIGCONT) },
		},
		{"the server is gone", s.Kill, s.run},
	}
	for i, tt := range tests {
		b := open(t, s.URL)
		b.tolerate("ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "htmx")
		b.visit("/messages")
		b.sees("Live")
		b.mark()
		tt.stop()
		s.fail(t, "order.placed", order("later", "{}"))
		b.within(45*time.Second, "it says so: "+tt.name, func() bool { return contains(b.text(), "Not live since") })
		tt.goOn()
		s.parked(t, i+2)
		b.within(45*time.Second, "it catches up after "+tt.name, func() bool {
			text := b.text()
			return !contains(text, "Not live") && contains(text, []string{"2 messages,", "3 messages,"}[i])
		})
		b.isMarked()
	}
}
