//go:build crashpoints

package store_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parkade"
	"parkade/store/storetest"
)

// TestAKillAtAnyPointLosesNothing lets a second process of this test park and
// prove until it kills itself, and then drains what the queue would give back.
func TestAKillAtAnyPointLosesNothing(t *testing.T) {
	if path := os.Getenv("PARKADE_STORE"); path != "" {
		drainUntilKilled(t, path)
		return
	}
	t.Parallel()
	for _, c := range []struct {
		point                 string
		stored, again, copies int64 // rows after the kill; what two redelivered ones are afterwards
	}{
		{"drain.txn1_open@1", 0, 0, 0},
		{"drain.txn1_open@2", 2, 0, 0},
		{"drain.txn1_done@1", 2, 2, 0},
		{"drain.txn2_done@1", 2, 0, 0},
		// Lost again before the recovery was over: nothing is certain any more.
		{"drain.matched@1", 4, 0, 2},
		{"drain.twin@1", 4, 0, 2},
	} {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "parkade.db")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKillAtAnyPointLosesNothing$")
			cmd.Env = append(os.Environ(), "PARKADE_STORE="+path, "PARKADE_CRASH="+c.point)
			out, err := cmd.CombinedOutput()
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it wasn't killed: %v\n%s", err, out)
			}
			s := storetest.Reopen(t, path)
			wantCounted(t, s, parkade.Parked, c.stored)
			session := storetest.Begin(t, s, storetest.Queue())
			parked, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: []parkade.Delivery{
				again(plain("", "x")), again(plain("", "x")),
			}})
			if err != nil || parked.Seen != c.again || parked.Copies != c.copies {
				t.Errorf("%+v, %v; want %d seen again, %d possible copies", parked, err, c.again, c.copies)
			}
		})
	}
}

// drainUntilKilled parks two identical messages, loses the ack of two more, and
// drains them again, twice over.
func drainUntilKilled(t *testing.T, path string) {
	t.Helper()
	s := storetest.Reopen(t, path)
	session := storetest.Begin(t, s, storetest.Queue())
	park := func(fence bool, ds ...parkade.Delivery) {
		if _, err := s.Park(t.Context(), session, parkade.Batch{FenceOK: fence, Deliveries: ds}); err != nil {
			t.Fatal(err)
		}
	}
	park(true, plain("", "x"), plain("", "x"))
	if err := s.Prove(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	park(true, plain("", "x"), plain("", "x"))
	session = storetest.Begin(t, s, storetest.Queue())
	if strings.Contains(os.Getenv("PARKADE_CRASH"), "twin") {
		setStrict(t, s)
	}
	park(true, again(plain("", "x")), again(plain("", "x")))
}
