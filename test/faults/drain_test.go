package faults

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
)

func TestNothingIsLostWhenTheDrainIsKilledAtRandom(t *testing.T) {
	const kills, each = 20, 500
	eachQueue(t, func(t *testing.T, b brokertest.Broker, amqpURL, _ string) {
		published := content{}
		d := drainingDashboard(t, b, amqpURL)
		for kill := range kills {
			brokertest.PublishN(t, amqpURL, "", parking, each, func(i int) amqp.Publishing { return published.mixed(kill*each + i) })
			d.Run()
			killAtRandom(t, d)
		}
		atRest(t, d, amqpURL)
		published.check(t, opened(t, d))
	})
}

func TestNothingIsLostWhenTheDrainIsKilledAtEachPoint(t *testing.T) {
	// A point of a recovery needs the losses that lead there.
	tests := []struct {
		name  string
		kills []string
	}{
		{"before it connects", []string{"drain.session"}},
		{"messages in hand", []string{"drain.delivered"}},
		{"consumer cancelled", []string{"drain.cancelled"}},
		{"in the transaction that stores", []string{"drain.txn1_open"}},
		{"stored, not acknowledged", []string{"drain.txn1_done"}},
		{"acknowledged, not proven", []string{"drain.acked"}},
		{"proven, not recorded", []string{"drain.proof_read"}},
		{"between two cycles", []string{"drain.txn2_done"}},
		{"while it recognises what came back", []string{"drain.txn1_done", "drain.matched"}},
		{"while it marks a possible copy", []string{"drain.txn1_done", "drain.delivered", "drain.twin"}},
		{"at every step of one recovery", []string{"drain.txn1_done", "drain.txn1_open", "drain.txn1_done", "drain.acked"}},
	}
	eachQueue(t, func(t *testing.T, b brokertest.Broker, amqpURL, _ string) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				published := content{}
				brokertest.PublishN(t, amqpURL, "", parking, 60, published.mixed)
				d := drainingDashboard(t, b, amqpURL)
				for _, point := range tt.kills {
					d.Run("PARKADE_CRASH=" + point)
					if err := d.Exited(30 * time.Second); err == nil || err.Error() != "signal: killed" {
						t.Fatalf("at %s the process ended with %v, want a kill", point, err)
					}
				}
				atRest(t, d, amqpURL)
				published.check(t, opened(t, d))
			})
		}
	})
}
