package store

import (
	"context"
	"time"
)

// maxWAL is how big the log beside the file may grow before a commit waits for a
// full checkpoint. SQLite's own checkpoints can't shorten the log while pages and
// sweeps keep reading from it in turns.
const maxWAL = 64 << 20

// boundWAL empties the log when it has grown too big. It waits for readers at
// most a fifth of a second, and tries at most once a second.
func (s *Store) boundWAL(ctx context.Context) {
	now := time.Now()
	if n, err := size(s.path + "-wal"); err != nil || n < maxWAL {
		return
	}
	s.mu.Lock()
	due := now.Sub(s.checked) >= time.Second
	if due {
		s.checked = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	if err := s.checkpoint(ctx); err != nil {
		s.log.Warn("store's log can't be emptied", "err", err)
	}
}

// checkpoint writes the log into the file and empties it, as far as no reader
// still needs it.
func (s *Store) checkpoint(ctx context.Context) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 200`); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	if _, again := conn.ExecContext(context.WithoutCancel(ctx), `PRAGMA busy_timeout = 5000`); err == nil {
		err = again
	}
	return err
}
