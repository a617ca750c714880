package faults

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/store"
	"parkade/test/dashtest"
)

const target = "kill.target"

// operation is what the API says of one.
type operation struct {
	ID     string
	State  string
	Counts map[string]int64
	Left   int64
}

// stocked is a dashboard that runs with n messages parked.
func stocked(t *testing.T, b brokertest.Broker, amqpURL string, n int) *dashtest.Dashboard {
	t.Helper()
	brokertest.PublishN(t, amqpURL, "", parking, n, func(i int) amqp.Publishing {
		return amqp.Publishing{DeliveryMode: amqp.Persistent, MessageId: strconv.Itoa(i), Body: fmt.Appendf(nil, "message %d", i)}
	})
	d := drainingDashboard(t, b, amqpURL)
	atRest(t, d, amqpURL)
	return d
}

// order starts a replay of everything that is parked.
func order(t *testing.T, d *dashtest.Dashboard, to map[string]string, rate float64) operation {
	t.Helper()
	var op operation
	d.Post("/operations", map[string]any{
		"verb": "replay", "select": map[string]any{"filter": map[string]string{"state": "parked", "queue": parking}},
		"target": to, "rate": rate, "reason": "a test",
	}, &op)
	return op
}

// finish resumes the operation as often as it was interrupted, until it ended.
func finish(t *testing.T, d *dashtest.Dashboard, op operation) {
	t.Helper()
	d.Ready()
	resume(d, op)
	d.Eventually("the operation ends", time.Minute, func() bool {
		d.Get("/operations/"+op.ID, &op)
		return op.State == string(parkade.Finished) || op.State == string(parkade.Cancelled)
	})
}

// resume sets an interrupted operation going, as a person would.
func resume(d *dashtest.Dashboard, op operation) {
	d.Get("/operations/"+op.ID, &op)
	if op.State == string(parkade.Interrupted) {
		d.Post("/operations/"+op.ID+"/resume", nil, nil)
	}
}

func TestNoReplayIsLostOrClaimedWhenItIsKilledAtRandom(t *testing.T) {
	const kills, n = 20, 10_000
	eachQueue(t, func(t *testing.T, b brokertest.Broker, amqpURL, kind string) {
		brokertest.Queue(t, amqpURL, kind, target, nil)
		d := stocked(t, b, amqpURL, n)
		d.Run()
		d.Ready()
		op := order(t, d, map[string]string{"to": "queue", "queue": target}, 2500)
		for range kills {
			killAtRandom(t, d)
			d.Run()
			d.Ready()
			resume(d, op)
		}
		finish(t, d, op)
		d.Stop()
		checkReplays(t, d, op, amqpURL, n)
	})
}

func TestNoReplayIsLostOrClaimedWhenItIsKilledAtEachPoint(t *testing.T) {
	straight := map[string]string{"to": "queue", "queue": target}
	nowhere := map[string]string{"to": "queue", "queue": "kill.nowhere"}
	tests := []struct {
		point string
		to    map[string]string
	}{
		{"replay.claimed", straight},
		{"replay.sent_first", straight},
		{"replay.sent_all", straight},
		{"replay.confirm_read", straight},
		{"replay.confirm_read@40", straight},
		{"replay.outcome_open", straight},
		{"replay.outcome_done", straight},
		{"job.chunk_claimed", straight},
		{"replay.return_read", nowhere},
		{"replay.outcome_done", nowhere},
	}
	eachQueue(t, func(t *testing.T, b brokertest.Broker, amqpURL, kind string) {
		brokertest.Queue(t, amqpURL, kind, target, nil)
		for _, tt := range tests {
			t.Run(tt.point+" "+tt.to["queue"], func(t *testing.T) {
				const n = 100
				d := stocked(t, b, amqpURL, n)
				d.Run("PARKADE_CRASH=" + tt.point)
				d.Ready()
				op := order(t, d, tt.to, 0)
				if err := d.Exited(30 * time.Second); err == nil || err.Error() != "signal: killed" {
					t.Fatalf("at %s the process ended with %v, want a kill", tt.point, err)
				}
				d.Run("PARKADE_CRASH=replay.recovered")
				if err := d.Exited(30 * time.Second); err == nil || err.Error() != "signal: killed" {
					t.Fatalf("at replay.recovered the process ended with %v, want a kill", err)
				}
				d.Run()
				finish(t, d, op)
				d.Stop()
				checkReplays(t, d, op, amqpURL, n)
			})
		}
	})
}

// checkReplays compares the outcomes in the store with what lies in the target:
// every confirmed stamp is there, no negative one is, none is there twice, none
// without a row, and every message is still here.
func checkReplays(t *testing.T, d *dashtest.Dashboard, op operation, amqpURL string, n int) {
	t.Helper()
	arrived := map[string]int{}
	waiting := brokertest.Ready(t, amqpURL, target)
	for _, m := range brokertest.Take(t, amqpURL, target, waiting) {
		stamp, _ := m.Headers[parkade.ReplayIDHeader].(string)
		arrived[stamp]++
	}
	s := opened(t, d)
	outcomes, known := map[parkade.Outcome]int{}, map[string]bool{}
	for _, r := range replays(t, s, op) {
		outcomes[r.Outcome]++
		known[r.Stamp] = true
		there := arrived[r.Stamp]
		switch r.Outcome {
		case parkade.Confirmed:
			if there != 1 {
				t.Errorf("replay %s is confirmed and arrived %d times", r.Stamp, there)
			}
		case parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.NotSent:
			if there != 0 {
				t.Errorf("replay %s is %s and arrived %d times", r.Stamp, r.Outcome, there)
			}
		case parkade.Unknown:
			if there > 1 {
				t.Errorf("replay %s arrived %d times", r.Stamp, there)
			}
		case parkade.Intent:
			t.Errorf("replay %s is still open at rest", r.Stamp)
		}
	}
	for stamp := range arrived {
		if !known[stamp] {
			t.Errorf("%q arrived and no replay has this stamp", stamp)
		}
	}
	checkMessages(t, s, n)
	t.Logf("outcomes %v, %d at the target", outcomes, waiting)
}

func replays(t *testing.T, s *store.Store, op operation) []parkade.ReplayRecord {
	t.Helper()
	id, err := parkade.ParseID(op.ID, "operation")
	if err != nil {
		t.Fatal(err)
	}
	var all []parkade.ReplayRecord
	for after := int64(0); ; {
		items, err := s.Items(t.Context(), parkade.OperationID(id), "", after, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 0 {
			return all
		}
		for _, i := range items {
			after = i.Position
			if i.Replay != nil {
				all = append(all, *i.Replay)
			}
		}
	}
}

// checkMessages looks whether each message is here and says of itself what its
// last replay says.
func checkMessages(t *testing.T, s *store.Store, n int) {
	t.Helper()
	ms := everything(t, s)
	if len(ms) != n {
		t.Errorf("the store holds %d messages, want %d", len(ms), n)
	}
	for _, m := range ms {
		want := parkade.Parked
		if m.LastOutcome != "" {
			want = m.LastOutcome.Next()
		}
		if m.State != want {
			t.Errorf("message %s is %s and its last outcome is %q", m.ID, m.State, m.LastOutcome)
		}
	}
}
