package store

import (
	"context"
	"database/sql"

	"parkade"
)

// Settle records what a person decided about a message in doubt: that its replay
// arrived, which resolves it, or that it didn't, which parks it again. The replay
// stays unknown, with the decision beside it.
func (s *Store) Settle(ctx context.Context, id parkade.MessageID, arrived bool, by, reason string) error {
	next, as := parkade.Parked, "not arrived"
	if arrived {
		next, as = parkade.Resolved, "arrived"
	}
	return s.write(ctx, Messages|Operations|Actions, func(tx *sql.Tx) error {
		m, err := s.scanMessage(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM message m WHERE m.id = ?`, id))
		if err != nil {
			return noMessage(id, err)
		}
		if m.State != parkade.InDoubt {
			return parkade.Errorf(parkade.Conflict, "#%d isn't in doubt any more: it is %s. Nothing was changed.", id, m.State)
		}
		now := s.now()
		if _, err := tx.ExecContext(ctx, `
			UPDATE replay SET settled_by = ?, settled_as = ?
			WHERE message_id = ? AND state = 'unknown' AND settled_by IS NULL`, by, as, id); err != nil {
			return doing("settle replays", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE message SET state = ?, changed_at = ?, expires_at = ? WHERE id = ?`,
			next, millis(now), s.expiry(next, now), id); err != nil {
			return doing("settle a message", err)
		}
		source, ok := s.sourceOf(m.Queue)
		if !ok {
			return doing("settle a message", sql.ErrNoRows)
		}
		t := tally{}
		t.move(source, parkade.InDoubt, next, amount{1, m.Size, copies(m.CopyOf != 0)})
		if err := adjustCounters(ctx, tx, t); err != nil {
			return err
		}
		return addAction(ctx, tx, parkade.Action{
			At: now, By: by, Verb: "settle", Queue: &m.Queue, Message: id, Count: 1, Reason: reason, Detail: "taken as " + as,
		})
	})
}
