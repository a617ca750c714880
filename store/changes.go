package store

import "sync"

// Topic is a part of the store that pages and workers follow. Topics add up:
// Messages|Operations is both.
type Topic uint8

// The topics.
const (
	Messages Topic = 1 << iota
	Operations
	Drains
	Actions
)

// changes remembers who follows what. Each follower has one slot: many changes
// may share a signal, but the last change always has one.
type changes struct {
	mu    sync.Mutex
	slots map[chan struct{}]Topic
	count uint64
}

// Revision is a number that is another one after any change has become durable.
// What is read after it is at least as new. It means nothing to another process.
func (s *Store) Revision() uint64 {
	c := &s.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// Subscribe returns a channel that is signalled after any of topics changed, and
// is durable, until stop is called.
func (s *Store) Subscribe(topics Topic) (changed <-chan struct{}, stop func()) {
	c, slot := &s.changes, make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slots == nil {
		c.slots = make(map[chan struct{}]Topic)
	}
	c.slots[slot] = topics
	return slot, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.slots, slot)
	}
}

// Announce tells followers of topics of a change to what pages show beside the
// store's own data.
func (s *Store) Announce(topics Topic) { s.changes.announce(topics) }

func (c *changes) announce(topics Topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	for slot, followed := range c.slots {
		if followed&topics == 0 {
			continue
		}
		select {
		case slot <- struct{}{}:
		default: // a signal is waiting already
		}
	}
}
