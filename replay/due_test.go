package replay_test

import (
	"testing"
	"time"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/store"
)

func TestWhatIsScheduledLeavesWhenItsTimeHasComeAndNotBefore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	target := brokertest.Queue(t, p.url, brokertest.Classic, "orders.work", nil)
	later := func(delay time.Duration) parkade.OperationID {
		op, _, err := p.store.Create(t.Context(), store.NewOperation{
			Verb: parkade.Replay, IDs: p.park(t, 3), Target: parkade.Target{To: parkade.ToQueue, Queue: target}, By: "ann", Delay: delay,
		})
		if err != nil {
			t.Fatal(err)
		}
		return op.ID
	}
	back := later(time.Hour)
	soon := later(time.Second)
	p.run(t, wired(t, p.broker))
	op := p.await(t, soon, parkade.Finished)
	if early := op.DueAt.Sub(op.StartedAt); early > 0 || op.Counts[parkade.Confirmed] != 3 {
		t.Errorf("it started %s early, and ended with %v", early, op.Counts)
	}
	if err := p.store.Cancel(t.Context(), back, "ann"); err != nil {
		t.Fatal(err)
	}
	p.await(t, back, parkade.Cancelled)
	brokertest.WaitReady(t, p.url, target, 3)
}
