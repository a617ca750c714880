package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func count(t *testing.T, path string) int64 {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, _, err := s.Count(t.Context(), parkade.Filter{}, 100)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestABackupOfAnOpenStoreIsRestoredAndTheOldOneKept(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "parkade.db"), filepath.Join(folder, "backup.db")
	s := storetest.Reopen(t, path)
	storetest.Park(t, s, storetest.Queue(), storetest.Delivery("1", "a"))
	if err := store.BackupOf(t.Context(), path, backup); err != nil {
		t.Fatal(err)
	}
	storetest.Park(t, s, storetest.Queue(), storetest.Delivery("2", "b"))
	if _, err := store.Restore(t.Context(), path, backup, time.Now()); err == nil {
		t.Fatal("a store that is in use is replaced")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := store.Restore(t.Context(), path, backup, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if now, before := count(t, path), count(t, kept); now != 1 || before != 2 {
		t.Errorf("%d messages are restored and %d kept, want 1 and 2", now, before)
	}
}

func TestOnlyItsOwnerMayReadAStoreAndItsBackup(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "parkade.db"), filepath.Join(folder, "backup.db")
	s := storetest.Reopen(t, path)
	storetest.Park(t, s, storetest.Queue(), storetest.Delivery("1", "a"))
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal", path + ".lock", backup} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

func TestWhatIsNoBackupRestoresNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "parkade.db"), filepath.Join(folder, "backup.db")
	s := storetest.Reopen(t, path)
	storetest.Park(t, s, storetest.Queue(), storetest.Delivery("1", "a"))
	if err := errors.Join(s.Backup(t.Context(), backup), s.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"text": []byte("no database"), "empty": {}, "cut": whole[:len(whole)/2]} {
		bad := filepath.Join(folder, name)
		if err := os.WriteFile(bad, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if kept, err := store.Restore(t.Context(), path, bad, time.Now()); err == nil || kept != "" {
			t.Errorf("%s: restored, keeping %q", name, kept)
		}
	}
	if n := count(t, path); n != 1 {
		t.Errorf("the store has %d messages", n)
	}
}
