package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"parkade"
)

// hold puts the messages of the frozen set where the verb wants them: in operation,
// or at once into their new state.
func (c *creation) hold(ctx context.Context) error {
	t := tally{}
	next, holder := `'in operation'`, any(c.id)
	switch c.Verb {
	case parkade.Discard:
		next, holder = `'discarded'`, nil
	case parkade.Resolve:
		next, holder = `'resolved'`, nil
	case parkade.Restore:
		next, holder = `CASE WHEN `+unsettled+` THEN 'in doubt' ELSE 'parked' END`, nil
	case parkade.Replay, parkade.GiveBack:
	}
	if err := c.store.moveItems(ctx, c.tx, c.now, t, next, holder, `i.operation_id = ? AND i.skipped = ''`, c.id); err != nil {
		return err
	}
	return adjustCounters(ctx, c.tx, t)
}

// moveItems moves the messages m of those items i that are meant to the state that
// the expression next gives, held by holder or, where that is nil, by nobody.
func (s *Store) moveItems(ctx context.Context, tx *sql.Tx, now time.Time, t tally, next string, holder any, items string, args ...any) error {
	type move struct {
		source   parkade.SourceID
		from, to parkade.State
		n        amount
	}
	from := ` FROM operation_item i JOIN message m ON m.id = i.message_id WHERE ` + items
	moves, err := query(ctx, tx, func(r row) (move, error) {
		var v move
		err := r.Scan(&v.source, &v.from, &v.to, &v.n.messages, &v.n.bytes, &v.n.copies)
		return v, err
	}, `SELECT m.source_id, m.state, `+next+`, count(*), sum(m.size), sum(m.copy_of IS NOT NULL)`+from+` GROUP BY 1, 2, 3`, args...)
	if err != nil {
		return err
	}
	for _, v := range moves {
		t.move(v.source, v.from, v.to, v.n)
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE message
		SET state = n.next, operation_id = ?, changed_at = ?,
		    expires_at = CASE WHEN n.next IN ('parked', 'in operation', 'in doubt') THEN NULL WHEN n.next = 'discarded' THEN ? ELSE ? END
		FROM (SELECT i.message_id, `+next+` AS next`+from+`) AS n
		WHERE message.id = n.message_id`,
		append([]any{holder, millis(now), s.expiry(parkade.Discarded, now), s.expiry(parkade.Replayed, now)}, args...)...)
	return err
}

// act writes the operation's entry in the audit trail.
func (c *creation) act(ctx context.Context, count int64) error {
	a := parkade.Action{At: c.now, By: c.By, Verb: string(c.Verb), Operation: c.id, Count: count, Reason: c.Reason}
	sources, err := query(ctx, c.tx, one[parkade.SourceID], `
		SELECT DISTINCT m.source_id FROM operation_item i JOIN message m ON m.id = i.message_id WHERE i.operation_id = ? LIMIT 2`, c.id)
	if err != nil {
		return err
	}
	if len(sources) == 1 {
		q := c.store.queueOf(sources[0])
		a.Queue = &q
	}
	if c.Filter != nil {
		a.Detail = "all that match: " + c.Filter.Query().Encode()
	} else if count == 1 {
		a.Message, err = one[parkade.MessageID](c.tx.QueryRowContext(ctx,
			`SELECT message_id FROM operation_item WHERE operation_id = ? AND skipped = '' LIMIT 1`, c.id))
	}
	if err != nil {
		return err
	}
	return doing(fmt.Sprintf("operation %d", c.id), addAction(ctx, c.tx, a))
}
