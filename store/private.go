package store

import (
	"context"
	"database/sql"
	"fmt"

	"parkade"
)

// destination is where an exchange of ours leads to.
type destination struct {
	broker, vhost, queue string
}

// into is the queue that all of a set go to by an exchange of ours, or "".
func (c *creation) into() string {
	if c.Target.Private() {
		return c.Target.Queue
	}
	return ""
}

// privateExchange returns the name of the operation's exchange for a queue, beside
// the parking queue of a message. It is unlike that of any other operation of any
// store, and noted before it is ever declared, so that it is removed whatever
// happens.
func (c *creation) privateExchange(ctx context.Context, id parkade.MessageID, queue string) (string, error) {
	d := destination{queue: queue}
	if err := c.tx.QueryRowContext(ctx, `
		SELECT s.broker, s.vhost FROM message m JOIN source s ON s.id = m.source_id WHERE m.id = ?`, id).Scan(&d.broker, &d.vhost); err != nil {
		return "", doing("look up a message's vhost", err)
	}
	if name, ok := c.private[d]; ok {
		return name, nil
	}
	if c.private == nil {
		c.private = make(map[destination]string)
	}
	name := fmt.Sprintf("%s.%s.%d", parkade.PrivateExchange, stamp(c.store.run.epoch[:], parkade.ReplayID(c.id)), len(c.private)+1)
	c.private[d] = name
	_, err := c.tx.ExecContext(ctx, `
		INSERT INTO private_exchange (operation_id, name, broker, vhost, queue) VALUES (?, ?, ?, ?, ?)`, c.id, name, d.broker, d.vhost, d.queue)
	return name, doing("note an exchange of ours", err)
}

// into, in a statement about replays r, is the queue of an exchange of ours.
const into = `CASE WHEN r.exchange LIKE '` + parkade.PrivateExchange + `.%'
	  THEN COALESCE((SELECT x.queue FROM private_exchange x WHERE x.operation_id = r.operation_id AND x.name = r.exchange), '') ELSE '' END`

// Leftover is an exchange of ours that nothing needs any more.
type Leftover struct {
	Operation parkade.OperationID
	Broker    string
	Vhost     string
	Name      string
}

// Leftovers returns the exchanges of operations that have ended, as far as they
// aren't known to be removed.
func (s *Store) Leftovers(ctx context.Context) ([]Leftover, error) {
	return query(ctx, s.reader, func(r row) (Leftover, error) {
		var v Leftover
		err := r.Scan(&v.Operation, &v.Broker, &v.Vhost, &v.Name)
		return v, err
	}, leftovers)
}

const leftovers = `
	SELECT x.operation_id, x.broker, x.vhost, x.name
	FROM private_exchange x JOIN operation o ON o.id = x.operation_id
	WHERE x.removed_at IS NULL AND o.state IN ('cancelled', 'finished')
	ORDER BY x.operation_id, x.name`

// Removed records that an exchange of ours is gone.
func (s *Store) Removed(ctx context.Context, v Leftover) error {
	return s.write(ctx, 0, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			UPDATE private_exchange SET removed_at = ? WHERE operation_id = ? AND name = ?`, millis(s.now()), v.Operation, v.Name)
		return err
	})
}
