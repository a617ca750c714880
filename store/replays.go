package store

import (
	"context"
	"time"

	"parkade"
)

// replayColumns are what replayFields scans, of the table replay called r, joined
// with run and message m.
const replayColumns = `r.id, r.operation_id, r.message_id, r.version, run.epoch, r.exchange, r.routing_key, r.state, r.why, r.came_back,
	COALESCE((SELECT b.id FROM message b WHERE b.came_from = r.id ORDER BY b.id LIMIT 1), 0),
	(SELECT o.by FROM operation o WHERE o.id = r.operation_id), r.intent_at, COALESCE(r.done_at, 0), COALESCE(r.sent_hash, m.body_hash), COALESCE(r.settled_by, ''), COALESCE(r.settled_as, '')`

// replayRow is a ReplayRecord on its way out of the database.
type replayRow struct {
	parkade.ReplayRecord
	epoch, hash []byte
	sent, ended int64
}

func (v *replayRow) fields() []any {
	return []any{
		&v.ID, &v.Operation, &v.Message, &v.Version, &v.epoch, &v.Exchange, &v.RoutingKey, &v.Outcome, &v.Why, &v.CameBack,
		&v.ReturnedAs, &v.By, &v.sent, &v.ended, &v.hash, &v.DecidedBy, &v.DecidedAs,
	}
}

func (v *replayRow) record() parkade.ReplayRecord {
	v.Stamp = stamp(v.epoch, v.ID)
	v.SentAt, v.EndedAt = moment(v.sent), moment(v.ended)
	copy(v.SentHash[:], v.hash)
	return v.ReplayRecord
}

// Replays returns all replays of a message, newest first.
func (s *Store) Replays(ctx context.Context, id parkade.MessageID) ([]parkade.ReplayRecord, error) {
	return query(ctx, s.reader, scanReplay, replaysOf, id)
}

func scanReplay(r row) (parkade.ReplayRecord, error) {
	var v replayRow
	if err := r.Scan(v.fields()...); err != nil {
		return v.ReplayRecord, err
	}
	return v.record(), nil
}

const replaysOf = `
	SELECT ` + replayColumns + `
	FROM replay r JOIN run ON run.id = r.run_id JOIN message m ON m.id = r.message_id
	WHERE r.message_id = ?
	ORDER BY r.id DESC`

// ReplaysOfID returns how often messages with a message id were replayed and may
// have arrived, and when that was last. Without an id nothing is known.
func (s *Store) ReplaysOfID(ctx context.Context, messageID string) (n int64, last time.Time, err error) {
	if messageID == "" {
		return 0, last, nil
	}
	var at int64
	err = s.reader.QueryRowContext(ctx, `
		SELECT count(*), COALESCE(max(r.intent_at), 0)
		FROM message m JOIN replay r ON r.message_id = m.id
		WHERE m.message_id = ? AND m.message_id <> '' AND r.state IN ('confirmed', 'unknown')`, messageID).Scan(&n, &at)
	return n, moment(at), doing("look up replays of a message id", err)
}
