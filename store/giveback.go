package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"parkade"
)

// giveBack sends every message of the set into its own parking queue, and pauses
// the drains of those queues: they would take the messages out again at once. That
// is part of the transaction that makes the operation, so that no crash lets a
// drain run while something is given back.
func (c *creation) giveBack(ctx context.Context) error {
	if _, err := c.tx.ExecContext(ctx, `
		UPDATE operation_item
		SET exchange = '', routing_key = (SELECT s.queue FROM message m JOIN source s ON s.id = m.source_id WHERE m.id = operation_item.message_id)
		WHERE operation_id = ? AND skipped = ''`, c.id); err != nil {
		return err
	}
	type part struct {
		source   parkade.SourceID
		messages int64
	}
	parts, err := query(ctx, c.tx, func(r row) (part, error) {
		var v part
		err := r.Scan(&v.source, &v.messages)
		return v, err
	}, `
		SELECT m.source_id, count(*) FROM operation_item i JOIN message m ON m.id = i.message_id
		WHERE i.operation_id = ? AND i.skipped = '' GROUP BY 1`, c.id)
	if err != nil {
		return err
	}
	for _, v := range parts {
		why := fmt.Sprintf("Operation #%d gives %d messages back to it.", c.id, v.messages)
		if v.messages == 1 {
			why = fmt.Sprintf("Operation #%d gives a message back to it.", c.id)
		}
		if _, err := c.tx.ExecContext(ctx, `
			UPDATE source SET wanted = 'off', accepted = 0, wanted_by = ?, wanted_at = ?, wanted_why = ? WHERE id = ?`,
			c.By, millis(c.now), why, v.source); err != nil {
			return err
		}
		q := c.store.queueOf(v.source)
		a := parkade.Action{At: c.now, By: c.By, Verb: "stop", Queue: &q, Operation: c.id, Reason: why}
		if err := addAction(ctx, c.tx, a); err != nil {
			return err
		}
	}
	return nil
}

// MayDrain returns a Conflict for a queue that messages are being given back to, or
// will be: a drain would take them out again.
func (s *Store) MayDrain(ctx context.Context, q parkade.Queue) error {
	return mayDrain(ctx, s.reader, q)
}

func mayDrain(ctx context.Context, db querier, q parkade.Queue) error {
	id, err := one[parkade.OperationID](db.QueryRowContext(ctx, givingBack, q.Broker, q.Vhost, q.Name))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return doing("look for a give-back", err)
	}
	return parkade.Errorf(parkade.Conflict,
		"Operation #%d gives messages back to %s, and draining would take them out again. Let it finish, or cancel it, first.", id, q.Name)
}

const givingBack = `
	SELECT o.id FROM operation o
	WHERE o.state NOT IN ('cancelled', 'finished') AND o.verb = 'give_back'
	  AND EXISTS (SELECT 1 FROM operation_item i JOIN message m ON m.id = i.message_id JOIN source s ON s.id = m.source_id
	              WHERE i.operation_id = o.id AND i.skipped = '' AND s.broker = ? AND s.vhost = ? AND s.queue = ?)
	ORDER BY o.id LIMIT 1`

// GaveBackTo returns the queues that a give-back is about.
func (s *Store) GaveBackTo(ctx context.Context, id parkade.OperationID) ([]parkade.Queue, error) {
	return s.queuesIn(ctx, `
		SELECT DISTINCT m.source_id FROM operation_item i JOIN message m ON m.id = i.message_id
		WHERE i.operation_id = ? AND i.skipped = '' ORDER BY 1`, id)
}

// QueuesOf returns the parking queues of the messages that n would take now.
func (s *Store) QueuesOf(ctx context.Context, n NewOperation) ([]parkade.Queue, error) {
	states, err := n.states()
	if err != nil {
		return nil, err
	}
	stmt, args := `SELECT DISTINCT m.source_id FROM message m WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY 1`, []any{listOfIDs(n.IDs)}
	if n.Filter != nil {
		w := s.matchingAll(*n.Filter)
		w.and(`m.state IN (SELECT value FROM json_each(?))`, listOfStates(states))
		stmt, args = `SELECT DISTINCT m.source_id FROM message m WHERE `+w.String()+` ORDER BY 1`, w.args
	}
	return s.queuesIn(ctx, stmt, args...)
}

func listOfStates(states []parkade.State) string {
	list, _ := json.Marshal(states) // plain texts
	return string(list)
}

// queuesIn returns the queues whose ids a statement selects.
func (s *Store) queuesIn(ctx context.Context, stmt string, args ...any) ([]parkade.Queue, error) {
	ids, err := query(ctx, s.reader, one[parkade.SourceID], stmt, args...)
	queues := make([]parkade.Queue, len(ids))
	for i, source := range ids {
		queues[i] = s.queueOf(source)
	}
	return queues, err
}
