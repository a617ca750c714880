package replays

import (
	"strings"
	"testing"

	"parkade"
	"parkade/broker/brokertest"
)

func TestAnAlarmIsShownAndTheOperationGoesOnAfterIt(t *testing.T) {
	t.Parallel()
	node := brokertest.Node(t, "4.3")
	s := prepare(t, node.Broker)
	shop(t, s.amqp)
	s = s.open(brokertest.Queue(t, s.amqp, brokertest.Classic, parking, nil))
	t.Run("memory", func(t *testing.T) {
		s := s
		s.t = t
		all := s.park(parking, died(theOne, normal))
		op := s.begin(order(parkade.Target{To: parkade.ToAuto}, map[string]any{"rate": 1}, all...))
		s.Eventually("the first confirm", patience, func() bool { return s.operation(op.ID).Counts[parkade.Confirmed] >= 1 })
		node.Ctl("set_vm_memory_high_watermark", "absolute", "1MB")
		s.wantWaiting(op, "memory")
		before := s.operation(op.ID)
		node.Ctl("set_vm_memory_high_watermark", "0.6")
		op = s.finish(op)
		if op.Counts[parkade.Confirmed] != op.Total || before.Counts[parkade.Confirmed] == op.Total || op.Waiting != nil {
			t.Errorf("after %v it ends with %v and waits for %v", before.Counts, op.Counts, op.Waiting)
		}
		s.wantTrue(op, all, s.arrivals(normal.Queue))
	})
	t.Run("disk, with nothing behind the first", func(t *testing.T) { // that could meet the block
		s := s
		s.t = t
		brokertest.Publish(t, s.amqp, "", parking, died(1, normal))
		all := s.parked(parking, 1)
		node.Ctl("set_disk_free_limit", "1000GB")
		op := s.begin(order(parkade.Target{To: parkade.ToAuto}, nil, all...))
		s.wantWaiting(op, "disk")
		node.Ctl("set_disk_free_limit", "50MB")
		op = s.finish(op)
		s.wantTrue(op, all, s.arrivals(normal.Queue))
		if op.Counts[parkade.Confirmed] != 1 || op.Waiting != nil {
			t.Errorf("it ends with %v and waits for %v", op.Counts, op.Waiting)
		}
	})
}

// wantWaiting waits until the API and the page of an operation that runs say that
// the broker is short of something.
func (s stage) wantWaiting(op operation, word string) {
	s.t.Helper()
	s.Eventually("operation "+op.ID+" says that it waits for "+word, patience, func() bool {
		op = s.operation(op.ID)
		return op.Waiting != nil
	})
	if op.State != parkade.Running || !strings.Contains(op.Waiting.Why, word) {
		s.t.Errorf("it is %s and waits: %s", op.State, op.Waiting.Why)
	}
	if page := s.page("/operations/" + op.ID); !strings.Contains(page, op.Waiting.Why) {
		s.t.Errorf("its page lacks %q", op.Waiting.Why)
	}
}
