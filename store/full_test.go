package store

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parkade"
)

func openHere(t *testing.T) (*Store, parkade.Session) {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "parkade.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	id, err := s.Source(t.Context(), parkade.Queue{Broker: "main", Vhost: "/", Name: "q"})
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.BeginSession(t.Context(), id, true, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return s, session
}

func TestAFullDiskStoresNothingByHalves(t *testing.T) {
	t.Parallel()
	s, session := openHere(t)
	if _, err := s.writer.ExecContext(t.Context(), `PRAGMA max_page_count = 100`); err != nil {
		t.Fatal(err)
	}
	batch := parkade.Batch{Deliveries: []parkade.Delivery{{Body: []byte("fits")}, {Body: make([]byte, 1<<20)}}}
	_, err := s.Park(t.Context(), session, batch)
	if kind, text := parkade.Explain(err); kind != parkade.Unavailable || !strings.Contains(text, "disk") || !strings.Contains(text, "full") {
		t.Fatalf("%v: %s (%v)", kind, text, err)
	}
	if n, _, err := s.Count(t.Context(), parkade.Filter{}, 0); n != 0 || err != nil {
		t.Errorf("%d messages were stored, %v", n, err)
	}
	if _, err := s.writer.ExecContext(t.Context(), `PRAGMA max_page_count = 1000000`); err != nil {
		t.Fatal(err)
	}
	if parked, err := s.Park(t.Context(), session, batch); parked.New != 2 || err != nil {
		t.Errorf("with room again: %+v, %v", parked, err)
	}
}

func TestARowThatCannotBeWrittenIsStoredWithoutWhatIsWrong(t *testing.T) {
	t.Parallel()
	s, session := openHere(t)
	// No row that we know of is refused by a constraint, so one is made up.
	if _, err := s.writer.ExecContext(t.Context(), `
		CREATE TRIGGER refuse BEFORE INSERT ON message WHEN NEW.type = 'bad' BEGIN SELECT RAISE(ABORT, 'bad type'); END`); err != nil {
		t.Fatal(err)
	}
	var batch parkade.Batch
	for i := range 45 { // more than two groups
		d := parkade.Delivery{Body: []byte(strconv.Itoa(i))}
		d.RoutingKey = "k"
		d.Headers = parkade.NewTable(parkade.Field{Name: "h", Value: "v"})
		switch i {
		case 3, 44:
			d.Properties.Type = new("bad")
		case 30:
			d.Headers = parkade.NewTable(parkade.Field{Name: strings.Repeat("n", 256), Value: "v"})
		}
		batch.Deliveries = append(batch.Deliveries, d)
	}
	if parked, err := s.Park(t.Context(), session, batch); err != nil || parked.New != 45 {
		t.Fatalf("%+v, %v", parked, err)
	}
	for i := range 45 {
		id := parkade.MessageID(i + 1)
		body, err := s.Body(t.Context(), id)
		if err != nil || string(body) != strconv.Itoa(i) {
			t.Errorf("message %d: %q, %v", id, body, err)
		}
		m, err := s.Message(t.Context(), id)
		c, cerr := s.Content(t.Context(), id)
		whole := i != 3 && i != 30 && i != 44
		if err != nil || cerr != nil || (c.Headers.Text("h") == "v") != whole || (m.Exception == "") != whole || m.RoutingKey != "k" {
			t.Errorf("message %d: headers %v, exception %q, %v, %v", id, c.Headers, m.Exception, err, cerr)
		}
		if (i == 3 || i == 44) && parkade.Text(c.Properties.Type) != "bad" {
			t.Errorf("message %d lost its properties", id)
		}
	}
}

func TestTheLogStaysBoundedWhileSomebodyPagesThroughIt(t *testing.T) {
	t.Parallel()
	s, session := openHere(t)
	ctx, stop := context.WithCancel(t.Context())
	paged := make(chan error)
	go func() {
		var p parkade.Page
		for ctx.Err() == nil {
			p.Limit = 50
			ms, more, err := s.Messages(ctx, parkade.Filter{}, p)
			if err != nil && ctx.Err() == nil {
				paged <- err
				return
			}
			if p.Before = 0; more {
				p.Before = ms[len(ms)-1].ID
			}
		}
		paged <- nil
	}()
	var most int64
	body := make([]byte, 256<<10)
	for range 20 {
		var batch parkade.Batch
		for range 60 {
			batch.Deliveries = append(batch.Deliveries, parkade.Delivery{Body: body})
		}
		if _, err := s.Park(t.Context(), session, batch); err != nil {
			t.Fatal(err)
		}
		if err := s.Prove(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		n, err := size(s.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, n)
	}
	stop()
	if err := <-paged; err != nil {
		t.Error(err)
	}
	if most > 3*maxWAL { // 300 MiB were written
		t.Errorf("the log grew to %d MiB", most>>20)
	}
}

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	t.Parallel()
	for kind, refused := range map[int64]bool{unix.NFS_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true, unix.EXT4_SUPER_MAGIC: false, unix.TMPFS_MAGIC: false} {
		err := disk{kind: kind}.refusal("/data")
		if (err != nil) != refused {
			t.Errorf("file system %x: %v", kind, err)
		}
	}
	if (disk{kind: unix.OVERLAYFS_SUPER_MAGIC}).warning() == "" {
		t.Error("a container's own layer is no cause for a warning")
	}
}
