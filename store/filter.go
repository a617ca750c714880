package store

import (
	"context"
	"strings"

	"parkade"
)

// matching is the only translation of a Filter into SQL, over the table message
// called m, so that what a list shows, what its count says and what an operation
// freezes can't drift apart. sources are those that the filter's broker, vhost and
// queue allow; nil is all of them.
func (s *Store) matching(f parkade.Filter, sources []parkade.SourceID) where {
	var w where
	// What picks few messages out of many has an index of its own; the + keeps
	// SQLite from going through a whole queue instead.
	source, state := `m.source_id`, `m.state`
	if f.MessageID != "" || f.Outcome != "" || f.CameBack || f.Copies || f.Operation != 0 {
		source, state = `+m.source_id`, `+m.state`
	}
	if sources != nil {
		args := make([]any, len(sources))
		for i, id := range sources {
			args[i] = id
		}
		if len(sources) == 1 {
			w.and(source+` = ?`, args...)
		} else {
			w.and(source+` IN (`+placeholders(len(args))+`)`, args...)
		}
	}
	if f.State != "" {
		w.and(state+` = ?`, f.State)
	}
	if f.Reason != "" || f.NoReason {
		w.and(`m.reason = ?`, f.Reason)
	}
	if f.RoutingKey != "" {
		w.and(`coalesce(m.origin_key, m.routing_key) = ?`, f.RoutingKey)
	}
	if f.MessageID != "" {
		w.and(`m.id IN (`+withMessageID+`)`, f.MessageID)
	}
	if f.Outcome != "" {
		w.and(`m.last_outcome = ? AND m.last_outcome <> ''`, f.Outcome)
	}
	if f.CameBack {
		w.and(`m.came_back = 1`)
	}
	if f.Copies {
		w.and(`m.copy_of IS NOT NULL`)
	}
	if f.OlderThan != 0 {
		w.and(`m.parked_at <= ?`, millis(s.now().Add(-f.OlderThan)))
	}
	if f.NewerThan != 0 {
		w.and(`m.parked_at >= ?`, millis(s.now().Add(-f.NewerThan)))
	}
	if f.Operation != 0 {
		w.and(`m.id IN (SELECT i.message_id FROM operation_item i WHERE i.operation_id = ?)`, f.Operation)
	}
	return w
}

// withMessageID goes by the index of message ids, block by block.
const withMessageID = blocks + `
	SELECT k.id FROM block CROSS JOIN message k ON k.id >> 14 = block.n AND k.message_id = ? AND k.message_id <> ''`

// matchingAll is matching for a statement that reads the whole set in any order.
func (s *Store) matchingAll(f parkade.Filter) where {
	sources, all := s.sourcesOf(f)
	switch {
	case all:
		return s.matching(f, nil)
	case len(sources) == 0:
		return where{conds: []string{"FALSE"}}
	}
	return s.matching(f, sources)
}

// Count returns how many messages match f, and whether that is exact: past limit
// it stops counting and returns limit. Limit 0 counts to the end.
func (s *Store) Count(ctx context.Context, f parkade.Filter, limit int64) (n int64, exact bool, err error) {
	return s.count(ctx, s.reader, f, limit)
}

func (s *Store) count(ctx context.Context, q querier, f parkade.Filter, limit int64) (n int64, exact bool, err error) {
	if f == (parkade.Filter{Broker: f.Broker, Vhost: f.Vhost, Queue: f.Queue, State: f.State}) {
		n, err = counted(ctx, q, f)
		return n, true, err
	}
	w := s.matchingAll(f)
	most := int64(-1) // SQLite's word for no limit
	if limit > 0 {
		most = limit + 1
	}
	n, err = one[int64](q.QueryRowContext(ctx, counting(w), append(w.args, most)...))
	if limit > 0 && n > limit {
		return limit, false, err
	}
	return n, true, err
}

func counting(w where) string {
	return `SELECT count(*) FROM (SELECT 1 FROM message m WHERE ` + w.String() + ` LIMIT ?)`
}

// counted reads from the counters what they know.
func counted(ctx context.Context, q querier, f parkade.Filter) (int64, error) {
	return one[int64](q.QueryRowContext(ctx, `
		SELECT COALESCE(sum(c.messages), 0)
		FROM counter c JOIN source s ON s.id = c.source_id
		WHERE (?1 = '' OR s.broker = ?1) AND (?2 = '' OR s.vhost = ?2) AND (?3 = '' OR s.queue = ?3) AND (?4 = '' OR c.state = ?4)`,
		f.Broker, f.Vhost, f.Queue, f.State))
}

// where gathers conditions. They are constants of this package; whatever comes
// from outside travels as an argument.
type where struct {
	conds []string
	args  []any
}

func (w *where) and(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.args = append(w.args, args...)
}

func (w *where) String() string {
	if len(w.conds) == 0 {
		return "TRUE"
	}
	return strings.Join(w.conds, " AND ")
}
