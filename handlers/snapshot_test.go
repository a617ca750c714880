package handlers_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"parkade/store/storetest"
)

// A list never says another number than it has, while a drain is at work on two
// queues.
func TestAListAndItsCountAgreeWhileMessagesArrive(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(t *testing.T, s site) (said, shown int){
		"all in the API":      listedByAPI("/api/v1/messages?limit=500"),
		"a state in the API":  listedByAPI("/api/v1/messages?limit=500&vhost=/&state=parked"),
		"a search in the API": listedByAPI("/api/v1/messages?limit=500&key=orders.parking"),
		"on the page":         listedByPage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			done := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					if said, shown := look(t, s); said != shown {
						t.Errorf("it says %d messages, and has %d", said, shown)
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
			for n := range 40 {
				q := storetest.Queue()
				q.Name = fmt.Sprintf("q%d.parking", n%2)
				storetest.Park(t, s.Store, q, storetest.Delivery("", "x"))
			}
			close(done)
			wg.Wait()
		})
	}
}

func listedByAPI(path string) func(*testing.T, site) (said, shown int) {
	return func(t *testing.T, s site) (int, int) {
		t.Helper()
		var list struct {
			Items []struct{ ID string }
			Total int
		}
		if err := json.Unmarshal(s.ask(t, path, nil).Body.Bytes(), &list); err != nil {
			t.Error(err)
		}
		return list.Total, len(list.Items)
	}
}

var (
	shownRow   = regexp.MustCompile(`name="id" value="\d+"`)
	saidNumber = regexp.MustCompile(`(\d+) messages?`)
)

func listedByPage(t *testing.T, s site) (said, shown int) {
	t.Helper()
	page := s.ask(t, "/messages", nil)
	if m := saidNumber.FindStringSubmatch(text(page)); m != nil {
		said, _ = strconv.Atoi(m[1])
	}
	return min(said, 50), len(shownRow.FindAllString(page.Body.String(), -1))
}
