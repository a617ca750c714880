package drain

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Memory for messages that were delivered and aren't stored yet. The broker
// bounds only their number, so the prefetch is what bounds their bytes.
const (
	sourceBudget  = 64 << 20
	totalBudget   = 256 << 20
	firstPrefetch = 64
	mostPrefetch  = 1000

	unknownSize = 1 << 20   // taken for a message of which nothing is known
	idleHold    = 256 << 10 // as much may stay reserved for a queue that is empty
)

// pace is how many messages a drain asks for at once.
type pace struct {
	prefetch int
	average  int64 // bytes of a message; 0: not known
	largest  int64 // of the last batch
	single   int   // so many more messages are taken one by one
	careful  bool  // all of them are
}

// begin sets the first prefetch of a session.
func (p *pace) begin(average int64) {
	p.average, p.largest = average, 0
	p.prefetch = 1
	if average > 0 {
		p.prefetch = clamp(sourceBudget/average, firstPrefetch)
	}
}

// taken sets the next prefetch after a batch of n messages.
func (p *pace) taken(n int, largest int64) {
	p.largest = largest
	p.single = max(0, p.single-n)
	p.prefetch = clamp(sourceBudget/max(largest, p.average, 1), int64(min(2*p.prefetch, mostPrefetch)))
}

// idle sets the prefetch of an empty queue, so that it reserves little.
func (p *pace) idle() { p.prefetch = clamp(idleHold/p.size(), int64(p.prefetch)) }

// oneByOne reports whether the next message is to be taken alone.
func (p *pace) oneByOne() bool { return p.careful || p.single > 0 }

// want returns for how many messages there should be room; left is that of "the
// next N", or -1.
func (p *pace) want(left int64) int {
	n := p.prefetch
	if p.oneByOne() {
		n = 1
	}
	if left >= 0 {
		n = int(min(int64(n), left))
	}
	return max(n, 1)
}

// size is what a message is expected to take.
func (p *pace) size() int64 {
	if size := max(p.largest, p.average); size > 0 {
		return min(size, sourceBudget)
	}
	return unknownSize
}

func clamp(n, most int64) int { return int(max(1, min(n, most))) }

// share is what one drain holds of the memory that all drains have together.
type share struct {
	pool *semaphore.Weighted
	held int64
}

// fit exchanges what is held for room for up to want messages, and returns for
// how many: 0 when other drains hold everything.
func (s *share) fit(want int, size int64) int {
	s.free()
	for n := want; n > 0; n /= 2 {
		if need := min(int64(n)*size, sourceBudget); s.pool.TryAcquire(need) {
			s.held = need
			return n
		}
	}
	return 0
}

// wait gets room for one message as soon as there is some.
func (s *share) wait(ctx context.Context, size int64) error {
	if err := s.pool.Acquire(ctx, size); err != nil {
		return err
	}
	s.held = size
	return nil
}

func (s *share) free() {
	s.pool.Release(s.held)
	s.held = 0
}
