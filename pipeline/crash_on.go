//go:build crashpoints

package pipeline

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

//nolint:gochecknoglobals // the process is what is counted in
var passages atomic.Int64

// crash kills this process as a power cut would, at the n-th passage of the point
// that PIPELINE_CRASH=point@n names.
func crash(point string) {
	wanted, n, _ := strings.Cut(os.Getenv("PIPELINE_CRASH"), "@") //nolint:forbidigo // tests start the whole program
	if wanted == point && strconv.FormatInt(passages.Add(1), 10) == n {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal arrives
	}
}
