package pipeline

import (
	"context"
	"database/sql"
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

// row is an outbox row that everybody may read.
func row(id string) event {
	return event{ID: id, Exchange: Topology{}.Billing(), Type: InvoiceIssued, Body: []byte(`{}`), CreatedAt: time.Now()}
}

// fill writes rows in one transaction.
func fill(t *testing.T, db *database, events ...event) {
	t.Helper()
	err := db.write(t.Context(), func(tx *sql.Tx) error {
		for _, e := range events {
			if err := db.put(t.Context(), tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

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
		brokertest.WaitReady(t, url, Topology{}.Events(), rows)
		brokertest.Eventually(t, "every row marked", func() bool {
			return column[int64](t, db, `SELECT COUNT(*) FROM outbox WHERE sent_at IS NOT NULL`)[0] == rows
		})
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

func TestClaimedRowsAreNobodyElses(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, kind, address string) {
		t.Parallel()
		one, other := open(t, address), open(t, address)
		for i := range 2*batchSize + 1 {
			fill(t, one, row(strconv.Itoa(i)))
		}
		take := func(db *database) (*claim, []string) {
			t.Helper()
			c, err := db.claim(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, e := range c.events {
				ids = append(ids, e.ID)
			}
			return c, ids
		}
		numbers := func(from, to int) (ids []string) {
			for i := from; i < to; i++ {
				ids = append(ids, strconv.Itoa(i))
			}
			return ids
		}
		mine, got := take(one)
		if diff := cmp.Diff(numbers(0, batchSize), got); diff != "" {
			t.Errorf("the first batch differs (-want +got):\n%s", diff)
		}
		want := numbers(batchSize, 2*batchSize)
		if kind == databasetest.SQLite {
			want = nil // the other relay waits for its turn
		}
		theirs, got := take(other)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the other relay's batch differs (-want +got):\n%s", diff)
		}
		fill(t, other, row("written meanwhile")) // no producer waits for a relay
		if err := mine.sent(t.Context(), mine.events[0], time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := mine.end(); err != nil {
			t.Fatal(err)
		}
		if err := theirs.end(); err != nil {
			t.Fatal(err)
		}
		last, got := take(other)
		if diff := cmp.Diff(numbers(1, batchSize+1), got); diff != "" {
			t.Errorf("the batch after one was sent differs (-want +got):\n%s", diff)
		}
		if err := last.end(); err != nil {
			t.Fatal(err)
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

func TestPausesOfARowGrowUntilItIsDead(t *testing.T) {
	t.Parallel()
	db := open(t, databasetest.File(t))
	fill(t, db, row("m-1"))
	now := time.Now()
	var pauses []time.Duration
	for attempt := 1; ; attempt++ {
		c, err := db.claim(t.Context(), now)
		if err != nil || len(c.events) != 1 {
			t.Fatalf("attempt %d finds %v, %v", attempt, c.events, err)
		}
		dead, err := c.failed(t.Context(), c.events[0], errNacked, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
		if dead != (attempt == maxSends) {
			t.Errorf("dead after %d attempts: %t", attempt, dead)
		}
		if dead {
			break
		}
		next := time.UnixMilli(column[int64](t, db, `SELECT not_before FROM outbox`)[0])
		pauses = append(pauses, next.Sub(now).Round(10*time.Millisecond))
		now = next
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}
	for i := range want {
		want[i] *= time.Second
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("the pauses differ (-want +got):\n%s", diff)
	}
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

func TestUnsentRowsAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, kind, address string) {
		t.Parallel()
		db := open(t, address)
		var events []event
		for i := range 2000 {
			events = append(events, row(strconv.Itoa(i)))
		}
		fill(t, db, events...)
		if err := db.exec(t.Context(), db, `UPDATE outbox SET sent_at = 1 WHERE seq <= 1990`); err != nil {
			t.Fatal(err)
		}
		explain := map[string]string{databasetest.SQLite: "EXPLAIN QUERY PLAN ", "PostgreSQL": "EXPLAIN ", "MariaDB": "EXPLAIN FORMAT=JSON "}[kind]
		if kind == "PostgreSQL" {
			if _, err := db.ExecContext(t.Context(), `ANALYZE outbox`); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := db.QueryContext(t.Context(), db.bind(explain+db.unsent()), time.Now().UnixMilli(), batchSize)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		var plan strings.Builder
		for rows.Next() {
			into := make([]any, len(columns))
			into[len(into)-1] = new(string)
			for i := range len(into) - 1 {
				into[i] = new(any)
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(*into[len(into)-1].(*string) + "\n")
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if p := plan.String(); !strings.Contains(p, "outbox_unsent") || strings.Contains(strings.ToLower(p), "sort") || strings.Contains(p, "TEMP B-TREE") {
			t.Errorf("the plan is\n%s", p)
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
