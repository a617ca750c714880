package drain_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// tinyDisk is a file system of one test's own.
type tinyDisk struct{ folder string }

// smallDisk mounts a file system of 24 MiB, or skips the test where that isn't
// allowed.
func smallDisk(t *testing.T) tinyDisk {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=24m"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("mount a small disk: %v", err)
		}
		t.Skipf("no small disk can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return tinyDisk{folder}
}

// fill leaves no room on the disk.
func (d tinyDisk) fill(t *testing.T) {
	t.Helper()
	f, err := os.Create(d.ballast())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(block)
	}
}

// clear makes room again.
func (d tinyDisk) clear(t *testing.T) {
	t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		t.Fatal(err)
	}
}

func (d tinyDisk) ballast() string { return filepath.Join(d.folder, "ballast") }
