//go:build crashpoints

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// passages counts how often the point that the environment names was passed.
//
//nolint:gochecknoglobals // the process is what is counted in
var passages atomic.Int64

// Point kills this process with SIGKILL if PARKADE_CRASH says name@n, or just name
// for the first passage, and this is the n-th passage.
func Point(name string) {
	wanted, at, counted := strings.Cut(os.Getenv("PARKADE_CRASH"), "@") //nolint:forbidigo // tests start the whole program
	if wanted != name {
		return
	}
	n := 1
	if counted {
		var err error
		if n, err = strconv.Atoi(at); err != nil {
			panic("PARKADE_CRASH: " + err.Error())
		}
	}
	if passages.Add(1) != int64(n) {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until the signal arrives
}
