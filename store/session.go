package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"parkade"
	"parkade/store/crash"
)

// How long a proven batch may still come back after a broker was killed, how long
// after the start of a session what comes back is recognised, and how long a late
// batch is remembered.
const (
	provenFor = time.Minute
	recentFor = 10 * time.Minute
	lateFor   = 24 * time.Hour
)

// BeginSession starts a session of a drain, once its connection stands and before
// it consumes (ADR 8). up says that the queue's node is known to have run since the
// last session was alive; false when it isn't known. heartbeat is that of the
// connection.
func (s *Store) BeginSession(ctx context.Context, id parkade.SourceID, up bool, heartbeat time.Duration) (parkade.Session, error) {
	var session parkade.Session
	err := s.write(ctx, Drains, func(tx *sql.Tx) error {
		now := s.now()
		fence, lost, inWindow, err := lastSession(ctx, tx, id)
		if err != nil {
			return err
		}
		if !up || lost && !inWindow {
			_, err = tx.ExecContext(ctx, `
				UPDATE drain_batch SET certain = 0 WHERE source_id = ? AND state = 'stored' AND state <> 'closed'`, id)
		}
		if err == nil {
			// A quorum queue takes acks behind everything else that it is told: the end
			// of a channel can overtake them, however it ended (ADR 13).
			_, err = tx.ExecContext(ctx, `
				UPDATE drain_batch SET state = 'recent', open_at = ?3 WHERE source_id = ?1 AND state = 'proven' AND state <> 'closed'
				  AND (?2 OR (SELECT type = 'quorum' FROM source WHERE id = ?1))`, id, !up, millis(now))
		}
		if err == nil {
			err = closeLateBatches(ctx, tx, id, now)
		}
		if err != nil {
			return err
		}
		if lost {
			fence = max(fence, millis(now.Add(4*heartbeat)))
		}
		session = parkade.Session{Source: id, FenceUntil: moment(fence)}
		return tx.QueryRowContext(ctx, `
			INSERT INTO drain_session (source_id, opened_at, alive_at, fence_until)
			VALUES (?1, ?2, ?2, ?3)
			RETURNING id`, id, millis(now), fence).Scan(&session.ID)
	})
	return session, doing("begin a session", err)
}

// lastSession tells of the session before: until when its connection may still
// hold messages, whether it was lost, and whether that was between the commit of a
// batch and the proof of its ack.
func lastSession(ctx context.Context, tx *sql.Tx, id parkade.SourceID) (fence int64, lost, inWindow bool, err error) {
	err = tx.QueryRowContext(ctx, `
		SELECT s.fence_until, s.end_kind IS NOT 'clean',
		       EXISTS (SELECT 1 FROM drain_batch b WHERE b.session_id = s.id AND b.state = 'stored')
		FROM drain_session s
		WHERE s.source_id = ?
		ORDER BY s.id DESC
		LIMIT 1`, id).Scan(&fence, &lost, &inWindow)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, false, nil
	}
	return fence, lost, inWindow, err
}

// Prove records that the broker handled the ack of the session's last batch. Only
// when it has returned may the drain consume again.
func (s *Store) Prove(ctx context.Context, session parkade.Session) error {
	err := s.write(ctx, 0, func(tx *sql.Tx) error {
		now := s.now()
		if _, err := tx.ExecContext(ctx, `
			UPDATE drain_batch SET state = 'proven', proven_at = ? WHERE session_id = ? AND state = 'stored'`,
			millis(now), session.ID); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE drain_session SET alive_at = ? WHERE id = ?`, millis(now), session.ID); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			UPDATE drain_batch SET state = 'closed'
			WHERE source_id = ? AND state = 'proven' AND state <> 'closed' AND proven_at < ?`,
			session.Source, millis(now.Add(-provenFor))); err != nil {
			return err
		}
		return closeLateBatches(ctx, tx, session.Source, now)
	})
	if err != nil {
		return doing("record a proven ack", err)
	}
	crash.Point("drain.txn2_done")
	return nil
}

// closeLateBatches ends the time of open batches. What came back was at the head of
// the queue, so a recent batch is late after a while, also on a queue in which every
// message is marked as redelivered.
func closeLateBatches(ctx context.Context, tx *sql.Tx, id parkade.SourceID, now time.Time) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE drain_batch SET state = 'late', open_at = ?3
		WHERE source_id = ?1 AND state = 'recent' AND state <> 'closed' AND open_at < ?2`,
		id, millis(now.Add(-recentFor)), millis(now))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE drain_batch SET state = 'closed'
		WHERE source_id = ? AND state = 'late' AND state <> 'closed' AND open_at < ?`,
		id, millis(now.Add(-lateFor)))
	return err
}

// EndSession records that a session ended with nothing on its way. It refuses to
// when the ack of a batch was never proven: that session is lost.
func (s *Store) EndSession(ctx context.Context, session parkade.Session) error {
	return s.write(ctx, Drains, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `
			UPDATE drain_session SET end_kind = 'clean', alive_at = ?2
			WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM drain_batch WHERE session_id = ?1 AND state = 'stored')`,
			session.ID, millis(s.now()))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return fmt.Errorf("end session %d: its last ack isn't proven", session.ID)
	})
}
