package store

import (
	"context"
	"database/sql"

	"parkade"
)

// Act records an action that changes nothing in the store itself, at the time of
// now.
func (s *Store) Act(ctx context.Context, a parkade.Action) error {
	return s.write(ctx, Actions, func(tx *sql.Tx) error {
		a.At = s.now()
		return addAction(ctx, tx, a)
	})
}
