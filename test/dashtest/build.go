package dashtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the binary, made once for all tests of a package.
//
//nolint:gochecknoglobals // one binary for a whole test program
var built struct {
	once sync.Once
	path string
	err  error
}

// Binary builds the dashboard with its crash points, once, and returns its path.
func Binary(tb testing.TB) string {
	tb.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "parkade-test-") //nolint:usetesting // outlives the test that builds it
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "dashboard")
		out, err := exec.Command("go", "build", "-tags", "crashpoints", "-o", built.path, "parkade/cmd/dashboard").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		tb.Fatalf("build the dashboard: %v", built.err)
	}
	return built.path
}

// Cleanup removes the binary; TestMain calls it last.
func Cleanup() {
	if built.path != "" {
		os.RemoveAll(filepath.Dir(built.path))
	}
}
