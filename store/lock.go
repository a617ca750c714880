package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"parkade"
)

// acquire locks the store at path for this process, for as long as the returned
// file stays open: the kernel lets go of it however the process ends. A store
// that is in use is a Conflict that names who has it.
func acquire(path string, now time.Time) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 1024))
		_ = f.Close()
		who := strings.TrimSpace(string(holder))
		if who == "" {
			who = "another process"
		}
		return nil, parkade.Errorf(parkade.Conflict,
			"The store %s is in use by %s. One store belongs to one process: stop that one first, or choose another file.", path, who)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	host, _ := os.Hostname()
	holder := fmt.Sprintf("process %d on %s, since %s\n", os.Getpid(), host, now.UTC().Format(time.RFC3339))
	if err := errors.Join(f.Truncate(0), writeAt(f, holder)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}
