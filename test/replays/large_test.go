package replays

import (
	"bytes"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

// A broker's limit can be lower than any default, and was not when these arrived.
func TestABodyThatIsTooLargeIsRefusedAndItsNeighboursArrive(t *testing.T) {
	t.Parallel()
	node := brokertest.Node(t, "4.3")
	s := prepare(t, node.Broker)
	shop(t, s.amqp)
	s = s.open(brokertest.Queue(t, s.amqp, brokertest.Classic, parking, nil))
	all := make([]amqp.Publishing, neighbours+2)
	for i := range all {
		all[i] = died(i, normal)
	}
	large := map[int]string{theOne: "larger than configured max size 200000", theOne + 5: "takes at most 200000"}
	for i := range large {
		all[i].Body = bytes.Repeat([]byte("x"), 300_000+i)
	}
	all[2].Body = bytes.Repeat([]byte("x"), 150_000)
	brokertest.Publish(t, s.amqp, "", parking, all...)
	parked := s.parked(parking, len(all))
	node.Ctl("eval", "persistent_term:put(max_message_size, 200000).") // where channels read it; the configuration is read once

	op := s.finish(s.begin(order(parkade.Target{To: parkade.ToAuto}, nil, parked...)))
	records := s.records(op)
	if len(records) != len(all) {
		t.Fatalf("%d replays of %d messages", len(records), len(all))
	}
	arrived := s.arrivals(normal.Queue)
	for i, r := range records {
		why, isLarge := large[i]
		switch {
		case isLarge && (r.Outcome != parkade.Refused || !strings.Contains(r.Why, why) || arrived[r.Stamp] != 0):
			t.Errorf("the large one %d is %s (%q) and arrived %d times, want it refused because %q", i, r.Outcome, r.Why, arrived[r.Stamp], why)
		case !isLarge && (r.Outcome != parkade.Confirmed || arrived[r.Stamp] != 1):
			t.Errorf("its neighbour %d is %s (%q) and arrived %d times", i, r.Outcome, r.Why, arrived[r.Stamp])
		}
	}
	for i := range large {
		if m := s.message(parked[i].ID); m.State != parkade.Parked {
			t.Errorf("the large one %d is %s", i, m.State)
		}
	}
}
