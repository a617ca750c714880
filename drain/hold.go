package drain

import (
	"context"
	"time"

	"parkade"
)

// longestHold is how long one batch stays in hand while the store fails. The
// consumer is off meanwhile, and nothing is acknowledged.
const longestHold = 5 * time.Minute

// park stores a batch, however often that takes. When it gives up, nothing is
// lost either: RabbitMQ hands all of it out again.
func (w *worker) park(ctx context.Context, s *session, b parkade.Batch) error {
	deadline := time.Now().Add(w.patience())
	for pause := time.Second; ; pause *= 2 {
		_, err := w.store.Park(ctx, s.Session, b)
		if err == nil {
			w.stored(int64(len(b.Deliveries)))
			return nil
		}
		w.log.Error("messages can't be stored", "queue", w.queue.Name, "vhost", w.queue.Vhost, "messages", len(b.Deliveries), "err", err, "retry_in", pause)
		fails := storeFails(err)
		if ctx.Err() != nil || time.Now().Add(pause).After(deadline) {
			w.update(func(d *parkade.Drain) { d.Holding = 0 })
			return fails
		}
		w.explain(fails.phase, fails.why, fails.remedy, w.now().Add(pause))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// patience is how long a batch is held: less where RabbitMQ would take it back
// before.
func (w *worker) patience() time.Duration {
	if t := w.facts.ConsumerTimeout; t > 0 && t/2 < longestHold {
		return t / 2
	}
	return longestHold
}
