package store_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"parkade/store"
)

// wantSound fails unless everything holds that docs/protocol.md says of a store at
// rest or at any time, and all counts that are kept are what they count.
func wantSound(t *testing.T, s *store.Store) {
	t.Helper()
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(stats.Path)+"?_query_only=1&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct{ claim, broken string }{
		{"one live replay a message", `SELECT message_id FROM replay WHERE state = 'intent' GROUP BY 1 HAVING count(*) > 1`},
		{"what came back arrived", `SELECT id FROM replay WHERE came_back AND state NOT IN ('intent', 'confirmed')`},
		{"replayed means confirmed", `SELECT id FROM message m WHERE state IN ('replayed', 'given back')
			AND NOT EXISTS (SELECT 1 FROM replay r WHERE r.message_id = m.id AND r.state = 'confirmed')`},
		{"in doubt means undecided", `SELECT id FROM message m WHERE state = 'in doubt'
			AND NOT EXISTS (SELECT 1 FROM replay r WHERE r.message_id = m.id AND r.state = 'unknown' AND r.settled_by IS NULL)`},
		{"at rest nothing is on its way", `SELECT id FROM operation o WHERE state IN ('paused', 'cancelled', 'finished')
			AND EXISTS (SELECT 1 FROM replay r WHERE r.operation_id = o.id AND r.state = 'intent')`},
		{"an ended operation holds nothing", `SELECT m.id FROM message m JOIN operation o ON o.id = m.operation_id WHERE o.state IN ('cancelled', 'finished')`},
		{"a live replay's message is held", `SELECT r.id FROM replay r JOIN message m ON m.id = r.message_id
			WHERE r.state = 'intent' AND m.operation_id IS NOT r.operation_id`},
		{"an unsent item of a live operation is held", `SELECT i.pos FROM operation_item i JOIN operation o ON o.id = i.operation_id JOIN message m ON m.id = i.message_id
			WHERE o.state NOT IN ('cancelled', 'finished') AND i.pos >= o.next_pos AND i.skipped = '' AND m.operation_id IS NOT o.id
			AND NOT EXISTS (SELECT 1 FROM replay r WHERE r.operation_id = o.id AND r.pos = i.pos AND r.state <> 'cancelled')`},
		{"a held message is unsent or on its way", `SELECT m.id FROM message m JOIN operation o ON o.id = m.operation_id
			JOIN operation_item i ON i.operation_id = o.id AND i.message_id = m.id
			WHERE i.pos < o.next_pos AND NOT EXISTS (SELECT 1 FROM replay r WHERE r.operation_id = o.id AND r.pos = i.pos AND r.state = 'intent')`},
		{"nothing is sent twice by one operation", `SELECT pos FROM replay WHERE state <> 'cancelled' GROUP BY operation_id, pos HAVING count(*) > 1`},
		{"each message has its content", `SELECT id FROM message WHERE id NOT IN (SELECT message_id FROM content)`},
		{"each content has its message", `SELECT message_id FROM content WHERE message_id NOT IN (SELECT id FROM message)`},
		{"counters", `SELECT source_id FROM (
			SELECT source_id, state, count(*) AS n, sum(size) AS b, sum(copy_of IS NOT NULL) AS c FROM message GROUP BY 1, 2
			EXCEPT SELECT source_id, state, messages, bytes, copies FROM counter)`},
		{"empty counters", `SELECT source_id FROM counter c WHERE messages <> 0 AND NOT EXISTS (SELECT 1 FROM message m WHERE m.source_id = c.source_id AND m.state = c.state)`},
		{"counts of operations", `SELECT o.id FROM operation o LEFT JOIN (
			SELECT operation_id, sum(state = 'intent') AS i, sum(state = 'confirmed') AS c, sum(state = 'unroutable') AS u, sum(state = 'nacked') AS n,
			       sum(state = 'refused') AS r, sum(state = 'unknown') AS k, sum(came_back) AS b, sum(state <> 'cancelled') AS taken
			FROM replay GROUP BY 1) x ON x.operation_id = o.id
			WHERE (o.intent, o.confirmed, o.unroutable, o.nacked, o.refused, o.unknown, o.came_back)
			   IS NOT (COALESCE(x.i, 0), COALESCE(x.c, 0), COALESCE(x.u, 0), COALESCE(x.n, 0), COALESCE(x.r, 0), COALESCE(x.k, 0), COALESCE(x.b, 0))
			   OR o.skipped <> (SELECT count(*) FROM operation_item j WHERE j.operation_id = o.id AND j.skipped <> '')
			   OR o.total <> (SELECT count(*) FROM operation_item j WHERE j.operation_id = o.id)`},
	} {
		var id int64
		switch err := db.QueryRowContext(t.Context(), c.broken).Scan(&id); {
		case err == nil:
			t.Errorf("broken: %s: %d", c.claim, id)
		case !errors.Is(err, sql.ErrNoRows):
			t.Fatalf("%s: %v", c.claim, err)
		}
	}
}
