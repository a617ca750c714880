package store

import (
	"context"
	"database/sql"
)

// sweepAtOnce is how many messages one transaction of Sweep removes, so that a
// drain never waits long for it.
const sweepAtOnce = 200

// Sweep removes the messages whose retention is over, and returns how many. It
// never touches what somebody still has to decide about, what an operation that
// isn't over holds, nor an earlier round while a later one is here. It gives the
// room back to the disk, and empties the log.
func (s *Store) Sweep(ctx context.Context) (n int64, err error) {
	for {
		some, err := s.sweepSome(ctx)
		n += some
		if err != nil {
			return n, doing("remove old messages", err)
		}
		if some == 0 { // not earlier: an end of a chain uncovers the round before it
			break
		}
		if err := ctx.Err(); err != nil {
			return n, err
		}
	}
	if err := s.forgetBatches(ctx); err != nil {
		return n, doing("forget old batches", err)
	}
	if err := s.shrink(ctx); err != nil {
		return n, doing("give room back", err)
	}
	return n, s.checkpoint(ctx)
}

// expired are the messages that Sweep may remove. A chain of rounds goes from its
// end: its undecided last round keeps all of it readable.
const expired = `
	SELECT m.id
	FROM message m
	WHERE m.expires_at <= ?
	  AND m.state NOT IN ('parked', 'in operation', 'in doubt')
	  AND NOT EXISTS (SELECT 1 FROM message later WHERE later.previous_id = m.id)
	  AND NOT EXISTS (SELECT 1 FROM operation_item i JOIN operation o ON o.id = i.operation_id
	                  WHERE i.message_id = m.id AND o.state NOT IN ('cancelled', 'finished'))
	ORDER BY m.expires_at
	LIMIT ?`

func (s *Store) sweepSome(ctx context.Context) (int64, error) {
	ids, err := query(ctx, s.reader, one[int64], expired, millis(s.now()), sweepAtOnce)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	var n int64
	err = s.write(ctx, Messages, func(tx *sql.Tx) error {
		n = 0
		swept := tally{}
		for _, id := range ids {
			ok, err := s.sweepOne(ctx, tx, id, swept)
			if err != nil {
				return err
			}
			if ok {
				n++
			}
		}
		return adjustCounters(ctx, tx, swept)
	})
	return n, err
}

// sweepOne removes one message, unless something happened to it since it was
// found.
func (s *Store) sweepOne(ctx context.Context, tx *sql.Tx, id int64, swept tally) (bool, error) {
	var p place
	var size int64
	var isCopy bool
	rows, err := query(ctx, tx, func(r row) (struct{}, error) {
		return struct{}{}, r.Scan(&p.source, &p.state, &size, &isCopy)
	}, `
		DELETE FROM message
		WHERE id = ? AND expires_at <= ?
		  AND NOT EXISTS (SELECT 1 FROM message later WHERE later.previous_id = message.id)
		  AND NOT EXISTS (SELECT 1 FROM operation_item i JOIN operation o ON o.id = i.operation_id
		                  WHERE i.message_id = message.id AND o.state NOT IN ('cancelled', 'finished'))
		RETURNING source_id, state, size, copy_of IS NOT NULL`, id, millis(s.now()))
	if err != nil || len(rows) == 0 {
		return false, err
	}
	swept.add(p.source, p.state, amount{-1, -size, -copies(isCopy)})
	return true, nil
}

// forgetBatches removes the closed batches of all sessions but the newest of each
// queue: nothing is matched with them any more.
func (s *Store) forgetBatches(ctx context.Context) error {
	return s.write(ctx, 0, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			DELETE FROM drain_batch
			WHERE state = 'closed'
			  AND session_id < (SELECT max(d.id) FROM drain_session d WHERE d.source_id = drain_batch.source_id)`)
		return err
	})
}

// shrink returns free pages of the file to the disk while they are more than a
// tenth of it; the rest is for the next messages.
func (s *Store) shrink(ctx context.Context) error {
	const atOnce = 2000
	for ctx.Err() == nil {
		var free, pages int64
		if err := s.writer.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&free); err != nil {
			return err
		}
		if err := s.writer.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
			return err
		}
		if free < atOnce || free*10 < pages {
			return nil
		}
		if _, err := s.writer.ExecContext(ctx, `PRAGMA incremental_vacuum(2000)`); err != nil {
			return explain(err)
		}
		s.boundWAL(ctx)
	}
	return ctx.Err()
}
