package pipeline

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parkade/broker/brokertest"
	"parkade/pipeline/databasetest"
)

func newRelay(amqpURL string, db *database) *relay {
	return &relay{
		broker: broker{url: amqpURL}, db: db, switches: newSwitches(Traffic{}, false, false), counts: new(counts),
		log: slog.New(slog.DiscardHandler), retention: time.Hour,
	}
}

// declared is the URL of a vhost with the topology.
func declared(t *testing.T, b brokertest.Broker) string {
	t.Helper()
	url := brokertest.Vhost(t, b)
	if err := (Topology{}).Declare(brokertest.Connection(t, url)); err != nil {
		t.Fatal(err)
	}
	return url
}

// runs has r work until the test ends.
func runs(t *testing.T, r *relay) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the relay ended with %v", err)
		}
	})
}

func TestTwoRelaysShareTenThousandRowsEachSentOnceOldestFirst(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	databasetest.Each(t, func(t *testing.T, kind, address string) {
		t.Parallel()
		const rows = 10_000
		if kind == databasetest.SQLite {
			t.Skip("one relay works on SQLite at a time")
		}
		url, db := declared(t, b), open(t, address)
		var events []event
		for i := range rows {
			e := row(strconv.Itoa(i))
			e.Type = OrderPlaced // which is what a relay counts
			events = append(events, e)
		}
		fill(t, db, events...)
		both := []*relay{newRelay(url, db), newRelay(url, open(t, address))}
		for _, r := range both {
			runs(t, r)
		}
		for deadline := time.Now().Add(3 * time.Minute); column[int64](t, db, `SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL`)[0] > 0; {
			if time.Now().After(deadline) {
				t.Fatal("not every row is marked as sent after three minutes")
			}
			time.Sleep(100 * time.Millisecond)
		}
		for i, r := range both {
			if n := r.counts.published.Load(); n < rows/10 {
				t.Errorf("relay %d sent only %d", i, n)
			}
		}
		arrived := make([]int, 0, rows)
		for _, d := range brokertest.Take(t, url, Topology{}.Events(), rows) {
			n, err := strconv.Atoi(d.MessageId)
			if err != nil {
				t.Fatal(err)
			}
			arrived = append(arrived, n)
		}
		brokertest.WaitReady(t, url, Topology{}.Events(), 0)
		// Each relay sends its rows in their order, so what arrives is two ascending
		// runs shuffled into each other.
		last := [2]int{-1, -1}
		for i, n := range arrived {
			slices.Sort(last[:])
			switch {
			case n > last[1]:
				last[1] = n
			case n > last[0]:
				last[0] = n
			default:
				t.Fatalf("message %d arrived at place %d, after younger ones of both relays", n, i)
			}
		}
		slices.Sort(arrived)
		if len(slices.Compact(arrived)) != rows {
			t.Errorf("%d rows were sent, each once would be %d", len(slices.Compact(arrived)), rows)
		}
	})
}

func TestRowThatFailsTooOftenIsDeadAndBlocksNoYoungerOne(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	databasetest.Each(t, func(t *testing.T, _, address string) {
		t.Parallel()
		url, db := declared(t, b), open(t, address)
		unroutable, hopeless, worn := row("unroutable"), row("hopeless"), row("worn")
		unroutable.Exchange, unroutable.Type = Topology{}.Orders(), "nobody.wants.it"
		hopeless.Exchange = "no such exchange" // which costs the channel
		worn.Exchange, worn.Type = Topology{}.Orders(), "nobody.wants.it"
		fill(t, db, unroutable, hopeless, worn, row("young"))
		if err := db.exec(t.Context(), db, `UPDATE outbox SET attempts = ? WHERE id = ?`, maxSends-1, "worn"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		runs(t, newRelay(url, db))
		brokertest.WaitReady(t, url, Topology{}.Events(), 1)
		brokertest.Eventually(t, "a dead row", func() bool {
			return slices.Equal(column[string](t, db, `SELECT id FROM outbox WHERE dead_at IS NOT NULL`), []string{"worn"})
		})
		brokertest.Eventually(t, "second attempts of the others", func() bool {
			return len(column[string](t, db, `SELECT id FROM outbox WHERE attempts BETWEEN 2 AND 5 AND sent_at IS NULL`)) == 2
		})
		if time.Since(began) < time.Second {
			t.Error("the second attempt does not wait")
		}
		for id, want := range map[string]string{"unroutable": errUnroutable.Error(), "worn": errUnroutable.Error(), "hopeless": "channel"} {
			if got := column[string](t, db, `SELECT last_error FROM outbox WHERE id = ?`, id)[0]; !strings.Contains(got, want) {
				t.Errorf("the last error of %s is %q, want one with %q", id, got, want)
			}
		}
		records, err := db.records(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Records{OutboxPending: 2, OutboxDead: 1}, records); diff != "" {
			t.Errorf("the records differ (-want +got):\n%s", diff)
		}
	})
}

func TestSentRowsAreForgottenAfterTheirRetentionAndNoOthers(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	databasetest.Each(t, func(t *testing.T, _, address string) {
		t.Parallel()
		db := open(t, address)
		old := time.Now().Add(-2 * time.Hour)
		for _, id := range []string{"sent long ago", "sent lately", "dead", "new"} {
			e := row(id)
			e.CreatedAt = old
			fill(t, db, e)
		}
		for id, change := range map[string]string{"sent long ago": "sent_at", "dead": "dead_at"} {
			if err := db.exec(t.Context(), db, `UPDATE outbox SET `+change+` = ? WHERE id = ?`, old.UnixMilli(), id); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.exec(t.Context(), db, `UPDATE outbox SET sent_at = ? WHERE id = ?`, time.Now().UnixMilli(), "sent lately"); err != nil {
			t.Fatal(err)
		}
		runs(t, newRelay(declared(t, b), db))
		brokertest.Eventually(t, "the new row sent and the old one gone", func() bool {
			return slices.Equal(column[string](t, db, `SELECT id FROM outbox WHERE sent_at IS NOT NULL ORDER BY seq`), []string{"sent lately", "new"})
		})
		if dead := column[string](t, db, `SELECT id FROM outbox WHERE dead_at IS NOT NULL`); len(dead) != 1 {
			t.Errorf("the dead rows are %v", dead)
		}
	})
}

func TestStoppedRelayLetsTheOutboxGrow(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url, db := declared(t, b), open(t, databasetest.File(t))
	r := newRelay(url, db)
	r.switches.stopRelay(true)
	var once sync.Once
	started := make(chan struct{})
	r.log = slog.New(signal{slog.DiscardHandler, func() { once.Do(func() { close(started) }) }})
	runs(t, r)
	<-started
	fill(t, db, row("m-1"))
	time.Sleep(idle + idle/2) // a round has passed
	if n := brokertest.Ready(t, url, Topology{}.Events()); n != 0 {
		t.Errorf("it sent %d", n)
	}
	r.switches.stopRelay(false)
	brokertest.WaitReady(t, url, Topology{}.Events(), 1)
}

// signal is called for each line of a log.
type signal struct {
	slog.Handler
	call func()
}

func (s signal) Enabled(context.Context, slog.Level) bool  { return true }
func (s signal) Handle(context.Context, slog.Record) error { s.call(); return nil }
