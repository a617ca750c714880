package pipeline

import (
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/pipeline/databasetest"
)

// open opens a database with its tables.
func open(t *testing.T, address string) *database {
	t.Helper()
	db, err := openDatabase(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.close)
	if err := db.migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// column reads the rows of a query that has one column.
func column[T any](t *testing.T, db *database, query string, args ...any) []T {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), db.bind(query), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// billable is an order that can be invoiced.
func billable(id int64) Order {
	email := "ada@example.com"
	return Order{ID: id, Customer: Customer{Email: &email}, Currency: "EUR"}
}

func newHandler(db *database) *handler {
	return &handler{Topology{}, newSwitches(Traffic{}, false, false), new(counts), db}
}

func TestTwoConsumersOfOneMessageMakeOneInvoice(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, _, address string) {
		t.Parallel()
		var (
			done  sync.WaitGroup
			both  = []*handler{newHandler(open(t, address)), newHandler(open(t, address))}
			slow  = amqp.Delivery{MessageId: "m-1", Headers: amqp.Table{HeaderSlow: int64(300)}} // both look before either writes
			began = time.Now()
		)
		for _, h := range both {
			done.Go(func() {
				if err := h.handle(t.Context(), slow, billable(7)); err != nil {
					t.Errorf("an error shows: %v", err)
				}
			})
		}
		done.Wait()
		if n := both[0].counts.invoiced.Load() + both[1].counts.invoiced.Load(); n != 1 {
			t.Errorf("%d invoices, want 1", n)
		}
		if n := both[0].counts.duplicates.Load() + both[1].counts.duplicates.Load(); n != 1 || time.Since(began) > 5*time.Second {
			t.Errorf("%d duplicates after %v, want 1", n, time.Since(began))
		}
		for table, want := range map[string]int64{"processed_messages": 1, "invoices": 1, "outbox": 1} {
			if got := column[int64](t, both[0].db, `SELECT COUNT(*) FROM `+table)[0]; got != want {
				t.Errorf("%d rows in %s, want %d", got, table, want)
			}
		}
	})
}

func TestOtherUniqueViolationsAreNotHidden(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, _, address string) {
		t.Parallel()
		h := newHandler(open(t, address))
		if err := h.handle(t.Context(), amqp.Delivery{MessageId: "m-1"}, billable(7)); err != nil {
			t.Fatal(err)
		}
		err := h.handle(t.Context(), amqp.Delivery{MessageId: "m-2"}, billable(7)) // its invoice is there
		failed, ok := errors.AsType[*failure](err)
		if !ok || failed.kind != "DatabaseError" {
			t.Errorf("a second message for one order: %v, want a failure of that order", err)
		}
		if n := h.counts.duplicates.Load(); n != 0 {
			t.Errorf("%d duplicates, want none", n)
		}
		// In the words of the primary key that does count, from another statement.
		err = h.db.write(t.Context(), func(tx *sql.Tx) error {
			return h.db.exec(t.Context(), tx, `INSERT INTO outbox (id, exchange, type, app_id, correlation_id, headers, body, created_at)
				SELECT id, exchange, type, app_id, correlation_id, headers, body, created_at FROM outbox`)
		})
		if err == nil || h.db.repeated(err) {
			t.Errorf("a second outbox row of one id: %v, want another kind of error", err)
		}
		if diff := cmp.Diff([]string{"m-1"}, column[string](t, h.db, `SELECT message_id FROM processed_messages`)); diff != "" {
			t.Errorf("the processed messages differ (-want +got):\n%s", diff)
		}
	})
}

func TestMessageIDsThatLookAlikeAreTwoMessages(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, _, address string) {
		t.Parallel()
		h := newHandler(open(t, address))
		ids := []string{"order-a", "order-A", "order-a ", "order-ä", strings.Repeat("x", 255)}
		for i, id := range ids {
			if err := h.handle(t.Context(), amqp.Delivery{MessageId: id}, billable(int64(i))); err != nil {
				t.Errorf("%q: %v", id, err)
			}
		}
		if n := h.counts.invoiced.Load(); n != int64(len(ids)) {
			t.Errorf("%d invoices of %d messages", n, len(ids))
		}
	})
}

func TestDatabaseThatIsAwayIsNoFailureOfAnOrder(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, _, address string) {
		t.Parallel()
		h := newHandler(open(t, address))
		h.db.close()
		err := h.handle(t.Context(), amqp.Delivery{MessageId: "m-1"}, billable(7))
		if _, failed := errors.AsType[*failure](err); err == nil || failed {
			t.Errorf("it returned %v, want an error that says nothing about the order", err)
		}
	})
}

func TestOrderAndItsEventAreWrittenTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, _, address string) {
		t.Parallel()
		p := producer{db: open(t, address), log: slog.New(slog.DiscardHandler)}
		order, placed, err := p.makeUp(time.Now(), Traffic{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.place(t.Context(), order, placed); err != nil {
			t.Fatal(err)
		}
		placed.ID = "another"
		if err := p.place(t.Context(), order, placed); err == nil {
			t.Error("an order is placed twice")
		}
		other := order
		other.ID++
		placed.ID = column[string](t, p.db, `SELECT id FROM outbox`)[0]
		if err := p.place(t.Context(), other, placed); err == nil {
			t.Error("a message id is used twice")
		}
		records, err := p.db.records(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Records{Orders: 1, OutboxPending: 1}, records); diff != "" {
			t.Errorf("the records differ (-want +got):\n%s", diff)
		}
	})
}

func TestTablesAreMadeByTwoAtOnceAndKept(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, _, address string) {
		t.Parallel()
		var done sync.WaitGroup
		for range 4 {
			done.Go(func() {
				db, err := openDatabase(address)
				if err == nil {
					defer db.close()
					err = db.migrate(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		db := open(t, address)
		if err := newHandler(db).handle(t.Context(), amqp.Delivery{MessageId: "m-1"}, billable(7)); err != nil {
			t.Fatal(err)
		}
		if n := column[int64](t, open(t, address), `SELECT COUNT(*) FROM invoices`)[0]; n != 1 {
			t.Errorf("%d invoices after the tables were made again", n)
		}
	})
}
