package drain

import (
	"context"
	"fmt"
	"time"

	"parkade"
	"parkade/store/crash"
)

// A batch is closed after a short silence, or when it has waited long enough.
const (
	linger  = 5 * time.Millisecond
	longest = 50 * time.Millisecond

	quiet   = time.Second      // an empty queue is called that after so long
	idleFor = 30 * time.Second // after that, an empty queue gives memory back
)

// session is one connection's life.
type session struct {
	parkade.Session
	intake   Intake
	prefetch int   // in force
	cycles   int   // begun
	taken    int64 // messages
}

// cycle takes one batch out of the queue: consume, cancel, store, ack, prove. The
// consumer is off while an ack is unproven, so that no message of ours is on its
// way that isn't stored; docs/protocol.md says why nothing less is enough. It
// waits for a first message as long as ctx lasts, and then sees the batch through.
//
//	durable before    step                                       durable after
//	the session       ask for the fence, consume, collect,
//	                  cancel, read to the end
//	                  Park: rows and matches, one transaction    batch stored
//	batch stored      Ack of all of them
//	                  Prove: an answered call on that channel
//	                  Prove in the store                         batch proven
func (w *worker) cycle(ctx context.Context, s *session) error {
	fenceOK := !w.now().Before(s.FenceUntil) // asked before consume: later is too late
	deliveries, lost := w.collect(ctx, s)
	if lost != nil && len(deliveries) == 0 {
		return lost
	}
	through, cancel := w.through(ctx)
	defer cancel()
	if len(deliveries) > 0 {
		batch := parkade.Batch{Deliveries: deliveries, FenceOK: fenceOK, DeliveryLimit: w.facts.LastChance()}
		if err := w.park(through, s, batch); err != nil {
			return err
		}
	}
	if lost != nil {
		return lost // a careful drain stored what it had in hand
	}
	if err := s.intake.Ack(); err != nil {
		return err
	}
	crash.Point("drain.acked")
	if err := w.prove(s, deliveries); err != nil {
		return err
	}
	crash.Point("drain.proof_read")
	if err := w.store.Prove(through, s.Session); err != nil {
		return storeFails(err)
	}
	w.update(func(d *parkade.Drain) { d.Holding = 0 })
	if w.share.held == 0 && ctx.Err() == nil && w.left() != 0 {
		return w.waitForRoom(ctx)
	}
	return nil
}

// collect consumes once. After a while without a message it returns none, so that
// an empty queue doesn't hold memory that others could use.
func (w *worker) collect(ctx context.Context, s *session) ([]parkade.Delivery, error) {
	s.cycles++
	limits := Limits{
		Messages: s.prefetch, Bytes: sourceBudget, MaxBody: w.maxBody, Linger: linger, Longest: longest,
		Careful: w.pace.careful, Delivered: func() { crash.Point("drain.delivered") },
	}
	if s.prefetch > 1 && w.share.held > idleHold {
		idle, cancel := context.WithTimeout(ctx, idleFor)
		defer cancel()
		ctx = idle
	}
	calm := time.AfterFunc(quiet, func() { w.enter(parkade.Listening) })
	deliveries, err := s.intake.Collect(ctx, fmt.Sprintf("s%d-%d", s.ID, s.cycles), limits)
	calm.Stop()
	crash.Point("drain.cancelled")
	if n := int64(len(deliveries)); n > 0 {
		s.taken += n
		w.tries = 0
		w.update(func(d *parkade.Drain) {
			d.Phase, d.Why, d.Remedy, d.Until, d.Holding = parkade.Draining, "", "", time.Time{}, n
		})
	}
	return deliveries, err
}

// prove makes the call whose answer proves the ack, which sets the prefetch of the
// next cycle.
func (w *worker) prove(s *session, deliveries []parkade.Delivery) error {
	if len(deliveries) > 0 {
		var largest int64
		for _, d := range deliveries {
			largest = max(largest, int64(len(d.Body)))
		}
		w.pace.taken(len(deliveries), largest)
		w.took(int64(len(deliveries)))
	} else {
		w.pace.idle()
	}
	s.prefetch = max(1, w.share.fit(w.pace.want(w.left()), w.pace.size()))
	return s.intake.Prove(s.prefetch)
}

// room returns the first prefetch of a session, with the memory for it taken.
func (w *worker) room(ctx context.Context) (int, error) {
	if n := w.share.fit(w.pace.want(w.left()), w.pace.size()); n > 0 {
		return n, nil
	}
	return 1, w.waitForRoom(ctx)
}

func (w *worker) waitForRoom(ctx context.Context) error {
	w.explain(parkade.Waiting, "Other drains hold all the memory that is meant for messages on their way.", "", time.Time{})
	if err := w.share.wait(ctx, w.pace.size()); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// took counts down "the next N".
func (w *worker) took(n int64) {
	w.update(func(d *parkade.Drain) {
		if d.Left >= 0 {
			d.Left = max(0, d.Left-n)
		}
	})
}
