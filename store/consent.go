package store

import (
	"context"
	"database/sql"
	"time"

	"parkade"
)

// SourceChoice is what a person decided about draining a queue.
type SourceChoice struct {
	Queue    parkade.Queue
	Wanted   string // "on", "off", or "" where nobody decided
	Accepted bool   // in spite of findings that ask for it
	By       string
	At       time.Time
	Why      string
}

// Want records that a person wants a queue drained, or not, and whether the
// findings that speak against it were accepted. A queue that messages are being
// given back to can't be wanted: that is a Conflict.
func (s *Store) Want(ctx context.Context, q parkade.Queue, on, accepted bool, by, why string) error {
	wanted, verb := "off", "stop"
	if on {
		wanted, verb = "on", "drain"
	}
	var id parkade.SourceID
	err := s.write(ctx, Drains|Actions, func(tx *sql.Tx) error {
		var err error
		if id, err = ensureSource(ctx, tx, q); err != nil {
			return err
		}
		if on {
			if err := mayDrain(ctx, tx, q); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `
			UPDATE source SET wanted = ?, accepted = ?, wanted_by = ?, wanted_at = ?, wanted_why = ? WHERE id = ?`,
			wanted, accepted && on, by, millis(s.now()), why, id); err != nil {
			return err
		}
		return addAction(ctx, tx, parkade.Action{At: s.now(), By: by, Verb: verb, Queue: &q, Reason: why})
	})
	if err != nil {
		return doing("record who wants "+q.String()+" drained", err)
	}
	s.learn(id, q)
	return nil
}

// Wanted returns what people decided, for every queue that was drained once or
// decided about.
func (s *Store) Wanted(ctx context.Context) ([]SourceChoice, error) {
	return query(ctx, s.reader, func(r row) (SourceChoice, error) {
		var c SourceChoice
		var at int64
		err := r.Scan(&c.Queue.Broker, &c.Queue.Vhost, &c.Queue.Name, &c.Wanted, &c.Accepted, &c.By, &at, &c.Why)
		c.At = moment(at)
		return c, err
	}, `
		SELECT broker, vhost, queue, wanted, accepted, wanted_by, wanted_at, wanted_why
		FROM source
		ORDER BY broker, vhost, queue`)
}

// Brake is the one switch that stops all draining.
type Brake struct {
	On    bool
	By    string
	Why   string
	Since time.Time // zero where it was never touched
}

// Brake returns whether all draining is stopped, and who said so.
func (s *Store) Brake(ctx context.Context) (Brake, error) {
	var b Brake
	var since int64
	err := s.reader.QueryRowContext(ctx, `SELECT on_, by, why, since FROM brake`).Scan(&b.On, &b.By, &b.Why, &since)
	b.Since = moment(since)
	return b, err
}

// SetBrake stops all draining, or lets it go on.
func (s *Store) SetBrake(ctx context.Context, on bool, by, why string) error {
	verb := "release"
	if on {
		verb = "brake"
	}
	err := s.write(ctx, Drains|Actions, func(tx *sql.Tx) error {
		now := s.now()
		if _, err := tx.ExecContext(ctx, `UPDATE brake SET on_ = ?, by = ?, why = ?, since = ?`, on, by, why, millis(now)); err != nil {
			return err
		}
		return addAction(ctx, tx, parkade.Action{At: now, By: by, Verb: verb, Reason: why})
	})
	return doing("set the brake", err)
}
