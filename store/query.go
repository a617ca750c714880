package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"parkade"
)

// querier is what reads: the reader pool, or the transaction of a writer.
type querier interface {
	QueryContext(ctx context.Context, stmt string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, stmt string, args ...any) *sql.Row
}

// row is one row of a result.
type row interface{ Scan(dest ...any) error }

// write runs fn in a transaction and, once that is durable, wakes whoever
// follows what it changes. fn reaches the database through tx alone. Once begun it
// is seen through; fn gives its statements a context that can't be cancelled where
// there are many, because the driver watches each of the others from a goroutine.
func (s *Store) write(ctx context.Context, changes Topic, fn func(tx *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback() // does nothing after Commit
	if err := fn(tx); err != nil {
		return explain(err)
	}
	if err := tx.Commit(); err != nil {
		return explain(err)
	}
	s.changes.announce(changes)
	s.boundWAL(ctx)
	return nil
}

// query collects every row, and is the only place that has to remember
// rows.Close and rows.Err.
func query[T any](ctx context.Context, q querier, scan func(row) (T, error), stmt string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, stmt, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// one scans a single value.
func one[T any](r row) (T, error) {
	var v T
	err := r.Scan(&v)
	return v, err
}

// placeholders returns n question marks for an IN list.
func placeholders(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// explain phrases the failures of the file itself for the person who has to do
// something about them. Others stay as they are.
func explain(err error) error {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if _, phrased := errors.AsType[*parkade.Error](err); !ok || phrased {
		return err
	}
	switch failure.Code() & 0xff { // the rest of the code is the detail
	case sqlite3.SQLITE_FULL:
		return parkade.Errorf(parkade.Unavailable,
			"The disk that the store is on is full: nothing can be stored until there is room again.").Because(err)
	case sqlite3.SQLITE_READONLY:
		return parkade.Errorf(parkade.Unavailable, "The store's file can't be written: it is read-only.").Because(err)
	case sqlite3.SQLITE_IOERR:
		return parkade.Errorf(parkade.Unavailable, "The disk that the store is on fails: %s.", failure.Error()).Because(err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return parkade.Errorf(parkade.Unavailable, "The store's file is damaged. Stop the dashboard and restore a backup.").Because(err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return parkade.Errorf(parkade.Unavailable, "The store's file is locked by another program.").Because(err)
	}
	return err
}

// refusedRow reports whether err says that a single row can't be written, while
// others can.
func refusedRow(err error) bool {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch failure.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH:
		return true
	}
	return false
}

// doing says what was tried when err happened.
func doing(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
