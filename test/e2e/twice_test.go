package e2e

import (
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

// asked is a scene with one parked message, drained already.
func asked(t *testing.T) scene {
	t.Helper()
	s := stage(t, dashtest.Parking{Queue: parking, Auto: true})
	s.run()
	s.fail(t, "order.placed", order("o-1", "{}"))
	s.parked(t, 1)
	return s
}

// sheet opens the replay sheet of message 1, or the same form as a page.
func (b *tab) sheet() {
	b.t.Helper()
	b.visit("/messages/1")
	b.press("Replay 1 → " + work + "…")
	b.sees("Before anything is sent")
}

// sentOnce fails the test unless exactly one message was sent.
func (s scene) sentOnce(t *testing.T) {
	t.Helper()
	s.Eventually("every operation ends", patience, func() bool {
		var ops struct{ Items []struct{ State string } }
		s.Get("/operations", &ops)
		for _, op := range ops.Items {
			if op.State != "finished" {
				return false
			}
		}
		return true
	})
	if n := brokertest.Ready(t, s.amqp, work); n != 1 {
		t.Errorf("%d messages were sent, want 1", n)
	}
}

func TestOfTwoWhoConfirmOneSendsAndTheOtherIsTold(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"in sheets": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := asked(t)
			first := open(t, s.URL)
			second := first.another()
			for _, b := range []*tab{first, second} {
				b.script(script)
				b.sheet()
			}
			second.tolerate("status of 409")
			first.press("Replay 1 → " + work)
			first.arrives("/operations/1")
			first.waits("it has been sent", func() bool { return brokertest.Ready(t, s.amqp, work) == 1 })
			second.press("Replay 1 → " + work)
			second.sees("Nothing was changed", "1 left out", "replayed")
			second.offersNot("Replay 1 → " + work)
			s.sentOnce(t)
		})
	}
}

func TestTwoWhoConfirmAtOnceSendOne(t *testing.T) {
	t.Parallel()
	s := asked(t)
	tabs := []*tab{open(t, s.URL), open(t, s.URL)}
	var places []point
	for _, b := range tabs {
		b.tolerate("status of 409")
		b.sheet()
		places = append(places, b.find("Replay 1 → "+work))
	}
	var both sync.WaitGroup
	for i, b := range tabs {
		both.Go(func() {
			if err := chromedp.Do(b.ctx, chromedp.MouseClickXY(places[i].X, places[i].Y)); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	sent := 0
	for _, b := range tabs {
		b.waits("it says what became of it", func() bool { return contains(b.text(), "Nothing was changed") || contains(b.text(), "Operations #1") })
		if contains(b.text(), "Operations #1") {
			sent++
		}
	}
	if sent != 1 {
		t.Errorf("%d of two were led to the operation", sent)
	}
	s.sentOnce(t)
}

func TestADoubleClickConfirmsOnce(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"in a sheet": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := asked(t)
			b := open(t, s.URL)
			b.script(script)
			b.sheet()
			at := b.find("Replay 1 → " + work)
			b.do("click twice", chromedp.MouseClickXY(at.X, at.Y), chromedp.MouseClickXY(at.X, at.Y, chromedp.ClickCount(2)))
			b.arrives("/operations/1")
			b.sees("1 message, frozen when it began")
			s.sentOnce(t)
		})
	}
}

func TestGoingBackAndConfirmingAgainSendsNothing(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"from a sheet": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := asked(t)
			b := open(t, s.URL)
			b.script(script)
			b.sheet()
			b.press("Replay 1 → " + work)
			b.arrives("/operations/1")
			s.sentOnce(t)
			if script {
				b.back("/messages/1")
				b.press("Replay 1 once more…")
				b.sees("1 left out", "Replay 0", "Send the 1 again")
				b.offersNot("Replay 1 → " + work)
			} else { // where the browser has kept the form as it was
				b.back("/replay?")
				b.press("Replay 1 → " + work)
				b.arrives("/operations/1")
				b.sees("1 message, frozen when it began")
			}
			s.sentOnce(t)
		})
	}
}
