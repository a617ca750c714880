package broker

import (
	"regexp"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rememberFor is how long a limit counts that RabbitMQ named: it can be raised
// while everything runs, and nothing tells.
const rememberFor = time.Minute

// sizes is what is known of the bodies that a broker takes.
type sizes struct {
	taken int64     // the longest that it took from us
	limit int64     // that it named in its last refusal, or 0
	at    time.Time // of that refusal
}

// told returns the limit that the broker named a moment ago, or 0.
func (s sizes) told(now time.Time) int64 {
	if now.Sub(s.at) > rememberFor {
		return 0
	}
	return s.limit
}

// took notes that the broker took a body of n bytes.
func (b *Broker) took(n int64) {
	if n <= harmlessBody {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes.taken = max(b.sizes.taken, n)
}

// tooLarge is how RabbitMQ says that a body is (rabbit_channel, check_msg_size).
var tooLarge = regexp.MustCompile(`larger than (?:configured )?max size (\d+)`)

// heed notes a limit that a refusal names.
func (b *Broker) heed(e *amqp.Error) {
	if e == nil || e.Code != amqp.PreconditionFailed {
		return
	}
	m := tooLarge.FindStringSubmatch(e.Reason)
	if m == nil {
		return
	}
	limit, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes.limit, b.sizes.at = limit, time.Now()
	b.sizes.taken = min(b.sizes.taken, limit)
}
