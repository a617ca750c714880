package store_test

import (
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// What comes in between two reads of a view is in neither, whether a queue was
// known before or not.
func TestAViewAgreesWithItselfWhileMessagesArrive(t *testing.T) {
	t.Parallel()
	first, second := storetest.Queue(), parkade.Queue{Broker: "main", Vhost: "/", Name: "billing.parking"}
	for name, c := range map[string]struct {
		filter  parkade.Filter
		arrives parkade.Queue
	}{
		"all queues":                    {parkade.Filter{}, first},
		"a new queue among all":         {parkade.Filter{}, second},
		"a new queue of one vhost":      {parkade.Filter{Vhost: "/"}, second},
		"a state":                       {parkade.Filter{State: parkade.Parked}, first},
		"more than the counters know":   {parkade.Filter{RoutingKey: "orders.parking"}, second},
		"several queues, not all of it": {parkade.Filter{Broker: "main"}, first},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			storetest.Park(t, s, first, storetest.Delivery("a", "x"))
			storetest.Park(t, s, parkade.Queue{Broker: "other", Vhost: "/v", Name: "parking"}, storetest.Delivery("b", "x"))
			err := s.View(t.Context(), func(at store.View) error {
				before, _, err := at.Count(t.Context(), c.filter, 0)
				if err != nil {
					return err
				}
				storetest.Park(t, s, c.arrives, storetest.Delivery("c", "x"), storetest.Delivery("d", "x"))
				ms, more, err := at.Messages(t.Context(), c.filter, parkade.Page{Limit: 10})
				if err != nil || more || int64(len(ms)) != before {
					t.Errorf("the count is %d, the list has %d: %v", before, len(ms), err)
				}
				after, _, err := at.Count(t.Context(), c.filter, 0)
				if after != before {
					t.Errorf("it counts %d and then %d", before, after)
				}
				counters, _ := at.Counters(t.Context())
				var all int64
				for _, n := range counters {
					all += n.Messages
				}
				if all != 2 {
					t.Errorf("the counters say %d", all)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if n, _, _ := s.Count(t.Context(), parkade.Filter{}, 0); n != 4 {
				t.Errorf("%d messages are there afterwards", n)
			}
		})
	}
}
