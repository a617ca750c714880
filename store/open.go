package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"parkade"
)

// pragmas hold for every connection, since they are part of the name that it is
// opened by. Messages leave the broker on the word of this file, so a commit must
// survive a power cut: synchronous stays FULL. auto_vacuum comes first because it
// has to be set while the file is still empty.
const pragmas = "_pragma=auto_vacuum(INCREMENTAL)&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)" +
	"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=journal_size_limit(67108864)"

// The two kinds of connection. A writer keeps the edges of the indexes in memory
// and lets 16 MiB gather between two checkpoints.
const (
	writing = "_txlock=immediate&_pragma=cache_size(-32768)&_pragma=wal_autocheckpoint(4000)&_pragma=temp_store(MEMORY)"
	reading = "_query_only=1&_pragma=cache_size(-4096)"
	readers = 4
)

// Open opens the store at path, and creates the file where there is none; its
// folder has to be there. When it returns, the schema is the newest, this process
// holds the store until Close, and what an earlier process left half done has
// been put right.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: path, log: opts.Log, now: opts.Clock, retention: opts.Retention,
		sources: make(map[parkade.SourceID]parkade.Queue),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	const day = 24 * time.Hour
	s.retention.Discarded = cmp.Or(s.retention.Discarded, 7*day)
	s.retention.Closed = cmp.Or(s.retention.Closed, 30*day)
	if err := s.checkFolder(); err != nil {
		return nil, err
	}
	if s.lock, err = acquire(path, s.now()); err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		_ = s.lock.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := s.open(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("open %s: %w", path, explain(err))
	}
	return s, nil
}

// private creates the file of a new store so that only its owner may read it:
// bodies may hold anything. SQLite gives the log beside it the same mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// checkFolder refuses a folder that isn't there or isn't safe.
func (s *Store) checkFolder() error {
	folder := filepath.Dir(s.path)
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return parkade.Errorf(parkade.Invalid, "The folder %s, which the store should be in, doesn't exist. Create it, or choose another file.", folder)
	case err != nil:
		return err
	case !info.IsDir():
		return parkade.Errorf(parkade.Invalid, "%s, which the store should be in, is no folder.", folder)
	}
	d, err := diskOf(folder)
	if err != nil {
		return err
	}
	if warning := d.warning(); warning != "" {
		s.log.Warn("store is not on a volume", "path", s.path, "why", warning)
	}
	return d.refusal(folder)
}

func (s *Store) open(ctx context.Context) error {
	var err error
	if s.writer, err = connect(s.path, 1, writing); err != nil {
		return err
	}
	if s.reader, err = connect(s.path, readers, reading); err != nil {
		return err
	}
	if err := migrate(ctx, s.writer); err != nil {
		return doing("migrate", err)
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.loadSources(ctx); err != nil {
		return err
	}
	return s.inserts.prepare(ctx, s.writer)
}

func connect(path string, conns int, mode string) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Path: path, RawQuery: pragmas + "&" + mode}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// begin is the start-up transaction: a new run, and everything that an earlier
// process left on its way put right before anything can be sent.
func (s *Store) begin(ctx context.Context) error {
	if _, err := rand.Read(s.run.epoch[:]); err != nil {
		return err
	}
	return s.write(ctx, 0, func(tx *sql.Tx) error {
		row := tx.QueryRowContext(ctx, `INSERT INTO run (epoch, started_at) VALUES (?, ?) RETURNING id`,
			s.run.epoch[:], millis(s.now()))
		if err := row.Scan(&s.run.id); err != nil {
			return err
		}
		first, err := one[[]byte](tx.QueryRowContext(ctx, firstEpoch))
		if err != nil {
			return err
		}
		s.id = idOf(first)
		return s.recover(ctx, tx)
	})
}

// Close writes what is in the log to the file and gives the store up.
func (s *Store) Close() error {
	var errs []error
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	if s.writer != nil {
		_, err := s.writer.ExecContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)
		errs = append(errs, err, s.inserts.close(), s.writer.Close())
	}
	return errors.Join(append(errs, s.lock.Close())...)
}
