package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"parkade"
	"parkade/store/crash"
)

// Chunk is the next part of an operation, committed and ready to be sent in this
// order.
type Chunk struct {
	Sends []parkade.Send
	State parkade.OperationState // as of the same moment
	Left  int64                  // not yet taken, after these
}

// Chunk records outcomes as Record does and then takes the next messages, in one
// durable transaction: at most limit, and not more than maxBytes of bodies unless
// a single one is larger. It takes none unless the operation is running; Left and
// State tell why. Whatever it returns has to be sent or given back: until it has an
// outcome, its message is held, and after a crash it is unknown.
func (s *Store) Chunk(ctx context.Context, id parkade.OperationID, done []parkade.Result, limit int, maxBytes int64) (Chunk, error) {
	c, err := s.advance(ctx, id, done, limit, maxBytes)
	return c, doing(fmt.Sprintf("next chunk of operation %d", id), err)
}

// Record writes outcomes of an operation down, and ends, pauses or cancels it when
// nothing of it is on its way any more. A replay that has its outcome already
// keeps it. What came back meanwhile did arrive, whatever its result says, unless
// RabbitMQ returned it.
func (s *Store) Record(ctx context.Context, id parkade.OperationID, done []parkade.Result) error {
	_, err := s.advance(ctx, id, done, 0, 0)
	return doing(fmt.Sprintf("record outcomes of operation %d", id), err)
}

// advance is one transaction of an operation that works: the outcomes that are
// known, then what it takes next, which is nothing where limit is 0.
func (s *Store) advance(ctx context.Context, id parkade.OperationID, done []parkade.Result, limit int, maxBytes int64) (Chunk, error) {
	ctx = context.WithoutCancel(ctx)
	var c Chunk
	err := s.write(ctx, Messages|Operations, func(tx *sql.Tx) error {
		p, err := s.progress(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := p.record(ctx, done); err != nil {
			return err
		}
		c.Sends, err = p.claim(ctx, limit, maxBytes)
		if err != nil {
			return err
		}
		if err := p.rest(ctx); err != nil {
			return err
		}
		if err := p.save(ctx); err != nil {
			return err
		}
		if len(done) > 0 {
			crash.Point("replay.outcome_open")
		}
		if len(c.Sends) > 0 {
			crash.Point("job.chunk_claimed")
		}
		c.State, c.Left = p.state, p.total-p.next+1
		return nil
	})
	if err != nil {
		return Chunk{}, err
	}
	passed(done)
	if len(c.Sends) > 0 {
		crash.Point("replay.claimed")
	}
	return c, nil
}

// claim takes the next messages, passing over what can't be taken any more.
func (p *progress) claim(ctx context.Context, limit int, maxBytes int64) ([]parkade.Send, error) {
	var policy parkade.Policy
	if err := json.Unmarshal(p.policy, &policy); err != nil {
		return nil, doing("read the policy", err)
	}
	for p.claiming() && p.next <= p.total && limit > 0 {
		sends, err := p.claimRange(ctx, limit, maxBytes, policy)
		if err != nil || len(sends) > 0 {
			return sends, err
		}
	}
	return nil, nil
}

// claimRange takes what can be taken of the next positions, with one statement.
func (p *progress) claimRange(ctx context.Context, limit int, maxBytes int64, policy parkade.Policy) ([]parkade.Send, error) {
	last, err := p.reach(ctx, limit, maxBytes)
	if err != nil {
		return nil, doing("choose messages", err)
	}
	newest, err := one[parkade.ReplayID](p.tx.QueryRowContext(ctx, `SELECT COALESCE(max(id), 0) FROM replay`))
	if err != nil {
		return nil, err
	}
	first := p.next
	done, err := p.tx.ExecContext(ctx, claiming,
		p.store.run.id, millis(p.now), p.id, first, last, p.base)
	if err != nil {
		return nil, doing("claim messages", err)
	}
	n, err := done.RowsAffected()
	if err != nil {
		return nil, err
	}
	p.count(parkade.Intent, n)
	p.next = last + 1
	if n < last-first+1 {
		if err := p.skip(ctx, first, last); err != nil {
			return nil, doing("skip messages", err)
		}
	}
	if n == 0 {
		return nil, nil
	}
	return p.load(ctx, newest, policy)
}

// reach returns the last position of the next chunk.
func (p *progress) reach(ctx context.Context, limit int, maxBytes int64) (int64, error) {
	sizes, err := query(ctx, p.tx, one[int64], reaching, p.id, p.next, p.next+int64(limit))
	if err != nil {
		return 0, err
	}
	last, bytes := p.next-1, int64(0)
	for i, size := range sizes {
		if bytes += size; i > 0 && bytes > maxBytes {
			break
		}
		last++
	}
	if last < p.next {
		return 0, fmt.Errorf("position %d of %d is missing", p.next, p.total)
	}
	return last, nil
}

const reaching = `
	SELECT COALESCE(CASE WHEN i.sends > 1 THEN (SELECT e.size FROM edit e WHERE e.message_id = i.message_id AND e.version = i.sends) ELSE m.size END, 0)
	FROM operation_item i LEFT JOIN message m ON m.id = i.message_id
	WHERE i.operation_id = ? AND i.pos >= ? AND i.pos < ?
	ORDER BY i.pos`

// claimable holds for an item i whose message m is as it was when the set was
// frozen. A replay that was given back doesn't count: it was never sent.
const claimable = `i.skipped = '' AND m.state = 'in operation' AND m.operation_id = i.operation_id AND m.version = i.version
	AND NOT EXISTS (SELECT 1 FROM replay r WHERE r.message_id = m.id AND r.id > ?6 AND r.state <> 'cancelled')
	AND (i.was <> 'in doubt' OR ` + unsettled + `)`

const claiming = `
	INSERT INTO replay (run_id, message_id, version, operation_id, pos, exchange, routing_key, state, intent_at)
	SELECT ?1, m.id, i.sends, i.operation_id, i.pos, i.exchange, i.routing_key, 'intent', ?2
	FROM operation_item i JOIN message m ON m.id = i.message_id
	WHERE i.operation_id = ?3 AND i.pos BETWEEN ?4 AND ?5
	  AND ` + claimable + `
	  AND (SELECT o.state FROM operation o WHERE o.id = ?3) IN ('canary', 'running')
	ORDER BY i.pos`

// skip notes why items of a range weren't taken, and lets their messages go. What
// this operation has sent before isn't meant.
func (p *progress) skip(ctx context.Context, first, last int64) error {
	type left struct {
		pos int64
		why string
	}
	all, err := query(ctx, p.tx, func(r row) (left, error) {
		var v left
		err := r.Scan(&v.pos, &v.why)
		return v, err
	}, `
		SELECT i.pos, CASE
		       WHEN m.id IS NULL THEN 'it is no longer in the store'
		       WHEN m.operation_id IS NOT i.operation_id THEN 'something else was done with it meanwhile'
		       WHEN m.version <> i.version THEN 'it was edited meanwhile'
		       WHEN i.was = 'in doubt' AND NOT `+unsettled+` THEN 'its earlier replay came back meanwhile, so it did arrive'
		       ELSE 'it was replayed meanwhile' END
		FROM operation_item i LEFT JOIN message m ON m.id = i.message_id
		WHERE i.operation_id = ? AND i.pos BETWEEN ? AND ? AND i.skipped = ''
		  AND NOT EXISTS (SELECT 1 FROM replay r WHERE r.operation_id = i.operation_id AND r.pos = i.pos AND r.state <> 'cancelled')`,
		p.id, first, last)
	if err != nil {
		return err
	}
	for _, v := range all {
		if err := p.release(ctx, `i.operation_id = ? AND i.pos = ? AND m.operation_id = i.operation_id`, p.id, v.pos); err != nil {
			return err
		}
		if _, err := p.tx.ExecContext(ctx, `
			UPDATE operation_item SET skipped = ? WHERE operation_id = ? AND pos = ?`, v.why, p.id, v.pos); err != nil {
			return err
		}
	}
	p.skipped += int64(len(all))
	return nil
}
