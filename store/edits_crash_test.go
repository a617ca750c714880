//go:build crashpoints

package store_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"parkade"
	"parkade/store/storetest"
)

// TestAKillAroundAnEditKeepsAllOfItOrNothing saves an edit, and makes an operation
// with another, in a second process of this test until it kills itself.
func TestAKillAroundAnEditKeepsAllOfItOrNothing(t *testing.T) {
	if path := os.Getenv("PARKADE_EDITED"); path != "" {
		editUntilKilled(t, path)
		return
	}
	t.Parallel()
	for _, c := range []struct {
		point    string
		versions int
		state    parkade.State
	}{
		{"edit.open@1", 1, parkade.Parked},
		{"edit.saved@1", 2, parkade.Parked},
		{"edit.open@2", 2, parkade.Parked}, // the operation's edit goes with the operation
		{"replay.claimed@1", 3, parkade.InDoubt},
	} {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "parkade.db")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKillAroundAnEditKeepsAllOfItOrNothing$")
			cmd.Env = append(os.Environ(), "PARKADE_EDITED="+path, "PARKADE_CRASH="+c.point)
			out, err := cmd.CombinedOutput()
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it wasn't killed: %v\n%s", err, out)
			}
			s := storetest.Reopen(t, path)
			all, err := s.Versions(t.Context(), 1)
			if m := message(t, s, 1); err != nil || len(all) != c.versions || m.Version != int64(c.versions) || m.State != c.state {
				t.Errorf("%d versions of a message that is %s in version %d, %v", len(all), m.State, m.Version, err)
			}
			rs, err := s.Replays(t.Context(), 1)
			if err != nil || len(rs) > 0 && (rs[0].Outcome != parkade.Unknown || rs[0].Version != 3 || rs[0].SentHash != all[0].BodyHash) {
				t.Errorf("the replays are %+v, %v", rs, err)
			}
			wantSound(t, s)
		})
	}
}

func editUntilKilled(t *testing.T, path string) {
	t.Helper()
	s := storetest.Reopen(t, path)
	id := parkN(t, s, 1)[0]
	saved(t, s, editOf(t, s, id, "ann", "mended"))
	n := replayOf(t, s, id)
	edit := editOf(t, s, id, "ann", "mended again")
	n.Edit = &edit
	sendOne(t, s, create(t, s, n).ID)
}
