package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Headers by which an order asks to be handled badly. They travel with the
// message, so they outlive a restart and work for a message of anybody's.
const (
	// HeaderFailures is how many times the handler fails before it works.
	HeaderFailures = "x-demo-failures"
	// HeaderSlow is how many milliseconds the handler takes.
	HeaderSlow = "x-demo-slow-ms"

	// These are for the relay, which takes them off.
	headerNoID  = "x-demo-no-id" // publish it without a message id
	headerTwice = "x-demo-twice" // as after a confirm that was lost
)

// Traffic says how many orders are placed and how much of that goes wrong. Its
// shares are per cent of the orders, between 0 and 100.
type Traffic struct {
	Rate float64 `json:"rate"` // orders a second; 0 places none

	// An order has at most one of these faults.
	Poison    float64 `json:"poison"`    // fails until the fix is deployed
	Transient float64 `json:"transient"` // fails TransientFailures times, then works
	Malformed float64 `json:"malformed"` // isn't JSON
	NoID      float64 `json:"no_id"`     // has no message id

	// These come on top.
	Slow      float64 `json:"slow"`      // takes SlowMillis to handle
	Duplicate float64 `json:"duplicate"` // is published twice

	TransientFailures int `json:"transient_failures"`
	SlowMillis        int `json:"slow_ms"`
}

// Validate says in one sentence what is wrong with t.
func (t Traffic) Validate() error {
	shares := []struct {
		name  string
		value float64
	}{
		{"poison", t.Poison},
		{"transient", t.Transient},
		{"malformed", t.Malformed},
		{"no_id", t.NoID},
		{"slow", t.Slow},
		{"duplicate", t.Duplicate},
	}
	for _, s := range shares {
		if !(s.value >= 0 && s.value <= 100) { // so that NaN is wrong too
			return fmt.Errorf("%s must be between 0 and 100 per cent", s.name)
		}
	}
	switch {
	case t.Poison+t.Transient+t.Malformed+t.NoID > 100:
		return errors.New("poison, transient, malformed and no_id must not add up to more than 100 per cent")
	case !(t.Rate >= 0 && t.Rate <= maxRate):
		return fmt.Errorf("rate must be between 0 and %d orders a second", maxRate)
	case t.TransientFailures < 0 || t.TransientFailures > maxFailures:
		return fmt.Errorf("transient_failures must be between 0 and %d", maxFailures)
	case t.SlowMillis < 0 || t.SlowMillis > maxSlowMillis:
		return fmt.Errorf("slow_ms must be between 0 and %d", maxSlowMillis)
	}
	return nil
}

const (
	maxRate       = 1000
	maxFailures   = 1000
	maxSlowMillis = 60_000 // far below the broker's acknowledgement timeout of 30 minutes
)

// sabotage does to msg what its headers ask of the relay, and returns how often it
// is to be published.
func sabotage(msg *amqp.Publishing) (times int) {
	times = 1
	if _, twice := msg.Headers[headerTwice]; twice {
		times = 2
	}
	if _, noID := msg.Headers[headerNoID]; noID {
		msg.MessageId = ""
	}
	delete(msg.Headers, headerTwice)
	delete(msg.Headers, headerNoID)
	return times
}

type fault int

const (
	none fault = iota
	poison
	transient
	malformed
	noID
)

// draw picks the fault of one order.
func (t Traffic) draw() fault {
	n := 100 * rand.Float64()
	for _, f := range []struct {
		fault fault
		share float64
	}{{poison, t.Poison}, {transient, t.Transient}, {malformed, t.Malformed}, {noID, t.NoID}} {
		if n < f.share {
			return f.fault
		}
		n -= f.share
	}
	return none
}

func chance(percent float64) bool { return 100*rand.Float64() < percent }

// switches is what people turn while the pipeline runs.
type switches struct {
	mu           sync.Mutex
	traffic      Traffic
	fixed        bool
	relayStopped bool
	changed      chan struct{} // one slot: the traffic is not what it was
}

func newSwitches(t Traffic, fixed, relayStopped bool) *switches {
	return &switches{traffic: t, fixed: fixed, relayStopped: relayStopped, changed: make(chan struct{}, 1)}
}

func (s *switches) state() (t Traffic, fixed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.traffic, s.fixed
}

// deploy switches the fix on, or off again.
func (s *switches) deploy(fixed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fixed = fixed
}

// stopRelay has the relay send nothing, so that the outbox grows, or go on.
func (s *switches) stopRelay(stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relayStopped = stopped
}

func (s *switches) relayIsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.relayStopped
}

// change applies edit to the traffic, unless the result is not valid.
func (s *switches) change(edit func(*Traffic) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.traffic
	if err := edit(&t); err != nil {
		return err
	}
	if err := t.Validate(); err != nil {
		return err
	}
	s.traffic = t
	select {
	case s.changed <- struct{}{}:
	default: // one signal is waiting already
	}
	return nil
}
