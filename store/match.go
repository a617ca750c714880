package store

import (
	"context"
	"database/sql"
	"errors"

	"parkade"
	"parkade/store/crash"
)

// candidate is a row that a redelivered message may be another copy of.
type candidate struct {
	id      parkade.MessageID
	batch   int64
	state   string // of the batch
	certain bool
}

// match finds the row that r may be a copy of, or nil. Only rows count whose ack
// may not have been handled: those of lost sessions, and on a quorum queue those
// of this session that the queue has handed out again since. Each row explains at
// most one copy.
func (p *parking) match(ctx context.Context, r *record) (*candidate, error) {
	if !r.Redelivered {
		return nil, nil
	}
	again := p.source.quorum && r.brokerCount > 0
	if !p.source.open && !again {
		return nil, nil
	}
	if again { // rows of this very batch count too
		if err := p.flush(ctx); err != nil {
			return nil, err
		}
	}
	from, to := p.source.from, p.source.to
	if again { // rows of this session are anywhere
		from, to = 0, int64(p.nextID)>>14
	}
	var c candidate
	err := p.tx.QueryRowContext(ctx, matchingRow,
		p.session.Source, r.encoded.Fingerprint[:], p.session.ID, p.source.quorum, r.brokerCount, from, to).Scan(&c.id, &c.batch, &c.state, &c.certain)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &c, doing("look for the same message", err)
}

// recognises reports whether r is the message of c for certain. By its id, while
// what came back is still coming; without an id only where no other copy of the
// same content can have been touched.
func (p *parking) recognises(c *candidate, r *record) bool {
	if r.identified && c.state != "late" {
		return true
	}
	return c.state == "stored" && c.certain && !p.source.strict && p.meansTouched(r)
}

// meansTouched reports whether the redelivered flag says that this queue handed
// the message out before. Since 4.0 a message that was dead-lettered after a
// redelivery has the flag at its first delivery.
func (p *parking) meansTouched(r *record) bool {
	_, died := r.Headers.Get("x-death")
	return p.source.before4 || !died
}

// recognise moves the row into this batch, so that a second crash finds it there.
// Its count is the queue's latest: the next copy has to be newer than this one.
func (p *parking) recognise(ctx context.Context, c *candidate, r *record) error {
	p.lowest = min(p.lowest, c.id)
	_, err := p.tx.ExecContext(ctx, `
		UPDATE message SET batch_id = ?, seen_again = seen_again + 1, broker_count = max(broker_count, ?) WHERE id = ?`,
		p.result.Batch, r.brokerCount, c.id)
	return err
}

// suspect marks r as a possible copy of c, which from now on explains no other.
func (p *parking) suspect(ctx context.Context, c *candidate, r *record) error {
	r.copyOf = c.id
	p.used[c.batch]++
	crash.Point("drain.twin")
	_, err := p.tx.ExecContext(ctx, `UPDATE message SET copy_used = 1 WHERE id = ?`, c.id)
	return err
}

// matchingRow finds the candidate that match prefers.
const matchingRow = `
	WITH RECURSIVE block(n) AS (SELECT ?6 UNION ALL SELECT n + 1 FROM block WHERE n < ?7)	SELECT m.id, b.id, b.state, b.certain
	FROM block
	CROSS JOIN message m ON m.source_id = ?1 AND m.id >> 14 = block.n AND m.fp = ?2 AND m.copy_used = 0
	CROSS JOIN drain_batch b ON b.id = m.batch_id
	WHERE b.session_id <> ?3 AND b.state IN ('stored', 'recent', 'late')
	   OR b.session_id = ?3 AND ?4 AND ?5 > m.broker_count
	ORDER BY CASE b.state WHEN 'stored' THEN 1 - b.certain WHEN 'recent' THEN 2 WHEN 'late' THEN 3 ELSE 4 END, m.id
	LIMIT 1`

// blocks counts the blocks of messages that two indexes go by, see the schema.
const blocks = `
	WITH RECURSIVE block(n) AS (
	  SELECT min(id) >> 14 FROM message
	  UNION ALL
	  SELECT n + 1 FROM block WHERE n < (SELECT max(id) >> 14 FROM message))`
