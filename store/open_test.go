package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

func TestASecondProcessIsRefusedByTheNameOfTheFirst(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parkade.db")
	s := storetest.Reopen(t, path)
	_, err := store.Open(t.Context(), path, store.Options{})
	kind, text := parkade.Explain(err)
	if kind != parkade.Conflict || !strings.Contains(text, fmt.Sprintf("process %d on ", os.Getpid())) {
		t.Errorf("%v: %s", kind, text)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Reopen(t, path)
}

func TestAStoreIsTheSameAfterItWasOpenedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "100% of 'it' #1?.db")
	var before []parkade.Message
	for i := range 3 {
		s := storetest.Reopen(t, path)
		if i == 0 {
			storetest.Park(t, s, storetest.Queue(), plain("a", "x"), storetest.Delivery("", "y"))
		}
		ms, _, err := s.Messages(t.Context(), parkade.Filter{}, parkade.Page{Limit: 9})
		if err != nil || len(ms) != 2 || i > 0 && fmt.Sprint(ms[0].ID, ms[0].Queue, ms[0].ParkedAt) != fmt.Sprint(before[0].ID, before[0].Queue, before[0].ParkedAt) {
			t.Errorf("opened %d times: %+v, %v", i+1, ms, err)
		}
		before = ms
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestAFolderThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "nowhere")
	_, err := store.Open(t.Context(), filepath.Join(folder, "parkade.db"), store.Options{})
	if kind, text := parkade.Explain(err); kind != parkade.Invalid || !strings.Contains(text, folder) {
		t.Errorf("%v: %s", kind, text)
	}
}

func TestAFileOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parkade.db")
	s := storetest.Reopen(t, path)
	do(t, s, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), path, store.Options{}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Error(err)
	}
}

func TestABackupHoldsEverything(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := storetest.Park(t, s, storetest.Queue(), plain("a", "x"), storetest.Delivery("", "y"))
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := s.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if kind, text := parkade.Explain(s.Backup(t.Context(), file)); kind != parkade.Conflict {
		t.Errorf("over an existing file: %v %s", kind, text)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("the backup left %v, %v", left, err)
	}
	b := storetest.Reopen(t, file)
	for _, id := range ids {
		body, err := b.Body(t.Context(), id)
		want, _ := s.Body(t.Context(), id)
		if err != nil || !bytes.Equal(body, want) {
			t.Errorf("message %d in the backup: %q, %v", id, body, err)
		}
	}
	if n, _, err := b.Count(t.Context(), parkade.Filter{}, 0); n != 2 || err != nil {
		t.Errorf("the backup counts %d messages, %v", n, err)
	}
}

func TestFollowersAreToldAfterTheCommit(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	session := storetest.Begin(t, s, storetest.Queue())
	messages, stop := s.Subscribe(store.Messages)
	defer stop()
	operations, stopOther := s.Subscribe(store.Operations)
	defer stopOther()
	told := make(chan int64)
	go func() {
		<-messages
		n, _, _ := s.Count(t.Context(), parkade.Filter{}, 0)
		told <- n
	}()
	if _, err := s.Park(t.Context(), session, parkade.Batch{}); err == nil {
		t.Error("an empty batch was parked")
	}
	if _, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: []parkade.Delivery{plain("a", "x")}}); err != nil {
		t.Fatal(err)
	}
	if n := <-told; n != 1 {
		t.Errorf("when told, a follower found %d messages", n)
	}
	select {
	case <-operations:
		t.Error("a follower of operations was told of messages")
	default:
	}
	// Two changes may share a signal, and a failed one has none.
	if _, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: []parkade.Delivery{plain("b", "x")}}); err == nil {
		t.Error("a second batch was parked before the first was proven")
	}
	select {
	case <-messages:
		t.Error("a follower was told of what was rolled back")
	default:
	}
}

func TestTheBrakeAndConsentAreRemembered(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_790_000_000_000)
	s := storetest.Open(t, store.Options{Clock: func() time.Time { return now }})
	q := storetest.Queue()
	if err := s.Want(t.Context(), q, true, true, "ann", "night shift"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetBrake(t.Context(), true, "bob", "deploy"); err != nil {
		t.Fatal(err)
	}
	choices, err := s.Wanted(t.Context())
	want := store.SourceChoice{Queue: q, Wanted: "on", Accepted: true, By: "ann", At: now, Why: "night shift"}
	if err != nil || len(choices) != 1 || choices[0] != want {
		t.Errorf("%+v, %v", choices, err)
	}
	if b, err := s.Brake(t.Context()); err != nil || b != (store.Brake{On: true, By: "bob", Why: "deploy", Since: now}) {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestProbeAndStats(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	before, err := s.Stats(t.Context())
	if err != nil || before.FreeDisk <= 0 || before.TotalDisk < before.FreeDisk || before.Bytes == 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Stats(t.Context()); err != nil || after.WAL <= before.WAL {
		t.Errorf("a probe wrote nothing: %+v then %+v, %v", before, after, err)
	}
}
