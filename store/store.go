// Package store keeps drained messages and what is done with them in one SQLite
// file, which is the only copy of a drained message. All SQL of the product that
// isn't another system's outbox lives here.
//
// Every change is one durable transaction (WAL, synchronous FULL). Reads see
// what was committed when they started, and never wait for the writer.
package store

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"sync"
	"time"

	"parkade"
)

// Store is an open store. One process owns it at a time.
type Store struct {
	path      string
	writer    *sql.DB // one connection, which begins every transaction as a writer
	reader    *sql.DB // a few connections that can't write
	lock      *os.File
	log       *slog.Logger
	now       func() time.Time
	retention Retention
	run       run
	id        string
	inserts   inserts
	changes   changes

	mu      sync.RWMutex
	sources map[parkade.SourceID]parkade.Queue // which never change

	checked time.Time // when a full checkpoint was tried last
}

// Options are the settings of a store. The zero Options are usable.
type Options struct {
	Clock     func() time.Time // time.Now where nil
	Retention Retention
	Log       *slog.Logger // nothing is logged where nil
}

// Retention says how long messages stay that nobody has to decide about any
// more, counted from their last change of state.
type Retention struct {
	Discarded time.Duration // 7 days where 0
	Closed    time.Duration // replayed, given back and resolved ones; 30 days where 0
}

// run is this life of the process. Its epoch makes the stamps of a restored
// backup differ from those that were sent after the backup was taken.
type run struct {
	id    int64
	epoch [8]byte
}

// expiry returns expires_at for a message that reaches state at the time now, in
// Unix milliseconds; nil for a state that somebody still has to decide about.
func (s *Store) expiry(state parkade.State, now time.Time) any {
	switch {
	case state.Undecided():
		return nil
	case state == parkade.Discarded:
		return now.Add(s.retention.Discarded).UnixMilli()
	}
	return now.Add(s.retention.Closed).UnixMilli()
}

// Probe writes to the store and sees it committed, as a batch would be.
func (s *Store) Probe(ctx context.Context) error {
	return s.write(ctx, 0, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE run SET probes = probes + 1 WHERE id = ?`, s.run.id)
		return err
	})
}

// millis returns t as the store keeps it: Unix milliseconds, 0 for no time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// moment is the inverse of millis.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
