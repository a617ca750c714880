package pipeline

import (
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		mine.sent(mine.events[0], time.Now())
		if err := mine.end(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := theirs.end(t.Context()); err != nil {
			t.Fatal(err)
		}
		last, got := take(other)
		if diff := cmp.Diff(numbers(1, batchSize+1), got); diff != "" {
			t.Errorf("the batch after one was sent differs (-want +got):\n%s", diff)
		}
		if err := last.end(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPausesOfARowGrowUntilItIsDead(t *testing.T) {
	t.Parallel()
	db := open(t, databasetest.File(t))
	fill(t, db, row("m-1"))
	now := time.Now()
	var pauses []int // in seconds
	for attempt := 1; ; attempt++ {
		c, err := db.claim(t.Context(), now)
		if err != nil || len(c.events) != 1 {
			t.Fatalf("attempt %d finds %v, %v", attempt, c.events, err)
		}
		dead := c.failed(c.events[0], errNacked, now)
		if err := c.end(t.Context()); err != nil {
			t.Fatal(err)
		}
		if dead != (attempt == maxSends) {
			t.Errorf("dead after %d attempts: %t", attempt, dead)
		}
		if dead {
			break
		}
		next := time.UnixMilli(column[int64](t, db, `SELECT not_before FROM outbox`)[0])
		pauses = append(pauses, int(next.Sub(now).Round(time.Second).Seconds()))
		now = next
	}
	if diff := cmp.Diff([]int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}, pauses); diff != "" {
		t.Errorf("the pauses differ (-want +got):\n%s", diff)
	}
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
