package drain

import "sync"

// followers are those who want to know when a drain changed. Each has one slot:
// many changes may share a signal, but the last change always has one.
type followers struct {
	mu    sync.Mutex
	slots map[chan struct{}]bool
	count uint64
}

// Revision is a number that is another one after the state of any drain changed.
func (s *Supervisor) Revision() uint64 {
	f := &s.followers
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Subscribe returns a channel that is signalled after the state of any drain
// changed, until stop is called.
func (s *Supervisor) Subscribe() (changed <-chan struct{}, stop func()) {
	f, slot := &s.followers, make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots == nil {
		f.slots = make(map[chan struct{}]bool)
	}
	f.slots[slot] = true
	return slot, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.slots, slot)
	}
}

func (f *followers) announce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	for slot := range f.slots {
		select {
		case slot <- struct{}{}:
		default: // a signal is waiting already
		}
	}
}
