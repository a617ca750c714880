package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"parkade"
)

// BackupOf is Backup of the store at path, which another process may have open.
func BackupOf(ctx context.Context, path, file string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return parkade.Errorf(parkade.NotFound, "There is no store at %s.", path).Because(err)
	}
	return (&Store{path: path}).Backup(ctx, file)
}

// Restore puts a backup in the place of the store at path, which nobody may have
// open. What is there is kept beside it, under the name that is returned; "" where
// there was nothing. A file that is no whole store changes nothing.
func Restore(ctx context.Context, path, file string, now time.Time) (kept string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	lock, err := acquire(path, now)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	folder, err := os.MkdirTemp(filepath.Dir(path), ".parkade-restore-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	copied := filepath.Join(folder, "parkade.db")
	if err := copyFile(copied, file); err != nil {
		return "", parkade.Errorf(parkade.Invalid, "The backup %s can't be read.", file).Because(err)
	}
	if err := verify(ctx, copied); err != nil {
		return "", parkade.Errorf(parkade.Invalid, "%s is no whole backup of a store. Nothing was changed.", file).Because(err)
	}
	if kept, err = setAside(ctx, path, now); err != nil {
		return kept, fmt.Errorf("keep the store that is there: %w", err)
	}
	if err := os.Rename(copied, path); err != nil {
		return kept, err
	}
	return kept, syncFile(filepath.Dir(path))
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// verify reads all of a database and looks for what every store has.
func verify(ctx context.Context, path string) error {
	db, err := connect(path, 1, "_txlock=deferred")
	if err != nil {
		return err
	}
	var result string
	var runs int64
	err = errors.Join(
		db.QueryRowContext(ctx, `PRAGMA quick_check`).Scan(&result),
		db.QueryRowContext(ctx, `SELECT count(*) FROM run`).Scan(&runs))
	if err == nil && (result != "ok" || runs == 0) {
		err = fmt.Errorf("quick_check says %q, and there are %d runs", result, runs)
	}
	_, checkpoint := db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return errors.Join(err, checkpoint, db.Close())
}

// setAside renames the store at path.
func setAside(ctx context.Context, path string, now time.Time) (string, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	// This leaves no log behind, unless the store is damaged; then the log moves, too.
	if db, err := connect(path, 1, writing); err == nil {
		_, _ = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
		_ = db.Close()
	}
	kept := path + now.UTC().Format(".before-20060102T150405Z")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, kept+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return kept, err
		}
	}
	return kept, nil
}
