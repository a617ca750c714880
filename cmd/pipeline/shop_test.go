package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

// A kill between the copy for the next attempt and the ack makes two of one order,
// and a kill anywhere else none.
func TestKilledShopHandlesTwiceRatherThanNever(t *testing.T) {
	t.Parallel()
	program := withCrashPoints(t)
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		for point, twice := range map[string]int{"shop-handled": 0, "shop-failed": 0, "shop-copied": 1} {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				url, topology := brokertest.Vhost(t, b), pipeline.ShopTopology{Prefix: "shop."}
				start := func(env ...string) *exec.Cmd {
					cmd := exec.CommandContext(t.Context(), program, "demo", "--amqp", url, "--control", "127.0.0.1:0",
						"--rate", "0", "--shop-rate", "0", "--shop-delay", "100ms", "--database", filepath.Join(t.TempDir(), "billing.db"))
					cmd.Env = append(os.Environ(), env...)
					cmd.Stderr = t.Output()
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
					return cmd
				}
				dying := start("PIPELINE_CRASH=" + point + "@3")
				brokertest.Eventually(t, "the topology", func() bool { var q struct{}; return b.Queue(t, url, topology.DeadLetters(), &q) })
				brokertest.Eventually(t, "the binding of the dead-letter queue", func() bool {
					var bound []struct{}
					b.API(t, "GET", "queues/"+brokertest.VhostName(t, url)+"/"+topology.DeadLetters()+"/bindings", nil, &bound)
					return len(bound) == 2 // the default exchange's is one
				})
				const orders = 10
				brokertest.PublishN(t, url, topology.Orders(), pipeline.OrderPlaced, orders, func(i int) amqp.Publishing {
					msg := amqp.Publishing{MessageId: strconv.Itoa(i), DeliveryMode: amqp.Persistent, Body: []byte(`{"order_id": 1}`)}
					if i < orders/2 { // it works, by and by
						msg.Body = []byte(`{"customer": {"email": "ada@example.com"}, "currency": "EUR"}`)
					}
					return msg
				})
				if err := dying.Wait(); err == nil || err.Error() != "signal: killed" {
					t.Fatalf("it ended with %v, want a kill", err)
				}
				start()
				brokertest.WaitReady(t, url, topology.DeadLetters(), orders/2+twice)
				seen := map[string]int{}
				for _, d := range brokertest.Take(t, url, topology.DeadLetters(), orders/2+twice) {
					seen[d.MessageId]++
				}
				if diff := cmp.Diff([]string{"5", "6", "7", "8", "9"}, slices.Sorted(maps.Keys(seen))); diff != "" {
					t.Errorf("the dead orders (-want +got):\n%s", diff)
				}
				for _, q := range []string{topology.Main(), topology.Retry(), topology.DeadLetters()} {
					brokertest.WaitReady(t, url, q, 0)
				}
			})
		}
	})
}
