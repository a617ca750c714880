package store

import (
	"context"
	"database/sql"
	"time"

	"parkade"
)

// StartDue starts the scheduled operations whose time has come, and returns how
// long it is until the next one's; 0 where none is left.
func (s *Store) StartDue(ctx context.Context) (next time.Duration, err error) {
	type waiting struct {
		id  parkade.OperationID
		due int64
	}
	all, err := query(ctx, s.reader, func(r row) (waiting, error) {
		var v waiting
		err := r.Scan(&v.id, &v.due)
		return v, err
	}, scheduled)
	if err != nil {
		return 0, doing("look up scheduled operations", err)
	}
	for _, v := range all {
		if left := moment(v.due).Sub(s.now()); left > 0 {
			return left, nil
		}
		if err := s.start(ctx, v.id); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

const scheduled = `SELECT id, due_at FROM operation WHERE state = 'scheduled' AND state NOT IN ('cancelled', 'finished') ORDER BY due_at`

// start starts an operation unless it was called back, or started, meanwhile.
func (s *Store) start(ctx context.Context, id parkade.OperationID) error {
	return s.write(ctx, Operations, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			UPDATE operation SET state = 'running', started_at = ? WHERE id = ? AND state = 'scheduled'`, millis(s.now()), id)
		return doing("start a scheduled operation", err)
	})
}
