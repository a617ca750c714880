package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parkade"
)

// LastAlive returns when the last session of a source was known to be alive, and
// the zero time where there was none. Whether the broker has run since decides
// what BeginSession is told.
func (s *Store) LastAlive(ctx context.Context, id parkade.SourceID) (time.Time, error) {
	alive, err := one[int64](s.reader.QueryRowContext(ctx, `
		SELECT alive_at
		FROM drain_session
		WHERE source_id = ?
		ORDER BY id DESC
		LIMIT 1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return moment(alive), doing("read when a drain was alive", err)
}
