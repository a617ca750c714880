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

// Park stores a batch in one durable transaction: when it returns, the drain may
// acknowledge all of it. A redelivered copy of a message that is here already is
// recognised or marked, as docs/protocol.md says. Each delivery ends up in exactly
// one row; one that can't be written in full is stored without what was wrong.
func (s *Store) Park(ctx context.Context, session parkade.Session, b parkade.Batch) (parkade.ParkedBatch, error) {
	if len(b.Deliveries) == 0 {
		return parkade.ParkedBatch{}, errors.New("park a batch: it is empty")
	}
	records := newRecords(b)
	p := parking{session: session, batch: b, records: records, now: s.now(), store: s, tally: tally{}, used: map[int64]int64{}}
	err := s.write(ctx, Messages|Drains, func(tx *sql.Tx) error {
		p.tx = tx
		return p.run(context.WithoutCancel(ctx))
	})
	if err != nil {
		return parkade.ParkedBatch{}, doing("park a batch", err)
	}
	crash.Point("drain.txn1_done")
	return p.result, nil
}

// parking is one transaction of Park.
type parking struct {
	store   *Store
	tx      *sql.Tx
	session parkade.Session
	batch   parkade.Batch
	records []*record
	now     time.Time
	source  sourceFacts
	nextID  parkade.MessageID
	first   parkade.MessageID // that this batch inserts
	lowest  parkade.MessageID // of the rows that are or were moved into this batch
	pending []*record         // to be inserted
	used    map[int64]int64   // rows of each batch that explained a copy
	tally   tally
	result  parkade.ParkedBatch
}

// sourceFacts is what matching has to know about a queue.
type sourceFacts struct {
	quorum       bool
	returnsFirst bool
	strict       bool
	before4      bool  // the broker is older than 4.0
	open         bool  // batches of older sessions may still come back
	from, to     int64 // blocks of messages in which their rows are
}

func (p *parking) run(ctx context.Context) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	for _, r := range p.records {
		if err := p.add(ctx, r); err != nil {
			return err
		}
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	if err := p.finish(ctx); err != nil {
		return err
	}
	if err := adjustCounters(ctx, p.tx, p.tally); err != nil {
		return err
	}
	crash.Point("drain.txn1_open")
	return nil
}

// begin reads what the batch depends on and inserts its row, as not certain: a
// row of this very batch is never sure to be what a later delivery repeats.
func (p *parking) begin(ctx context.Context) error {
	var typ, version string
	err := p.tx.QueryRowContext(ctx, `
		SELECT s.type, s.broker_version, s.returns_first, s.strict, b.id IS NOT NULL, COALESCE(min(b.first_id) >> 14, 0), COALESCE(max(b.last_id) >> 14, 0)
		FROM drain_session d JOIN source s ON s.id = d.source_id
		LEFT JOIN drain_batch b ON b.source_id = s.id AND b.session_id <> ?1 AND b.state IN ('stored', 'recent', 'late') AND b.state <> 'closed'
		WHERE d.id = ?1 AND d.end_kind IS NULL AND d.source_id = ?2
		  AND d.id = (SELECT max(id) FROM drain_session WHERE source_id = d.source_id)
		GROUP BY s.id`,
		p.session.ID, p.session.Source).Scan(&typ, &version, &p.source.returnsFirst, &p.source.strict, &p.source.open, &p.source.from, &p.source.to)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("session %d is over", p.session.ID)
	}
	if err != nil {
		return err
	}
	p.source.quorum, p.source.before4 = typ == "quorum", before4(version)
	last, err := one[int64](p.tx.QueryRowContext(ctx, `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'message'), 0)`))
	if err != nil {
		return err
	}
	p.nextID = parkade.MessageID(last + 1)
	p.first, p.lowest = p.nextID, p.nextID
	var bytes int
	for _, d := range p.batch.Deliveries {
		bytes += len(d.Body)
	}
	return p.tx.QueryRowContext(ctx, `
		INSERT INTO drain_batch (source_id, session_id, messages, bytes, certain, state, unmatched, first_id, last_id, committed_at)
		VALUES (?1, ?2, ?3, ?4, 0, 'stored', ?3, ?6 + 1, ?6 + ?3, ?5)
		RETURNING id`,
		p.session.Source, p.session.ID, len(p.batch.Deliveries), bytes, millis(p.now), last).Scan(&p.result.Batch)
}

// before4 reports whether a version is known to be older than 4.0.
func before4(version string) bool {
	var major int
	_, err := fmt.Sscanf(version, "%d.", &major)
	return err == nil && major < 4
}

// add stores one delivery, or recognises it.
func (p *parking) add(ctx context.Context, r *record) error {
	c, err := p.match(ctx, r)
	if err != nil {
		return err
	}
	if c != nil && p.recognises(c, r) {
		p.result.Seen++
		p.used[c.batch]++
		crash.Point("drain.matched")
		return p.recognise(ctx, c, r)
	}
	r.id = p.nextID
	p.nextID++
	if err := p.link(ctx, r); err != nil {
		return err
	}
	if r.origin == nil {
		r.origin = r.hint
	}
	var copies int64
	if c != nil {
		copies = 1
		if err := p.suspect(ctx, c, r); err != nil {
			return err
		}
	}
	p.pending = append(p.pending, r)
	p.result.New++
	p.result.Copies += copies
	p.tally.add(p.session.Source, parkade.Parked, amount{1, int64(len(r.Body)), copies})
	return nil
}

// finish decides whether the batch is certain, and which older ones can still
// come back.
func (p *parking) finish(ctx context.Context) error {
	for batch, n := range p.used {
		if _, err := p.tx.ExecContext(ctx, `
			UPDATE drain_batch
			SET unmatched = unmatched - ?2,
			    state = CASE WHEN unmatched = ?2 AND state IN ('stored', 'recent') AND session_id <> ?3 THEN 'closed' ELSE state END
			WHERE id = ?1`, batch, n, p.session.ID); err != nil {
			return err
		}
	}
	if p.lowest < p.first {
		if _, err := p.tx.ExecContext(ctx, `UPDATE drain_batch SET first_id = ? WHERE id = ?`, p.lowest, p.result.Batch); err != nil {
			return err
		}
	}
	last := p.batch.Deliveries[len(p.batch.Deliveries)-1]
	if !p.batch.FenceOK || last.Redelivered || !p.source.returnsFirst {
		return nil
	}
	if _, err := p.tx.ExecContext(ctx, `UPDATE drain_batch SET certain = 1 WHERE id = ?`, p.result.Batch); err != nil {
		return err
	}
	if !p.source.open {
		return nil
	}
	_, err := p.tx.ExecContext(ctx, `
		UPDATE drain_batch SET state = 'late', open_at = ?
		WHERE source_id = ? AND session_id <> ? AND state IN ('stored', 'recent') AND state <> 'closed'`,
		millis(p.now), p.session.Source, p.session.ID)
	return err
}
