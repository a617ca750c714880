package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"parkade"
)

// Facets are the values that a filter can usefully have.
type Facets struct {
	Queues  []parkade.Queue
	Reasons []string
	Keys    []string // routing keys, as in a Filter
}

// maxFacets bounds the values of one facet.
const maxFacets = 200

// Facets returns the queues, and the first reasons and routing keys of the
// messages that are here, each sorted.
func (s *Store) Facets(ctx context.Context) (Facets, error) {
	f := Facets{Queues: s.queues()}
	var err error
	if f.Reasons, err = s.distinct(ctx, distinctReasons); err != nil {
		return f, err
	}
	f.Keys, err = s.distinct(ctx, distinctKeys)
	return f, err
}

// The distinct values of a column, found by leaping through its index.
const (
	distinctReasons = `
		WITH RECURSIVE v(value) AS (
		  SELECT min(reason) FROM message
		  UNION ALL
		  SELECT (SELECT min(reason) FROM message WHERE reason > v.value) FROM v WHERE v.value IS NOT NULL
		  LIMIT ?)
		SELECT value FROM v WHERE value <> '' ORDER BY value`
	distinctKeys = `
		WITH RECURSIVE v(value) AS (
		  SELECT min(coalesce(origin_key, routing_key)) FROM message
		  UNION ALL
		  SELECT (SELECT min(coalesce(origin_key, routing_key)) FROM message WHERE coalesce(origin_key, routing_key) > v.value) FROM v WHERE v.value IS NOT NULL
		  LIMIT ?)
		SELECT value FROM v WHERE value <> '' ORDER BY value`
)

func (s *Store) distinct(ctx context.Context, stmt string) ([]string, error) {
	return query(ctx, s.reader, one[string], stmt, maxFacets+1)
}

// queues returns all that were drained once or decided about, sorted.
func (s *Store) queues() []parkade.Queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Values(s.sources), func(a, b parkade.Queue) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Vhost, b.Vhost), cmp.Compare(a.Name, b.Name))
	})
}

// Oldest returns when the oldest undecided message of each queue was stored;
// queues without one are left out.
func (s *Store) Oldest(ctx context.Context) (map[parkade.Queue]time.Time, error) {
	type oldest struct {
		queue parkade.Queue
		at    int64
	}
	found, err := query(ctx, s.reader, func(r row) (oldest, error) {
		var o oldest
		err := r.Scan(&o.queue.Broker, &o.queue.Vhost, &o.queue.Name, &o.at)
		return o, err
	}, `
		SELECT s.broker, s.vhost, s.queue, m.parked_at
		FROM counter c
		JOIN source s ON s.id = c.source_id
		JOIN message m ON m.id = (SELECT min(o.id) FROM message o WHERE o.source_id = c.source_id AND o.state = c.state)
		WHERE c.messages > 0 AND c.state IN ('parked', 'in doubt', 'in operation')`)
	if err != nil {
		return nil, err
	}
	first := make(map[parkade.Queue]time.Time, len(found))
	for _, o := range found {
		if at, ok := first[o.queue]; !ok || moment(o.at).Before(at) {
			first[o.queue] = moment(o.at)
		}
	}
	return first, nil
}

// siblings is how many of a queue's newest messages are asked for their origin.
const siblings = 1000

// SiblingOrigins returns the origins that the newest messages of a queue had, most
// common first.
func (s *Store) SiblingOrigins(ctx context.Context, q parkade.Queue) ([]parkade.Siblings, error) {
	source, ok := s.sourceOf(q)
	if !ok {
		return nil, nil
	}
	return query(ctx, s.reader, func(r row) (parkade.Siblings, error) {
		var v parkade.Siblings
		err := r.Scan(&v.Origin.Exchange, &v.Origin.RoutingKey, &v.Origin.Queue, &v.Count)
		return v, err
	}, `
		SELECT origin_exchange, origin_key, origin_queue, count(*) AS n
		FROM (SELECT origin_exchange, origin_key, origin_queue FROM message WHERE source_id = ? ORDER BY id DESC LIMIT ?)
		WHERE origin_queue IS NOT NULL
		GROUP BY 1, 2, 3
		ORDER BY n DESC, 1, 2, 3`, source, siblings)
}
