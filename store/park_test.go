package store_test

import (
	"testing"

	"parkade"
	"parkade/store/storetest"
)

func TestAParkedMessageIsReadAsItArrived(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("a", `{"n":1}`), storetest.Delivery("", ""))
	ms, more, err := s.Messages(t.Context(), parkade.Filter{}, parkade.Page{Limit: 10})
	if err != nil || more || len(ms) != 2 {
		t.Fatalf("got %d messages, more %v, %v", len(ms), more, err)
	}
	body, err := s.Body(t.Context(), ids[0])
	if err != nil || string(body) != `{"n":1}` {
		t.Errorf("body %q, %v", body, err)
	}
	t.Logf("%+v", ms[0])
}
