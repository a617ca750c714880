package drain

import (
	"fmt"
	"time"

	"parkade"
)

// judge decides what follows from the error that ended a session's cycles.
func (w *worker) judge(s *session, err error) error {
	w.update(func(d *parkade.Drain) { d.Holding = 0 })
	if detail, poison := w.broker.Poison(err); poison {
		return w.poisoned(s, detail)
	}
	if bytes, tooBig := w.broker.TooBig(err); tooBig {
		return w.tooBig(s, bytes)
	}
	return err
}

// poisoned handles a message that the client can't decode. First the good ones
// before it are taken one by one; when it is the head, it is tried a few times,
// and not at all where each try brings it nearer to being destroyed.
func (w *worker) poisoned(s *session, detail string) error {
	if !w.pace.oneByOne() || s.taken > 0 {
		w.oneByOne(s)
		return &halt{parkade.Waiting, "A message can't be decoded. Those before it are taken one by one.", "", time.Second}
	}
	h := &halt{
		parkade.Stopped,
		fmt.Sprintf("The first message in the queue can't be decoded, so nothing behind it can be reached. The client says: %s.", detail),
		"Move that one message to another queue with the shovel plugin, or remove it by hand; then start the drain again.", 0,
	}
	pauses := []time.Duration{time.Minute, 10 * time.Minute, time.Hour}
	if w.tries < len(pauses) && w.facts.Known && w.facts.Unlimited() {
		h.phase, h.wait = parkade.Waiting, pauses[w.tries]
		w.tries++
	}
	w.log.Error("message can't be decoded", "queue", w.queue.Name, "vhost", w.queue.Vhost, "detail", detail, "tried", w.tries)
	return h
}

// tooBig handles a body over the limit: those before it are taken one by one, and
// then a person decides.
func (w *worker) tooBig(s *session, bytes int64) error {
	if s.prefetch > 1 {
		w.oneByOne(s)
		return &halt{parkade.Waiting, "A message is too big. Those before it are taken one by one.", "", time.Second}
	}
	return &halt{
		parkade.Stopped,
		fmt.Sprintf("The first message in the queue has %s, and at most %s are taken.", size(bytes), size(w.maxBody)),
		"Move that one message to another queue with the shovel plugin, or raise max_body; then start the drain again.", 0,
	}
}

// oneByOne makes the next sessions take single messages, until all that were asked
// for in this one are through.
func (w *worker) oneByOne(s *session) { w.pace.single = max(w.pace.single, s.prefetch) }
