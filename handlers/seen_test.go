package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"parkade"
	"parkade/store/storetest"
)

// many parks more than a page of a replay works out.
func many(t *testing.T, s site, n int, one func(i int) parkade.Delivery) {
	t.Helper()
	var all []parkade.Delivery
	for i := range n {
		all = append(all, one(i))
	}
	if n > 0 {
		storetest.Park(t, s.Store, storetest.Queue(), all...)
	}
}

func plainly(i int) parkade.Delivery { return storetest.Delivery(fmt.Sprint("m-", i), "{}") }

func TestAReplayOfManyShowsASampleAndSendsOnlyWhatIsLikeIt(t *testing.T) {
	t.Parallel()
	const filter = "/replay?filter=state%3Dparked"
	stray := func(i int) parkade.Delivery {
		d := plainly(i)
		if i == 0 { // the oldest, which no sample has
			d.Headers = nil
		}
		return d
	}
	for name, tt := range map[string]struct {
		one   func(i int) parkade.Delivery
		later int // that arrive between the look and the press
		code  int
	}{
		"all alike":                 {plainly, 0, http.StatusSeeOther},
		"one more by now":           {plainly, 1, http.StatusConflict},
		"one that nobody was shown": {stray, 0, http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			many(t, s, 1200, tt.one)
			page := s.ask(t, filter, nil)
			wants(t, text(page), "Worked out from the newest 1,000 of 1,200.", "Replay 1,200 → orders.work")
			form := fields(page.Body.String())
			many(t, s, tt.later, func(i int) parkade.Delivery { return plainly(5000 + i) })
			w := s.ask(t, "/replay", form)
			if w.Code != tt.code {
				t.Fatalf("it answers %d: %s", w.Code, text(w))
			}
			if w.Code == http.StatusConflict { // now all of it is shown, and what is shown is sent
				again := fields(w.Body.String())
				if w := s.ask(t, "/replay", again); w.Code != http.StatusSeeOther {
					t.Errorf("pressed again it answers %d: %s", w.Code, text(w))
				}
			}
		})
	}
}
