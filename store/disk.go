package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"parkade"
)

// Stats is how big the store is, and how much room is left for it, in bytes.
type Stats struct {
	Path      string
	Bytes     int64 // of the database file
	WAL       int64 // of the log beside it
	Free      int64 // inside the file, for the next messages
	FreeDisk  int64 // of its file system, for ordinary users
	TotalDisk int64
	Warning   string // why the file isn't safe where it is, or ""
}

// Stats measures the store's file and its disk.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	st := Stats{Path: s.path}
	var err error
	if st.Bytes, err = size(s.path); err != nil {
		return st, err
	}
	if st.WAL, err = size(s.path + "-wal"); err != nil {
		return st, err
	}
	var pages, bytes int64
	if err := s.reader.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&pages); err != nil {
		return st, err
	}
	if err := s.reader.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&bytes); err != nil {
		return st, err
	}
	st.Free = pages * bytes
	d, err := diskOf(filepath.Dir(s.path))
	st.FreeDisk, st.TotalDisk, st.Warning = d.free, d.total, d.warning()
	return st, err
}

func size(file string) (int64, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// disk is a file system.
type disk struct {
	free, total int64
	kind        int64 // the magic number of statfs
}

func diskOf(folder string) (disk, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return disk{}, &fs.PathError{Op: "statfs", Path: folder, Err: err}
	}
	return disk{
		free:  int64(st.Bavail) * st.Bsize, //nolint:gosec // no disk is that big
		total: int64(st.Blocks) * st.Bsize, //nolint:gosec // no disk is that big
		kind:  st.Type,
	}, nil
}

// networks are the file systems on which SQLite's log and locks don't work, by
// the magic numbers of statfs(2).
//
//nolint:gochecknoglobals // a constant table
var networks = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "CIFS", unix.SMB2_SUPER_MAGIC: "SMB2",
	unix.AFS_SUPER_MAGIC: "AFS", unix.CODA_SUPER_MAGIC: "Coda", 0x00c36400: "Ceph", 0x0bd00bd0: "Lustre", 0x01161970: "GFS2",
	0x7461636f: "OCFS2", 0x47504653: "GPFS",
}

// refusal says why no store can live here, or nil.
func (d disk) refusal(folder string) error {
	name, ok := networks[d.kind]
	if !ok {
		return nil
	}
	return parkade.Errorf(parkade.Invalid,
		"The folder %s is on a network file system (%s), where a power cut or a second process can destroy the store. Choose a folder on a local disk.", folder, name)
}

// warning says what is dangerous about a store here, or "".
func (d disk) warning() string {
	if d.kind == unix.OVERLAYFS_SUPER_MAGIC {
		return "The store is inside the container's own layer: it is lost with the container. Mount a volume for it."
	}
	return ""
}
