// Package bench measures the budgets that docs/benchmarks.md lists. It runs only
// with PARKADE_BENCH (make bench): on a machine that does something else as well, a
// measurement says little. PARKADE_BENCH=1 is the real thing; a smaller number, such
// as 0.05, is the part of all messages that a quick look is taken with.
package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

// pairs is how often a ratio is measured, ours and theirs in turns.
const pairs = 5

func TestMain(m *testing.M) {
	code := m.Run()
	dashtest.Cleanup()
	os.Exit(code)
}

// scaled returns n, or the part of n that a quick look takes.
func scaled(t *testing.T, n int) int {
	t.Helper()
	part, err := strconv.ParseFloat(os.Getenv("PARKADE_BENCH"), 64)
	if err != nil || part <= 0 {
		t.Skip("measured by make bench")
	}
	return max(1, int(float64(n)*min(part, 1)))
}

// fill adds n messages with bodies of size bytes to a queue that nobody consumes.
func fill(t *testing.T, amqpURL, queue string, n, size int) {
	t.Helper()
	before := brokertest.Ready(t, amqpURL, queue)
	publish(t, amqpURL, queue, n, size)
	brokertest.WaitReady(t, amqpURL, queue, before+n)
}

func publish(t *testing.T, amqpURL, queue string, n, size int) {
	t.Helper()
	brokertest.PublishN(t, amqpURL, "", queue, n, func(i int) amqp.Publishing {
		body := make([]byte, size)
		copy(body, fmt.Sprintf(`{"order":%d}`, i))
		return amqp.Publishing{
			MessageId: strconv.FormatUint(rand.Uint64(), 36), ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: body,
		}
	})
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

// rate is n messages in a time, a second.
func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// atLeast fails the test where the median of the ratios is below the budget.
func atLeast(t *testing.T, what string, ratios []float64, budget float64) {
	t.Helper()
	m := median(ratios)
	t.Logf("%s: median %.2f of %.2f, budget at least %.2f", what, m, ratios, budget)
	if m < budget {
		t.Errorf("%s: median ratio %.2f, the budget is %.2f", what, m, budget)
	}
}

func median[T float64 | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}
