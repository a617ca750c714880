package pipeline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// batchSize is how many rows a relay claims at a time.
	batchSize = 100
	// maxSends is how often a row fails before it is dead, a quarter of an hour
	// after the first time.
	maxSends = 12
	// longestSendPause is the most that a row which failed waits for its next try.
	longestSendPause = 5 * time.Minute
)

// event is a row of the outbox: a message that is to be published. It is written
// by the transaction that makes it true, so neither is there without the other.
type event struct {
	seq, attempts int64 // of the row, once it is claimed

	// ID is the message id. It is set once, so every repeat of the message has the
	// same, and its readers can tell.
	ID string
	// Exchange stands in the row because not all go to the same: what billing tells
	// others goes to its topic exchange, an order to the work queue's. Through the
	// topic exchange an order would count as delivered without a work queue: the
	// queue for all events takes it.
	Exchange      string
	Type          string // the routing key as well
	AppID         string
	CorrelationID string
	Headers       map[string]int64
	Body          []byte
	CreatedAt     time.Time

	headers []byte // as they stand in the row
}

// put writes e as a part of tx.
func (d *database) put(ctx context.Context, tx *sql.Tx, e event) error {
	headers, err := json.Marshal(e.Headers)
	if err != nil {
		return err
	}
	err = d.exec(ctx, tx, `
		INSERT INTO outbox (id, exchange, type, app_id, correlation_id, headers, body, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.Exchange, e.Type, e.AppID, e.CorrelationID, string(headers), e.Body, e.CreatedAt.UnixMilli())
	if err != nil {
		return fmt.Errorf("write to the outbox: %w", err)
	}
	return nil
}

// publishing is e, as it was read from its row, as a message.
func (e event) publishing() (amqp.Publishing, error) {
	if err := json.Unmarshal(e.headers, &e.Headers); err != nil {
		return amqp.Publishing{}, fmt.Errorf("read the headers: %w", err)
	}
	msg := amqp.Publishing{
		Headers:       amqp.Table{},
		ContentType:   "application/json",
		DeliveryMode:  amqp.Persistent, // survives a restart of the broker
		MessageId:     e.ID,
		CorrelationId: e.CorrelationID,
		Timestamp:     e.CreatedAt,
		Type:          e.Type,
		AppId:         e.AppID,
		Body:          e.Body,
	}
	for name, value := range e.Headers {
		msg.Headers[name] = value
	}
	return msg, nil
}

// claim is unsent rows that no other relay has until it ends. If we die, it ends
// too, with nothing marked: then they are sent again.
type claim struct {
	events []event
	marks  []mark
	hold   *sql.Tx // what keeps others away: the locks on the rows, or on SQLite the lock of the one relay
	db     *database
}

// mark is what became of a row.
type mark struct {
	seq, attempts, notBefore int64
	sentAt, deadAt           sql.NullInt64
	lastError                string
}

// claim claims the oldest rows that are due, batchSize at most. On SQLite, whose
// writers would all wait for a transaction that lasts as long as a publish, a
// relay holds the lock of a file beside the database instead; where another one
// has it, nothing is claimed.
func (d *database) claim(ctx context.Context, now time.Time) (*claim, error) {
	lasting := context.WithoutCancel(ctx) // or the end of ctx lets go of the rows while they are published
	c := &claim{db: d}
	var err error
	if d.relayLock == nil {
		c.hold, err = d.begin(lasting)
	} else {
		c.hold, err = d.relayLock.BeginTx(lasting, nil)
		if busy, ok := errors.AsType[*sqlite.Error](err); ok && busy.Code() == sqlite3.SQLITE_BUSY {
			return c, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.read(ctx, now); err != nil {
		_ = c.hold.Rollback()
		return nil, err
	}
	return c, nil
}

// unsent is the query for the oldest rows that are due at a time, up to a number.
func (d *database) unsent() string {
	return `
		SELECT seq, attempts, id, exchange, type, app_id, correlation_id, headers, body, created_at
		FROM ` + d.outbox + `
		WHERE sent_at IS NULL AND dead_at IS NULL AND not_before <= ?
		ORDER BY seq
		LIMIT ? ` + d.dialect.claim
}

func (c *claim) read(ctx context.Context, now time.Time) error {
	from := c.hold.QueryContext
	if c.db.relayLock != nil {
		from = c.db.QueryContext
	}
	rows, err := from(ctx, c.db.bind(c.db.unsent()), now.UnixMilli(), batchSize)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			e       event
			created int64
		)
		if err := rows.Scan(&e.seq, &e.attempts, &e.ID, &e.Exchange, &e.Type, &e.AppID, &e.CorrelationID, &e.headers, &e.Body, &created); err != nil {
			return err
		}
		e.CreatedAt = time.UnixMilli(created)
		c.events = append(c.events, e)
	}
	return rows.Err()
}

// sent notes that e was sent.
func (c *claim) sent(e event, now time.Time) {
	c.marks = append(c.marks, mark{seq: e.seq, attempts: e.attempts, sentAt: sql.NullInt64{Int64: now.UnixMilli(), Valid: true}})
}

// failed notes why e could not be sent. Its next attempt waits, longer each time,
// and lets younger rows pass; after maxSends it is dead, which it reports.
func (c *claim) failed(e event, why error, now time.Time) (dead bool) {
	m := mark{seq: e.seq, attempts: e.attempts + 1, lastError: shorten(why.Error(), longestException)}
	dead = m.attempts >= maxSends
	if dead {
		m.deadAt = sql.NullInt64{Int64: now.UnixMilli(), Valid: true}
	}
	m.notBefore = now.Add(min(time.Second<<min(e.attempts, maxSends), longestSendPause)).UnixMilli()
	c.marks = append(c.marks, m)
	return dead
}

// end marks the rows by what was noted, in one transaction, and lets go of them.
func (c *claim) end(ctx context.Context) error {
	if c.hold == nil {
		return nil
	}
	defer c.hold.Rollback() // does nothing after Commit
	if c.db.relayLock != nil {
		return c.db.write(ctx, func(tx *sql.Tx) error { return c.mark(ctx, tx) })
	}
	if err := c.mark(ctx, c.hold); err != nil {
		return err
	}
	return c.hold.Commit()
}

func (c *claim) mark(ctx context.Context, tx *sql.Tx) error {
	if len(c.marks) == 0 {
		return nil
	}
	update, err := tx.PrepareContext(ctx, c.db.bind(`
		UPDATE outbox SET sent_at = ?, dead_at = ?, attempts = ?, last_error = ?, not_before = ? WHERE seq = ?`))
	if err != nil {
		return err
	}
	defer update.Close()
	for _, m := range c.marks {
		if _, err := update.ExecContext(ctx, m.sentAt, m.deadAt, m.attempts, m.lastError, m.notBefore, m.seq); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes what was sent before then.
func (d *database) forget(ctx context.Context, then time.Time) error {
	return d.write(ctx, func(tx *sql.Tx) error {
		return d.exec(ctx, tx, `DELETE FROM outbox WHERE sent_at < ?`, then.UnixMilli())
	})
}
