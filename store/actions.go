package store

import (
	"context"
	"database/sql"

	"parkade"
)

// addAction writes one entry of the audit trail, in the transaction that does what
// it tells of.
func addAction(ctx context.Context, tx *sql.Tx, a parkade.Action) error {
	var q parkade.Queue
	if a.Queue != nil {
		q = *a.Queue
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO action (at, by, verb, broker, vhost, queue, operation_id, message_id, count, reason, detail)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		millis(a.At), a.By, a.Verb, q.Broker, q.Vhost, q.Name, orNull(int64(a.Operation)), orNull(int64(a.Message)),
		a.Count, a.Reason, a.Detail)
	return doing("record an action", err)
}
