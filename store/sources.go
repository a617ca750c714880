package store

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"parkade"
)

// Source returns the id of a queue in this store, which stays the same for ever.
func (s *Store) Source(ctx context.Context, q parkade.Queue) (parkade.SourceID, error) {
	if id, ok := s.sourceOf(q); ok {
		return id, nil
	}
	var id parkade.SourceID
	err := s.write(ctx, Drains, func(tx *sql.Tx) error {
		var err error
		id, err = ensureSource(ctx, tx, q)
		return err
	})
	if err != nil {
		return 0, doing("remember "+q.String(), err)
	}
	s.learn(id, q)
	return id, nil
}

func ensureSource(ctx context.Context, tx *sql.Tx, q parkade.Queue) (parkade.SourceID, error) {
	return one[parkade.SourceID](tx.QueryRowContext(ctx, `
		INSERT INTO source (broker, vhost, queue)
		VALUES (?, ?, ?)
		ON CONFLICT (broker, vhost, queue) DO UPDATE SET queue = excluded.queue
		RETURNING id`,
		q.Broker, q.Vhost, q.Name))
}

// DescribeSource records what the broker says about a queue: its type and the
// broker's version, and whether it gives returned messages before all others.
func (s *Store) DescribeSource(ctx context.Context, id parkade.SourceID, typ, brokerVersion string, returnsFirst bool) error {
	return s.write(ctx, 0, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE source SET type = ?, broker_version = ?, returns_first = ? WHERE id = ?`,
			typ, brokerVersion, returnsFirst, id)
		return err
	})
}

// loadSources reads which queue is which.
func (s *Store) loadSources(ctx context.Context) error {
	type source struct {
		id parkade.SourceID
		q  parkade.Queue
	}
	all, err := query(ctx, s.reader, func(r row) (source, error) {
		var v source
		err := r.Scan(&v.id, &v.q.Broker, &v.q.Vhost, &v.q.Name)
		return v, err
	}, `SELECT id, broker, vhost, queue FROM source`)
	for _, v := range all {
		s.learn(v.id, v.q)
	}
	return err
}

func (s *Store) learn(id parkade.SourceID, q parkade.Queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources[id] = q
}

func (s *Store) queueOf(id parkade.SourceID) parkade.Queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sources[id]
}

func (s *Store) sourceOf(q parkade.Queue) (parkade.SourceID, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, have := range s.sources {
		if have == q {
			return id, true
		}
	}
	return 0, false
}

// sourcesOf returns the sources that f's broker, vhost and queue allow, and
// whether those are all there are.
func (s *Store) sourcesOf(f parkade.Filter) (ids []parkade.SourceID, all bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, id := range slices.Sorted(maps.Keys(s.sources)) {
		q := s.sources[id]
		if (f.Broker == "" || f.Broker == q.Broker) && (f.Vhost == "" || f.Vhost == q.Vhost) && (f.Queue == "" || f.Queue == q.Name) {
			ids = append(ids, id)
		}
	}
	return ids, len(ids) == len(s.sources)
}
