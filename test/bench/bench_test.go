// Package bench measures the budgets that docs/benchmarks.md lists. It runs only
// with PARKADE_BENCH=1 (make bench): on a machine that does something else as
// well, a measurement says nothing.
package bench

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

const (
	pairs    = 5
	messages = 20_000
)

func TestMain(m *testing.M) {
	code := m.Run()
	dashtest.Cleanup()
	os.Exit(code)
}

func needBench(t *testing.T) {
	t.Helper()
	if os.Getenv("PARKADE_BENCH") == "" {
		t.Skip("measured by make bench")
	}
}

// The drain stores each message durably before its ack; it is measured against the
// same client that consumes and acknowledges and stores nothing.
func TestDrainBudget(t *testing.T) {
	needBench(t)
	for _, kind := range []string{"quorum", "classic"} {
		t.Run(kind, func(t *testing.T) {
			b := brokertest.Main(t)
			amqpURL := brokertest.Vhost(t, b)
			queue := brokertest.Queue(t, amqpURL, kind, "bench.parking", amqp.Table{"x-delivery-limit": 1_000_000})
			d := dashtest.Start(t, dashtest.Config{Broker: b, AMQP: amqpURL, Parking: []dashtest.Parking{{Queue: queue}}})
			source := map[string]any{"broker": "main", "vhost": brokertest.VhostName(t, amqpURL), "queue": queue}
			var ratios []float64
			var stored int64
			for range pairs {
				fill(t, amqpURL, queue, messages, 1024)
				raw := consume(t, amqpURL, queue, messages)
				fill(t, amqpURL, queue, messages, 1024)
				stored += messages
				began := time.Now()
				d.Post("/drains/start", source, nil)
				d.Eventually("everything is stored", time.Minute, func() bool { return drained(d) == stored })
				ours := time.Since(began)
				d.Post("/drains/stop", source, nil)
				ratios = append(ratios, raw.Seconds()/ours.Seconds())
				t.Logf("raw %.0f/s, drain %.0f/s, ratio %.2f", rate(raw), rate(ours), ratios[len(ratios)-1])
			}
			report(t, "drain against a client that stores nothing", ratios, 0.6)
		})
	}
}

// A replay records each outcome durably; it is measured against the shovel plugin,
// queue to queue, on-confirm.
func TestReplayBudget(t *testing.T) {
	needBench(t)
	b := brokertest.Main(t)
	amqpURL := brokertest.Vhost(t, b)
	vhost := brokertest.VhostName(t, amqpURL)
	parking := brokertest.Queue(t, amqpURL, "quorum", "bench.parking", amqp.Table{"x-delivery-limit": 1_000_000})
	from := brokertest.Queue(t, amqpURL, "quorum", "bench.from", nil)
	to := brokertest.Queue(t, amqpURL, "quorum", "bench.to", nil)
	d := dashtest.Start(t, dashtest.Config{Broker: b, AMQP: amqpURL, Parking: []dashtest.Parking{{Queue: parking, Auto: true}}})
	var ratios []float64
	var stored int64
	for pair := range pairs {
		fill(t, amqpURL, parking, messages, 1024)
		stored += messages
		d.Eventually("everything is stored", time.Minute, func() bool { return drained(d) == stored })
		fill(t, amqpURL, from, messages, 1024)
		shovel := shovel(t, b, amqpURL, from, to, messages)
		consume(t, amqpURL, to, messages)

		began := time.Now()
		var op struct{ ID string }
		d.Post("/operations", map[string]any{
			"verb": "replay", "select": map[string]any{"filter": map[string]string{"queue": parking, "vhost": vhost, "state": "parked"}},
			"target": map[string]string{"to": "queue", "queue": to}, "reason": fmt.Sprintf("pair %d", pair+1),
		}, &op)
		var at struct {
			State  string
			Counts map[string]int64
		}
		d.Eventually("the operation finishes", time.Minute, func() bool { d.Get("/operations/"+op.ID, &at); return at.State == "finished" })
		ours := time.Since(began)
		if at.Counts["confirmed"] != messages {
			t.Fatalf("outcomes are %v, want %d confirmed", at.Counts, messages)
		}
		consume(t, amqpURL, to, messages)
		ratios = append(ratios, shovel.Seconds()/ours.Seconds())
		t.Logf("shovel %.0f/s, replay %.0f/s, ratio %.2f", rate(shovel), rate(ours), ratios[len(ratios)-1])
	}
	report(t, "replay against the shovel plugin", ratios, 1.0)
}

// Memory stays bounded however much lies in the queue.
func TestMemoryBudget(t *testing.T) {
	needBench(t)
	tests := []struct {
		name         string
		small, large int
		limitMiB     int64
	}{
		{"many small ones", 1_000_000, 0, 150},
		{"large ones behind small ones", 2_000, 200, 300},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := brokertest.Main(t)
			amqpURL := brokertest.Vhost(t, b)
			queue := brokertest.Queue(t, amqpURL, "classic", "bench.parking", nil)
			fill(t, amqpURL, queue, tt.small, 1024)
			fill(t, amqpURL, queue, tt.large, 1<<20)
			d := dashtest.Start(t, dashtest.Config{Broker: b, AMQP: amqpURL, Parking: []dashtest.Parking{{Queue: queue, Auto: true}}})
			began := time.Now()
			d.Eventually("everything is stored", 10*time.Minute, func() bool { return drained(d) == int64(tt.small+tt.large) })
			took := time.Since(began)
			peak := peakMiB(t, d.PID())
			t.Logf("%d × 1 KiB and %d × 1 MiB drained in %s, at most %d MiB", tt.small, tt.large, took.Round(time.Millisecond), peak)
			if peak > tt.limitMiB {
				t.Errorf("the process took %d MiB, the budget is %d", peak, tt.limitMiB)
			}
		})
	}
}

func fill(t *testing.T, amqpURL, queue string, n, size int) {
	t.Helper()
	brokertest.PublishN(t, amqpURL, "", queue, n, func(i int) amqp.Publishing {
		body := make([]byte, size)
		copy(body, fmt.Sprintf(`{"order":%d}`, i))
		return amqp.Publishing{MessageId: strconv.Itoa(i), ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: body}
	})
	brokertest.WaitReady(t, amqpURL, queue, n)
}

// consume takes n messages with the prefetch and the acks of a drain.
func consume(t *testing.T, amqpURL, queue string, n int) time.Duration {
	t.Helper()
	ch := brokertest.Channel(t, amqpURL)
	began := time.Now()
	if err := ch.Qos(1000, 0, false); err != nil {
		t.Fatal(err)
	}
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for got := 1; got <= n; got++ {
		d := <-deliveries
		if got%500 == 0 || got == n {
			if err := d.Ack(true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := ch.Qos(1, 0, false); err != nil { // answered behind the last ack
		t.Fatal(err)
	}
	took := time.Since(began)
	ch.Close()
	return took
}

func shovel(t *testing.T, b brokertest.Broker, amqpURL, from, to string, n int) time.Duration {
	t.Helper()
	vhost := url.PathEscape(brokertest.VhostName(t, amqpURL))
	uri := "amqp:///" + vhost
	began := time.Now()
	b.API(t, "PUT", "/parameters/shovel/"+vhost+"/bench", map[string]any{"value": map[string]any{
		"src-protocol": "amqp091", "src-uri": uri, "src-queue": from, "src-prefetch-count": 1000, "src-delete-after": "queue-length",
		"dest-protocol": "amqp091", "dest-uri": uri, "dest-queue": to, "ack-mode": "on-confirm",
	}}, nil)
	ch := brokertest.Channel(t, amqpURL)
	for {
		q, err := ch.QueueDeclarePassive(to, true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
		if err != nil {
			t.Fatal(err)
		}
		if q.Messages >= n {
			took := time.Since(began)
			ch.Close()
			b.API(t, "DELETE", "/parameters/shovel/"+vhost+"/bench", nil, nil)
			return took
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("the shovel moved %d of %d messages", q.Messages, n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// drained is how many messages the dashboard has stored since its start.
func drained(d *dashtest.Dashboard) int64 {
	var drains struct {
		Items []struct{ Drained int64 }
	}
	d.Get("/drains", &drains)
	var n int64
	for _, one := range drains.Items {
		n += one.Drained
	}
	return n
}

func rate(took time.Duration) float64 { return messages / took.Seconds() }

func report(t *testing.T, what string, ratios []float64, budget float64) {
	t.Helper()
	slices.Sort(ratios)
	median := ratios[len(ratios)/2]
	t.Logf("%s: median %.2f of %.2f, budget %.2f", what, median, ratios, budget)
	if median < budget {
		t.Errorf("%s: median ratio %.2f, the budget is %.2f", what, median, budget)
	}
}

// peakMiB is the most memory that a process ever had in use.
func peakMiB(t *testing.T, pid int) int64 {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib / 1024
		}
	}
	t.Fatal("no VmHWM in the process's status")
	return 0
}
