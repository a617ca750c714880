package store

import (
	"context"

	"parkade"
)

// unhandled are the replays of the operations in ?1 that need somebody: what came
// back and is parked again (first), and what didn't arrive or is in doubt. One
// whose message was replayed again, discarded, resolved or decided about since, or
// is held by another operation, needs nobody.
const unhandled = `
	SELECT r.id, r.operation_id, 0 AS later
	FROM replay r INDEXED BY replay_came_back
	WHERE r.operation_id IN (SELECT value FROM json_each(?1)) AND r.came_back = 1
	  AND (SELECT verb FROM operation WHERE id = r.operation_id) <> 'give_back'
	  AND EXISTS (SELECT 1 FROM message b WHERE b.came_from = r.id AND b.state IN ('parked', 'in doubt'))
	UNION ALL
	SELECT r.id, r.operation_id, 1
	FROM replay r INDEXED BY replay_bad
	JOIN message m ON m.id = r.message_id
	WHERE r.operation_id IN (SELECT value FROM json_each(?1)) AND r.state IN ('unroutable', 'nacked', 'refused', 'unknown')
	  AND r.state IN ('unroutable', 'nacked', 'refused', 'unknown', 'cancelled') -- as in the index
	  AND r.came_back = 0 AND r.settled_as IS NULL AND m.last_replay_id = r.id AND m.state IN ('parked', 'in doubt')`

const unhandledReplays = `
	WITH u(id, operation_id, later) AS (` + unhandled + `)
	SELECT ` + replayColumns + `
	FROM u JOIN replay r ON r.id = u.id JOIN run ON run.id = r.run_id JOIN message m ON m.id = r.message_id
	ORDER BY u.later, u.id
	LIMIT ?2`

// Unhandled returns the first replays of an operation that still need somebody.
func (s *Store) Unhandled(ctx context.Context, id parkade.OperationID, limit int) ([]parkade.ReplayRecord, error) {
	return query(ctx, s.reader, scanReplay, unhandledReplays, listOfIDs([]parkade.OperationID{id}), limit)
}

// CountUnhandled sets how many replays of each operation still need somebody.
func (s *Store) CountUnhandled(ctx context.Context, ops []parkade.Operation) error {
	type count struct {
		id parkade.OperationID
		n  int64
	}
	var ids []parkade.OperationID
	for _, o := range ops {
		ids = append(ids, o.ID)
	}
	counts, err := query(ctx, s.reader, func(r row) (count, error) {
		var c count
		err := r.Scan(&c.id, &c.n)
		return c, err
	}, `SELECT operation_id, count(*) FROM (`+unhandled+`) GROUP BY operation_id`, listOfIDs(ids))
	if err != nil {
		return doing("count what needs a look", err)
	}
	by := make(map[parkade.OperationID]int64, len(counts))
	for _, c := range counts {
		by[c.id] = c.n
	}
	for i := range ops {
		ops[i].Unhandled = by[ops[i].ID]
	}
	return nil
}
