package pipeline

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// RetryMode is how a failed order gets to be tried again. In each mode an order
// that always fails is handled five times and then parked.
type RetryMode string

const (
	// Waiting rejects it into one wait queue, and counts its deaths in the work
	// queue. The zero value means this.
	Waiting RetryMode = "waiting"

	// Graduated publishes a copy into one of several wait queues, each slower than
	// the one before, and counts in HeaderAttempt: x-death would never name the
	// work queue, since nothing dies there.
	Graduated RetryMode = "graduated"

	// Delayed leaves the pause, the count and the parking to the work queue itself.
	// It needs RabbitMQ 4.3. A lost connection counts as a failure of every order
	// that was unacknowledged on it, and no parked order says why.
	Delayed RetryMode = "delayed"
)

// HeaderAttempt is how often a message has been handled in vain, in the Graduated
// mode.
const HeaderAttempt = "x-attempt"

const (
	// maxAttempts is how often an order is handled before it is parked.
	maxAttempts = 5
	// slowest is how many times the wait the longest pause is, where pauses grow.
	slowest = 8
)

func (m RetryMode) validate() error {
	switch m {
	case "", Waiting, Graduated, Delayed:
		return nil
	}
	return fmt.Errorf("the retry mode must be %s, %s or %s", Waiting, Graduated, Delayed)
}

// attempts is how often a message with these headers has been handled in vain.
func (t Topology) attempts(headers amqp.Table) int64 {
	switch t.Mode {
	case Delayed:
		return integer(headers["x-delivery-count"])
	case Graduated:
		// Deaths here are of the delivery limit: the order takes its consumer down.
		return integer(headers[HeaderAttempt]) + deaths(headers, t.Work())
	case Waiting:
	}
	return deaths(headers, t.Work())
}

// level is one wait queue, with the fanout exchange that leads into it.
type level struct {
	exchange, queue string
	wait            time.Duration
}

// levels returns the wait queues, the fastest first.
func (t Topology) levels() []level {
	wait := t.Wait
	if wait == 0 {
		wait = DefaultWait
	}
	switch t.Mode {
	case Delayed:
		return nil
	case Graduated:
		levels := []level{{t.Retry(), t.WaitQueue(), wait}}
		for n := 2; n < maxAttempts; n++ {
			wait *= 2
			levels = append(levels, level{fmt.Sprintf("%s.%d", t.Retry(), n), fmt.Sprintf("%s.%d", t.WaitQueue(), n), wait})
		}
		return levels
	case Waiting:
	}
	return []level{{t.Retry(), t.WaitQueue(), wait}}
}

// delayedRetry are the arguments by which a work queue does it all itself.
func (t Topology) delayedRetry() amqp.Table {
	wait := t.Wait
	if wait == 0 {
		wait = DefaultWait
	}
	return amqp.Table{
		"x-delayed-retry-type": "failed",
		"x-delayed-retry-min":  wait.Milliseconds(), // times the number of failures, up to
		"x-delayed-retry-max":  slowest * wait.Milliseconds(),
		"x-delivery-limit":     int64(maxAttempts - 1), // it dies when its failures are more than this
	}
}

// check says whether a broker can do what the mode needs. An older one takes the
// arguments and ignores them, so that a failing order would spin.
func (m RetryMode) check(conn *amqp.Connection) error {
	if m != Delayed {
		return nil
	}
	version, _ := conn.Properties["version"].(string)
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err == nil && (major > 4 || major == 4 && minor >= 3) {
		return nil
	}
	return fmt.Errorf("the retry mode %s needs RabbitMQ 4.3 or newer, and this is %s", m, version)
}

// deaths counts how often the message with these headers was dead-lettered out of
// queue. There is an entry for each reason, and they add up: a rejection and an
// expiry are both an attempt that came to nothing.
func deaths(headers amqp.Table, queue string) int64 {
	entries, _ := headers["x-death"].([]any)
	var n int64
	for _, e := range entries {
		if death, ok := e.(amqp.Table); ok && death["queue"] == queue {
			n += integer(death["count"])
		}
	}
	return n
}

// integer reads a header of any of AMQP's whole number types; else it is 0.
func integer(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case int32:
		return int64(n)
	case int16:
		return int64(n)
	case int8:
		return int64(n)
	case uint32:
		return int64(n)
	case uint16:
		return int64(n)
	case byte:
		return int64(n)
	}
	return 0
}
