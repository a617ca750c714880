package broker

import (
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// blocking is whether RabbitMQ reads what a connection sends: with an alarm for
// memory or disk it doesn't, and says so.
type blocking struct {
	mu    sync.Mutex
	since time.Time // zero: not blocked
	why   string
}

// watch follows the broker's word until the connection ends.
func (b *blocking) watch(changes <-chan amqp.Blocking) {
	for c := range changes {
		b.mu.Lock()
		switch {
		case !c.Active:
			b.since, b.why = time.Time{}, ""
		case b.since.IsZero():
			b.since, b.why = time.Now(), c.Reason
		}
		b.mu.Unlock()
	}
}

func (b *blocking) state() (since time.Time, why string, blocked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since, b.why, !b.since.IsZero()
}
