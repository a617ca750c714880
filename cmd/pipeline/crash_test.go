package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parkade/broker/brokertest"
	"parkade/pipeline"
	"parkade/pipeline/databasetest"
)

// points are where the program may be killed, and what else that takes.
//
//nolint:gochecknoglobals // read only
var points = map[string][]string{
	// The producer.
	"order-written":   nil,
	"order-announced": nil,
	"order-committed": nil,
	// The relay.
	"relay-claimed":   nil,
	"relay-confirmed": nil,
	"relay-sent":      nil,
	"relay-marked":    nil,
	// The consumer.
	"delivery-taken":    nil,
	"message-noted":     nil,
	"invoice-written":   nil,
	"invoice-announced": nil,
	"delivery-handled":  nil,
	"delivery-failed":   nil,
	"copy-waiting":      {"--retry", "graduated"},
	// Parking.
	"copy-parked": nil,
}

func TestKilledAtAnyPointNothingIsLostOrInvoicedTwice(t *testing.T) {
	t.Parallel()
	b, program := brokertest.Main(t), withCrashPoints(t)
	for _, point := range slices.Sorted(maps.Keys(points)) {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			databasetest.Each(t, func(t *testing.T, _, address string) {
				t.Parallel()
				url := brokertest.Vhost(t, b)
				start := func(traffic ...string) *exec.Cmd {
					args := slices.Concat([]string{"demo", "--amqp", url, "--control", "127.0.0.1:0", "--database", address, "--wait", "100ms"}, points[point], traffic)
					cmd := exec.CommandContext(t.Context(), program, args...)
					cmd.Stderr = t.Output()
					return cmd
				}
				dying := start("--rate", "100", "--poison", "15", "--transient", "15", "--failures", "1", "--malformed", "10", "--no-id", "10", "--duplicate", "10", "--slow", "0")
				dying.Env = append(os.Environ(), "PIPELINE_CRASH="+point+"@7")
				if err := dying.Run(); err == nil || err.Error() != "signal: killed" {
					t.Fatalf("it ended with %v, want a kill", err)
				}
				healing := start("--rate", "0")
				if err := healing.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { healing.Process.Kill(); healing.Wait() })
				brokertest.Eventually(t, "the topology", func() bool { var q struct{}; return b.Queue(t, url, pipeline.Topology{}.Events(), &q) })
				l := ledger{db: databasetest.Open(t, address), parked: map[string]bool{}, told: map[string]bool{}}
				l.balances(t, url)
			})
		})
	}
}

// ledger is what became of the orders in a database.
type ledger struct {
	db     *sql.DB
	parked map[string]bool // message ids of the orders in the parking queue
	told   map[string]bool // message ids of the invoice events that arrived
}

// balances waits until each order is either invoiced or parked, and everything
// that was to be said is said. Then it checks that nothing is there twice or
// without its other half.
func (l ledger) balances(t *testing.T, url string) {
	t.Helper()
	topology := pipeline.Topology{}
	done := func() bool {
		l.take(t, url, topology)
		return l.count(t, `FROM outbox WHERE sent_at IS NULL`) == 0 &&
			l.count(t, `FROM invoices`)+len(l.parked) >= l.count(t, `FROM orders`) &&
			len(l.told) >= l.count(t, `FROM outbox WHERE type = 'invoice.issued'`)
	}
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("of %d orders %d are invoiced and %d parked; %d rows are not sent; %d of %d events arrived",
				l.count(t, `FROM orders`), l.count(t, `FROM invoices`), len(l.parked), l.count(t, `FROM outbox WHERE sent_at IS NULL`),
				len(l.told), l.count(t, `FROM outbox WHERE type = 'invoice.issued'`))
			break
		}
	}
	orders, invoices := l.ids(t, `message_id FROM orders`), l.ids(t, `message_id FROM invoices`)
	for what, pair := range map[string][2][]string{
		"orders and their events":              {orders, l.ids(t, `id FROM outbox WHERE type = 'order.placed'`)},
		"orders, and those invoiced or parked": {orders, slices.Sorted(slices.Values(slices.Concat(invoices, slices.Collect(maps.Keys(l.parked)))))},
		"invoices and processed messages":      {invoices, l.ids(t, `message_id FROM processed_messages`)},
		"invoices and their events":            {invoices, l.ids(t, `correlation_id FROM outbox WHERE type = 'invoice.issued'`)},
		"events of invoices, and arrived ones": {l.ids(t, `id FROM outbox WHERE type = 'invoice.issued'`), slices.Sorted(maps.Keys(l.told))},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s differ (-one +other):\n%s", what, diff)
		}
	}
}

// take empties the parking queue and the events' queue.
func (l ledger) take(t *testing.T, url string, topology pipeline.Topology) {
	t.Helper()
	for _, d := range brokertest.Take(t, url, topology.Parking(), brokertest.Ready(t, url, topology.Parking())) {
		id := d.MessageId
		if id == "" {
			var order pipeline.Order
			if err := json.Unmarshal(d.Body, &order); err != nil {
				t.Fatal(err)
			}
			id = l.ids(t, fmt.Sprintf(`message_id FROM orders WHERE order_id = %d`, order.ID))[0]
		}
		l.parked[id] = true // twice, perhaps: that hurts nobody
	}
	for _, d := range brokertest.Take(t, url, topology.Events(), brokertest.Ready(t, url, topology.Events())) {
		l.told[d.MessageId] = true
	}
}

func (l ledger) count(t *testing.T, from string) (n int) {
	t.Helper()
	if err := l.db.QueryRowContext(t.Context(), `SELECT COUNT(*) `+from).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// ids returns the ids that a query finds, in order, and each as often as it is
// there.
func (l ledger) ids(t *testing.T, query string) (ids []string) {
	t.Helper()
	rows, err := l.db.QueryContext(t.Context(), `SELECT `+query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

// built is the program with its crash points, made once for all tests.
//
//nolint:gochecknoglobals // one for the whole test program
var built struct {
	once sync.Once
	path string
	err  error
}

// withCrashPoints returns the path of the program with its crash points.
func withCrashPoints(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "pipeline-test-") //nolint:usetesting // outlives the test that builds it
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "pipeline")
		out, err := exec.Command("go", "build", "-tags", "crashpoints", "-o", built.path, ".").CombinedOutput()
		if err != nil {
			built.err = errors.Join(err, errors.New(string(out)))
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}
