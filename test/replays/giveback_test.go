package replays

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

// drainOf reads what the drain of the one queue of a stage does.
func (s stage) drainOf(queue string) (phase parkade.Phase, why string) {
	s.t.Helper()
	var drains struct {
		Items []struct {
			Queue string        `json:"queue"`
			Phase parkade.Phase `json:"phase"`
			Why   string        `json:"why"`
		} `json:"items"`
	}
	s.Get("/drains", &drains)
	for _, d := range drains.Items {
		if d.Queue == queue {
			return d.Phase, d.Why
		}
	}
	return "", ""
}

// startDrain asks for a drain, and returns the status of the answer.
func (s stage) startDrain(queue string) int {
	s.t.Helper()
	status, _ := s.Try(http.MethodPost, "/drains/start", map[string]string{
		"broker": "main", "vhost": brokertest.VhostName(s.t, s.amqp), "queue": queue,
	}, nil)
	return status
}

// all waits until n messages of a queue are stored in whatever state, and returns
// them, oldest first.
func (s stage) all(queue string, n int) []message {
	s.t.Helper()
	var page struct {
		Items []message `json:"items"`
		Total int       `json:"total"`
	}
	s.Eventually("everything of "+queue+" is here", patience, func() bool {
		s.Get("/messages?order=oldest&limit=200&queue="+url.QueryEscape(queue), &page)
		return page.Total == n
	})
	return page.Items
}

// odd is a message with what is easily changed on the way.
func odd(i int) amqp.Publishing {
	return amqp.Publishing{
		MessageId: fmt.Sprintf("m-%d", i), DeliveryMode: amqp.Persistent, Priority: 3, ReplyTo: "answers", Type: "order", Body: []byte{0, 0xff, byte(i)},
		Headers: amqp.Table{
			"x-attempt": int32(3), "x-first-death-queue": work, "small": int8(-1), "big": int64(1) << 62, "money": amqp.Decimal{Scale: 2, Value: 5},
			"x-death": []any{amqp.Table{"queue": work, "reason": "rejected", "exchange": "orders", "count": int64(3), "routing-keys": []any{placed}}},
		},
	}
}

// TestWhatIsGivenBackStaysInItsQueueUntilAPersonDrainsItAgain kills the dashboard
// in the middle of it: nothing may take out what is being put in.
func TestWhatIsGivenBackStaysInItsQueueUntilAPersonDrainsItAgain(t *testing.T) {
	t.Parallel()
	const n = 40
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		for kind, args := range map[string]amqp.Table{brokertest.Classic: nil, brokertest.Quorum: {"x-delivery-limit": 1_000_000}} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				s := prepare(t, b)
				brokertest.Queue(t, s.amqp, kind, parking, args)
				brokertest.PublishN(t, s.amqp, "", parking, n, odd)
				s = s.open(parking)
				parked := s.parked(parking, n)
				before := s.bodyless(parked[0].ID)

				op := s.begin(map[string]any{
					"verb": "give_back", "select": map[string]any{"filter": map[string]string{"state": "parked"}}, "rate": 20, "expect": map[string]any{"count": n},
				})
				if status := s.startDrain(parking); status != http.StatusConflict {
					t.Errorf("draining it meanwhile answers %d", status)
				}
				s.Eventually("some are given back", patience, func() bool { return s.operation(op.ID).Counts[parkade.Confirmed] > 3 })
				s.Kill()
				s.Run()
				s.Ready()
				if o := s.operation(op.ID); o.State != parkade.Interrupted || o.Why == "" {
					t.Fatalf("after a kill it is %s (%q)", o.State, o.Why)
				}
				if status := s.startDrain(parking); status != http.StatusConflict {
					t.Errorf("draining it while it is interrupted answers %d", status)
				}
				s.Post("/operations/"+op.ID+"/resume", nil, nil)
				op = s.finish(op)
				if op.Counts[parkade.Confirmed]+op.Counts[parkade.Unknown] != n || op.CameBack != 0 {
					t.Errorf("it ended with %v, %d drained again", op.Counts, op.CameBack)
				}
				arrived := brokertest.Ready(t, s.amqp, parking)
				if confirmed := int(op.Counts[parkade.Confirmed]); arrived < confirmed || arrived > n {
					t.Errorf("%d are in the queue, %d confirmed", arrived, confirmed)
				}
				if phase, why := s.drainOf(parking); phase != parkade.PausedHere || why == "" {
					t.Errorf("its drain is %s (%q)", phase, why)
				}
				if status := s.startDrain(parking); status != http.StatusOK {
					t.Fatalf("draining it afterwards answers %d", status)
				}
				for _, m := range s.all(parking, n+arrived)[n:] {
					first := s.message(m.Previous)
					if m.Round != 1 || m.State != parkade.Parked || first.State != "given back" || first.CameBack || first.MessageID != m.MessageID || first.SHA256 != m.SHA256 {
						t.Errorf("drained again it is %+v after %+v", m, first)
					}
					if m.Previous == parked[0].ID {
						if diff := cmp.Diff(before, s.bodyless(m.ID)); diff != "" {
							t.Errorf("it isn't what it was (-was +is):\n%s", diff)
						}
					}
				}
			})
		}
	})
}

// bodyless reads what a message is made of but for its body and our stamp.
func (s stage) bodyless(id string) any {
	s.t.Helper()
	var m struct {
		Properties any              `json:"properties"`
		Headers    []map[string]any `json:"headers"`
		Deaths     any              `json:"deaths"`
	}
	s.Get("/messages/"+id, &m)
	kept := m.Headers[:0]
	for _, h := range m.Headers {
		if h["name"] != parkade.ReplayIDHeader {
			kept = append(kept, h)
		}
	}
	m.Headers = kept
	return m
}
