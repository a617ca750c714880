package faults

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/store"
	"parkade/test/dashtest"
)

// replaying is a dashboard with messages parked, a queue to replay them into, and
// the operations on them.
type replaying struct {
	site
	*dashtest.Dashboard

	parking, target string
	messages        int
	operations      []operation
}

// operation is what the API says of one.
type operation struct {
	ID     string
	State  parkade.OperationState
	Counts map[parkade.Outcome]int64
}

// stocked returns a dashboard with n messages parked, which doesn't run. Their
// bodies name them.
func stocked(t *testing.T, s site, name string, n int) *replaying {
	t.Helper()
	r := &replaying{site: s, parking: s.queue(t, name+" parking"), target: s.queue(t, name+" target"), messages: n}
	brokertest.PublishN(t, s.amqp, "", r.parking, n, func(i int) amqp.Publishing {
		return amqp.Publishing{DeliveryMode: amqp.Persistent, MessageId: strconv.Itoa(i), Body: fmt.Appendf(nil, "message %d", i)}
	})
	r.Dashboard = s.dashboard(t, r.parking)
	s.drainToTheEnd(t, r.Dashboard, r.parking)
	return r
}

// order starts a replay of everything in a state.
func (r *replaying) order(state parkade.State, to map[string]string, rate float64) *operation {
	var op operation
	r.Post("/operations", map[string]any{
		"verb": "replay", "select": map[string]any{"filter": map[string]string{"state": string(state), "queue": r.parking}},
		"include": []parkade.State{parkade.InDoubt}, "target": to, "rate": rate, "reason": "a test",
	}, &op)
	r.operations = append(r.operations, op)
	return &r.operations[len(r.operations)-1]
}

// straight is the target that is a queue itself.
func straight(queue string) map[string]string {
	return map[string]string{"to": "queue", "queue": queue}
}

// resume sets an operation going that stands still, as a person would.
func (r *replaying) resume(op *operation) {
	r.Get("/operations/"+op.ID, op)
	if op.State == parkade.Interrupted || op.State == parkade.Paused {
		r.Post("/operations/"+op.ID+"/resume", nil, nil)
	}
}

// confirmed returns how many messages of an operation are confirmed by now.
func (r *replaying) confirmed(op *operation) int64 {
	r.Get("/operations/"+op.ID, op)
	return op.Counts[parkade.Confirmed]
}

// finish resumes the operation whenever it stands still, until it has ended.
func (r *replaying) finish(op *operation) {
	r.Eventually("the operation ends", 2*time.Minute, func() bool {
		r.resume(op)
		return op.State == parkade.Finished || op.State == parkade.Cancelled
	})
}

// insist sends again what isn't known to have arrived, as a person would who
// prefers a second copy to none, and stops the dashboard.
func (r *replaying) insist(t *testing.T) {
	t.Helper()
	for _, state := range []parkade.State{parkade.Parked, parkade.InDoubt} {
		if r.count(state) > 0 {
			r.finish(r.order(state, straight(r.target), 0))
		}
	}
	for _, state := range []parkade.State{parkade.Parked, parkade.InDoubt, parkade.InOperation} {
		if n := r.count(state); n != 0 {
			t.Errorf("%d messages are %s in the end", n, state)
		}
	}
	r.Stop()
}

func (r *replaying) count(state parkade.State) int64 {
	var page struct{ Total int64 }
	r.Get("/messages?limit=1&state="+url.QueryEscape(string(state)), &page)
	return page.Total
}

// check compares the outcomes in the store with what lies in the target: every
// confirmed stamp is there, no negative one is, none is there twice and none
// without a row. So each message has arrived, and more than once only where an
// outcome of it was shown as unknown.
func (r *replaying) check(t *testing.T) {
	t.Helper()
	stamps, bodies := map[string]int{}, map[string]int{}
	waiting := settled(t, r.amqp, r.target)
	for _, m := range brokertest.Take(t, r.amqp, r.target, waiting) {
		stamp, _ := m.Headers[parkade.ReplayIDHeader].(string)
		stamps[stamp]++
		bodies[string(m.Body)]++
	}
	s := opened(t, r.Dashboard)
	outcomes, unknown := r.checkStamps(t, s, stamps)
	ms := everything(t, s)
	if len(ms) != r.messages {
		t.Errorf("the store holds %d messages, want %d", len(ms), r.messages)
	}
	twice := 0
	for _, m := range ms {
		switch n := bodies["message "+m.MessageID]; {
		case n == 0:
			t.Errorf("lost: message %s (%s) is called %s and never arrived", m.ID, m.MessageID, m.State)
		case n > 1 && n > 1+unknown[m.ID]:
			t.Errorf("message %s (%s) arrived %d times, and %d of its outcomes are unknown", m.ID, m.MessageID, n, unknown[m.ID])
		case n > 1:
			twice++
		}
		if m.State != m.LastOutcome.Next() {
			t.Errorf("message %s is %s and its last outcome is %q", m.ID, m.State, m.LastOutcome)
		}
	}
	t.Logf("outcomes %v, %d arrived, %d messages more than once", outcomes, waiting, twice)
}

// checkStamps compares every replay with the stamps that arrived, and returns how
// many replays of each message are unknown.
func (r *replaying) checkStamps(t *testing.T, s *store.Store, arrived map[string]int) (outcomes map[parkade.Outcome]int, unknown map[parkade.MessageID]int) {
	t.Helper()
	outcomes, unknown = map[parkade.Outcome]int{}, map[parkade.MessageID]int{}
	known := map[string]bool{}
	for _, one := range r.replays(t, s) {
		outcomes[one.Outcome]++
		known[one.Stamp] = true
		there := arrived[one.Stamp]
		switch one.Outcome {
		case parkade.Confirmed:
			if there != 1 {
				t.Errorf("replay %s is confirmed and arrived %d times", one.Stamp, there)
			}
		case parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.NotSent:
			if there != 0 {
				t.Errorf("replay %s is %s and arrived %d times", one.Stamp, one.Outcome, there)
			}
		case parkade.Unknown:
			unknown[one.Message]++
			if there > 1 {
				t.Errorf("replay %s arrived %d times", one.Stamp, there)
			}
		case parkade.Intent:
			t.Errorf("replay %s is still open at rest", one.Stamp)
		}
	}
	for stamp := range arrived {
		if !known[stamp] {
			t.Errorf("%q arrived and no replay has this stamp", stamp)
		}
	}
	return outcomes, unknown
}

// replays returns every replay of all operations.
func (r *replaying) replays(t *testing.T, s *store.Store) []parkade.ReplayRecord {
	t.Helper()
	var all []parkade.ReplayRecord
	for _, op := range r.operations {
		id, err := parkade.ParseID(op.ID, "operation")
		if err != nil {
			t.Fatal(err)
		}
		for after, more := int64(0), true; more; {
			items, err := s.Items(t.Context(), parkade.OperationID(id), "", after, 500)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range items {
				after = i.Position
				if i.Replay != nil {
					all = append(all, *i.Replay)
				}
			}
			more = len(items) > 0
		}
	}
	return all
}

// settled returns how many messages lie in a queue once that figure stays.
func settled(t *testing.T, amqpURL, queue string) int {
	t.Helper()
	n, same := -1, 0
	brokertest.Eventually(t, "a figure that stays", func() bool {
		before := n
		if n = brokertest.Ready(t, amqpURL, queue); n != before {
			same = 0
		}
		same++
		time.Sleep(100 * time.Millisecond)
		return same > 15 // a quorum queue counts once a second
	})
	return n
}
