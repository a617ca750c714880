package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"parkade"
)

// Backup writes a complete copy of the store to file while work goes on. The file
// appears only when it is whole and on the disk. One that is there already is
// refused, never replaced.
func (s *Store) Backup(ctx context.Context, file string) error {
	taken := parkade.Errorf(parkade.Conflict, "There is a file %s already. A backup replaces nothing: choose another name.", file)
	if _, err := os.Lstat(file); err == nil {
		return taken
	}
	folder, err := os.MkdirTemp(filepath.Dir(file), ".parkade-backup-")
	if err != nil {
		return parkade.Errorf(parkade.Invalid, "No backup can be written to %s.", filepath.Dir(file)).Because(err)
	}
	defer os.RemoveAll(folder)
	temp := filepath.Join(folder, filepath.Base(file))
	if err := s.copyTo(ctx, temp); err != nil {
		return doing("write a backup", explain(err))
	}
	if err := errors.Join(os.Chmod(temp, 0o600), syncFile(temp)); err != nil {
		return doing("write a backup", err)
	}
	if err := os.Link(temp, file); errors.Is(err, fs.ErrExist) {
		return taken
	} else if err != nil {
		return doing("write a backup", err)
	}
	return doing("write a backup", syncFile(filepath.Dir(file)))
}

// copyTo copies the database with a connection of its own, because the readers'
// refuse whatever writes.
func (s *Store) copyTo(ctx context.Context, file string) error {
	db, err := connect(s.path, 1, "_txlock=deferred")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, file)
	return errors.Join(err, db.Close())
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
