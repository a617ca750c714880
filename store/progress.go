package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"parkade"
)

// progress is one transaction on one operation: what it read of the row, and what
// it changes of it. save writes all of it at once.
type progress struct {
	store *Store
	tx    *sql.Tx
	now   time.Time
	id    parkade.OperationID

	verb    parkade.Verb
	state   parkade.OperationState
	why     string
	policy  []byte
	total   int64
	next    int64 // the first position that wasn't taken
	base    parkade.ReplayID
	maxBad  int64
	bad     int64 // bad outcomes in a row, up to now
	intents int64 // on their way

	counts   map[parkade.Outcome]int64 // to be added
	skipped  int64                     // to be added
	cameBack int64                     // to be added
	tally    tally
}

func (s *Store) progress(ctx context.Context, tx *sql.Tx, id parkade.OperationID) (*progress, error) {
	p := &progress{store: s, tx: tx, now: s.now(), id: id, counts: map[parkade.Outcome]int64{}, tally: tally{}}
	err := tx.QueryRowContext(ctx, `
		SELECT verb, state, why, policy, total, next_pos, base_replay_id, max_bad, bad_in_row, intent
		FROM operation WHERE id = ?`, id).Scan(
		&p.verb, &p.state, &p.why, &p.policy, &p.total, &p.next, &p.base, &p.maxBad, &p.bad, &p.intents)
	return p, noOperation(id, err)
}

// claiming reports whether the operation may take more messages.
func (p *progress) claiming() bool { return p.state == parkade.Canary || p.state == parkade.Running }

// count adds n replays with outcome o.
func (p *progress) count(o parkade.Outcome, n int64) {
	p.counts[o] += n
	if o == parkade.Intent {
		p.intents += n
	}
}

// turn puts the operation into another state, for a reason that a person reads.
func (p *progress) turn(state parkade.OperationState, why string) { p.state, p.why = state, why }

// rest ends what has nothing on its way: an operation that is done, interrupted or
// not, that is to pause, or that is to be cancelled. What a cancelled one never sent is let go.
func (p *progress) rest(ctx context.Context) error {
	if p.intents > 0 {
		return nil
	}
	done := p.next > p.total
	switch p.state {
	case parkade.Canary, parkade.Running:
		if done {
			p.turn(parkade.Finished, "")
		}
	case parkade.Pausing:
		p.state = parkade.Paused
		if done {
			p.state = parkade.Finished
		}
	case parkade.Interrupted:
		if left, err := p.anyLeft(ctx); err != nil || left {
			return err
		}
		p.turn(parkade.Finished, "")
	case parkade.Cancelling:
		p.state = parkade.Cancelled
		return p.release(ctx, `i.operation_id = ? AND i.pos >= ? AND i.skipped = '' AND m.operation_id = i.operation_id`, p.id, p.next)
	case parkade.Scheduled, parkade.Watching, parkade.Paused, parkade.Cancelled, parkade.Finished:
	}
	return nil
}

// anyLeft reports whether something is left that the operation would take.
func (p *progress) anyLeft(ctx context.Context) (bool, error) {
	return one[bool](p.tx.QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM operation_item WHERE operation_id = ? AND pos >= ? AND skipped = '')`, p.id, p.next))
}

// release lets the messages of some items go, to where they were before. One that
// was in doubt may have come back meanwhile, and then it did arrive.
func (p *progress) release(ctx context.Context, items string, args ...any) error {
	return doing("let messages go", p.store.moveItems(ctx, p.tx, p.now, p.tally, released, nil, items, args...))
}

const released = `CASE WHEN i.was <> 'in doubt' THEN i.was WHEN ` + unsettled + ` THEN 'in doubt' ELSE 'replayed' END`

// save writes what changed. It is the last thing a transaction does.
func (p *progress) save(ctx context.Context) error {
	c := p.counts
	_, err := p.tx.ExecContext(ctx, `
		UPDATE operation
		SET state = ?1, why = ?2, next_pos = ?3, bad_in_row = ?4,
		    started_at = CASE WHEN ?1 IN ('canary', 'running') THEN COALESCE(started_at, ?5) ELSE started_at END,
		    ended_at = CASE WHEN ?1 IN ('cancelled', 'finished') THEN COALESCE(ended_at, ?5) END,
		    intent = intent + ?6, confirmed = confirmed + ?7, unroutable = unroutable + ?8, nacked = nacked + ?9,
		    refused = refused + ?10, unknown = unknown + ?11, cancelled = cancelled + ?12,
		    skipped = skipped + ?13, came_back = came_back + ?14
		WHERE id = ?15`,
		p.state, p.why, p.next, p.bad, millis(p.now),
		c[parkade.Intent], c[parkade.Confirmed], c[parkade.Unroutable], c[parkade.Nacked], c[parkade.Refused], c[parkade.Unknown],
		c[parkade.NotSent], p.skipped, p.cameBack, p.id)
	if err != nil {
		return doing(fmt.Sprintf("save operation %d", p.id), err)
	}
	return adjustCounters(ctx, p.tx, p.tally)
}

// countCameBack brings the counts of an operation up to a replay that comes back
// now. It has to run before the replay's row says so.
func countCameBack(ctx context.Context, tx *sql.Tx, replay parkade.ReplayID) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE operation
		SET came_back = operation.came_back + 1 - r.came_back,
		    confirmed = confirmed + (r.state IN ('unknown', 'nacked')),
		    unknown = unknown - (r.state = 'unknown'),
		    nacked = nacked - (r.state = 'nacked')
		FROM replay r
		WHERE r.id = ? AND operation.id = r.operation_id`, replay)
	return doing("count what came back", err)
}
