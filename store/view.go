package store

import (
	"context"
	"database/sql"

	"parkade"
)

// View is the store as it was at one moment, so that what is read through it
// agrees: a list with its count, and the parts that a list is merged from. It is
// good until the function ends that it was given to.
type View struct {
	store *Store
	tx    *sql.Tx
}

// View gives fn the store as it is now. It never waits for the writer, but
// holds one of few readers: fn reads, and returns.
func (s *Store) View(ctx context.Context, fn func(View) error) error {
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing was written
	// A transaction sees what was committed before its first read, not before its
	// beginning. Reading now means that the queues of all it sees are known here
	// before they are looked up.
	if _, err := one[int64](tx.QueryRowContext(ctx, `SELECT max(id) FROM run`)); err != nil {
		return err
	}
	return fn(View{s, tx})
}

// Messages is Store.Messages as of the view.
func (v View) Messages(ctx context.Context, f parkade.Filter, p parkade.Page) ([]parkade.Message, bool, error) {
	return v.store.messages(ctx, v.tx, f, p)
}

// Count is Store.Count as of the view.
func (v View) Count(ctx context.Context, f parkade.Filter, limit int64) (n int64, exact bool, err error) {
	return v.store.count(ctx, v.tx, f, limit)
}

// Counters is Store.Counters as of the view.
func (v View) Counters(ctx context.Context) ([]Counter, error) {
	return counters(ctx, v.tx)
}
