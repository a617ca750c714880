package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// idLength is how many letters of the first epoch tell stores apart: 40 bits.
const idLength = 8

// firstEpoch is what a store has had since it was made. No run is ever removed.
const firstEpoch = `SELECT epoch FROM run ORDER BY id LIMIT 1`

// ID is 8 letters and digits that tell this store from others for ever. A
// restored backup has those of the store that it was taken of.
func (s *Store) ID() string { return s.id }

func idOf(epoch []byte) string { return stampEncoding.EncodeToString(epoch)[:idLength] }

// IDOf is ID of the store at path, which another process may have open; "" where
// there is none yet.
func IDOf(ctx context.Context, path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	db, err := connect(path, 1, reading)
	if err != nil {
		return "", err
	}
	epoch, err := one[[]byte](db.QueryRowContext(ctx, firstEpoch))
	if err = errors.Join(err, db.Close()); err != nil {
		return "", doing("read "+path, err)
	}
	return idOf(epoch), nil
}
