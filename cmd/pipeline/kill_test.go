package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

// asProgram has the test binary be the program, so that it can be killed.
const asProgram = "PARKADE_TEST_AS_PIPELINE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	code := m.Run()
	if built.path != "" {
		os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}

func TestKilledAgainAndAgainItLosesNothing(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		const orders, kills = 400, 6
		url, topology := brokertest.Vhost(t, b), pipeline.Topology{}
		database := filepath.Join(t.TempDir(), "billing.db")
		start := func() *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "demo", "--amqp", url, "--control", "127.0.0.1:0", "--rate", "0", "--wait", "200ms", "--database", database)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
			return cmd
		}
		running := start()
		brokertest.Eventually(t, "the topology", func() bool { var q struct{}; return b.Queue(t, url, topology.Events(), &q) })
		running.Process.Kill()

		invoiced, parked := map[string]bool{}, map[string]bool{}
		brokertest.PublishN(t, url, topology.Orders(), pipeline.OrderPlaced, orders, func(i int) amqp.Publishing {
			msg := amqp.Publishing{
				MessageId: strconv.Itoa(i), DeliveryMode: amqp.Persistent, Headers: amqp.Table{pipeline.HeaderSlow: int64(3)},
				Body: fmt.Appendf(nil, `{"order_id": %d, "customer": {"email": "ada@example.com"}, "currency": "EUR"}`, i),
			}
			invoiced[msg.MessageId] = true
			switch i % 8 {
			case 0:
				msg.Body = []byte("no JSON")
			case 1:
				msg.Body = []byte("{}")
			case 2:
				msg.Headers[pipeline.HeaderFailures] = int64(2)
			}
			if i%8 < 2 {
				parked[msg.MessageId] = true
				delete(invoiced, msg.MessageId)
			}
			return msg
		})
		seenInvoiced, seenParked := map[string]bool{}, map[string]bool{}
		look := func() {
			for queue, seen := range map[string]map[string]bool{topology.Events(): seenInvoiced, topology.Parking(): seenParked} {
				for _, d := range brokertest.Take(t, url, queue, brokertest.Ready(t, url, queue)) {
					id := d.MessageId
					if queue == topology.Events() {
						id = d.CorrelationId
					}
					seen[id] = true
				}
			}
		}
		for range kills {
			running = start()
			before := len(seenInvoiced)
			brokertest.Eventually(t, "some more invoices", func() bool { look(); return len(seenInvoiced) > before+orders/kills/4 })
			running.Process.Kill()
		}
		start()
		brokertest.Eventually(t, "an end of every order", func() bool {
			look()
			return maps.Equal(seenInvoiced, invoiced) && len(seenParked) >= len(parked)
		})
		if diff := cmp.Diff(parked, seenParked); diff != "" {
			t.Errorf("the parked orders differ (-want +got):\n%s", diff)
		}
	})
}
