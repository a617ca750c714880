package pipeline

import "sync"

// recent remembers the newest entries that were put into it, up to a limit, and
// forgets the oldest beyond.
type recent[V any] struct {
	mu     sync.Mutex
	limit  int
	values map[string]V
	order  []string // of the keys, a ring once it is full
	oldest int
}

func newRecent[V any](limit int) *recent[V] {
	return &recent[V]{limit: limit, values: map[string]V{}}
}

func (r *recent[V]) get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[key]
	return v, ok
}

func (r *recent[V]) put(key string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.values[key]
	r.values[key] = v
	switch {
	case known:
	case len(r.order) < r.limit:
		r.order = append(r.order, key)
	default:
		delete(r.values, r.order[r.oldest])
		r.order[r.oldest] = key
		r.oldest = (r.oldest + 1) % r.limit
	}
}
