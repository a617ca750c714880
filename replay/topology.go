package replay

import (
	"context"
	"sync"
	"time"

	"parkade"
)

// A topology is read again after a few seconds, and given up on after a few more.
const (
	freshFor = 5 * time.Second
	readFor  = 10 * time.Second
)

// topologies keeps what was read of each vhost for a moment, since a page, its
// dry run and the operation itself all look at the same one.
type topologies struct {
	brokers map[string]Broker
	now     func() time.Time

	mu  sync.Mutex
	all map[place]*snapshot
	may map[parkade.Queue]permission
}

type snapshot struct {
	mu   sync.Mutex // held while it is read, so that others wait for the same
	at   time.Time
	topo *parkade.Topology // nil: it couldn't be read
}

// get returns the topology of a vhost, or nil when it can't be read.
func (t *topologies) get(ctx context.Context, p place) *parkade.Topology {
	topo, _ := t.read(ctx, p)
	return topo
}

// read returns the topology of a vhost and when it was read.
func (t *topologies) read(ctx context.Context, p place) (*parkade.Topology, time.Time) {
	b, ok := t.brokers[p.broker]
	if !ok {
		return nil, time.Time{}
	}
	s := t.snapshot(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && t.now().Sub(s.at) < freshFor {
		return s.topo, s.at
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	s.topo = nil
	if topo, err := b.Topology(ctx, p.vhost); err == nil {
		s.topo = &topo
	}
	s.at = t.now()
	return s.topo, s.at
}

func (t *topologies) snapshot(p place) *snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = make(map[place]*snapshot)
	}
	if t.all[p] == nil {
		t.all[p] = &snapshot{}
	}
	return t.all[p]
}

// byHeaders reports whether where a message goes may depend on its headers.
func byHeaders(t *parkade.Topology) bool {
	if t == nil {
		return false
	}
	for _, b := range t.Bindings { // every vhost has an exchange amq.headers, which is rarely bound
		if t.Exchanges[b.Source].Type == "headers" {
			return true
		}
	}
	return false
}
