package replays

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/pipeline"
)

// billing is the reference pipeline at work: a consumer that parks what died five
// times in its queue, by x-death.
type billing struct {
	pipeline.Topology

	t       *testing.T
	amqp    string
	control http.Handler
}

func bill(t *testing.T, b brokertest.Broker, amqpURL string) billing {
	t.Helper()
	topology := pipeline.Topology{Wait: time.Second}
	p, err := pipeline.NewBilling(pipeline.Options{
		AMQP: amqpURL, Management: b.Management, Topology: topology, Database: filepath.Join(t.TempDir(), "billing.db"),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := topology.Declare(brokertest.Connection(t, amqpURL)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("billing ended with %v", err)
		}
	})
	return billing{topology, t, amqpURL, p.Control()}
}

// ask calls the control and returns the counts that it answers with.
func (b billing) ask(method, path string) pipeline.Counts {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.control.ServeHTTP(w, httptest.NewRequestWithContext(b.t.Context(), method, path, nil))
	var s pipeline.State
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != http.StatusOK {
		b.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return s.Counts
}

// reaches waits until billing has counted exactly this.
func (b billing) reaches(want pipeline.Counts) {
	b.t.Helper()
	var got pipeline.Counts
	for deadline := time.Now().Add(patience); got != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("billing counts %+v, want %+v", got, want)
		}
		got = b.ask(http.MethodGet, "/")
		got.Published = 0
	}
}

// poison is an order that billing can't handle before the fix is deployed.
func poison(t *testing.T, id string) amqp.Publishing {
	t.Helper()
	body, err := json.Marshal(pipeline.Order{
		ID: 9007199254740993, PlacedAt: time.Now(), Customer: pipeline.Customer{ID: 1, Name: "Ada"},
		Currency: "EUR", Lines: []pipeline.Line{{SKU: "TEA", Quantity: 2, Price: 495}}, Total: 990,
	})
	if err != nil {
		t.Fatal(err)
	}
	return amqp.Publishing{MessageId: id, Type: pipeline.OrderPlaced, ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: body}
}

func TestAReplayIsHandledAgainByAConsumerThatCountsDeaths(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := prepare(t, b)
		billing := bill(t, b, s.amqp)
		s = s.open(billing.Parking())
		brokertest.Publish(t, s.amqp, billing.Orders(), pipeline.OrderPlaced, poison(t, "o-1"))
		first := s.parked(billing.Parking(), 1)[0]
		billing.reaches(pipeline.Counts{Failed: 5, Parked: 1})

		wantChoices(t, s.preview(first.ID, parkade.Target{To: parkade.ToAuto}), []choice{
			{Target: parkade.Target{To: parkade.ToExchange, Exchange: "orders", RoutingKey: "order.placed"}, Reaches: []string{"orders.work"}, Default: true},
			{
				Target: parkade.Target{To: parkade.ToQueue, Queue: "orders.work"}, Reaches: []string{"orders.work"},
				Blocked: "A failure in orders.wait would be lost: nothing is bound to the exchange orders for the key orders.work.",
			},
			private(),
		})
		s.wantRefused(order(parkade.Target{To: parkade.ToQueue}, nil, first), "would be lost")

		// Not parked at once, but handled five times: so each failure but the last
		// of a round went through the wait queue and came back.
		s.replay(parkade.Target{To: parkade.ToAuto}, first)
		second := s.parked(billing.Parking(), 1)[0]
		billing.reaches(pipeline.Counts{Failed: 10, Parked: 2})
		s.wantRounds(first.ID, second.ID)

		op := s.replay(parkade.Target{To: parkade.ToAuto}, second)
		billing.reaches(pipeline.Counts{Failed: 11, Parked: 2})
		billing.ask(http.MethodPost, "/fix")
		billing.reaches(pipeline.Counts{Failed: 11, Parked: 2, Invoiced: 1})
		if op = s.operation(op.ID); op.Counts[parkade.Confirmed] != 1 || op.CameBack != 0 {
			t.Errorf("the last operation has %d confirmed and %d that came back", op.Counts[parkade.Confirmed], op.CameBack)
		}
	})
}

// What the dashboard says of a replay straight into the queue is true.
func TestAFailureWithTheQueuesNameAsKeyIsLostInTheReferencePipeline(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		amqpURL := brokertest.Vhost(t, b)
		billing := bill(t, b, amqpURL)
		brokertest.Publish(t, amqpURL, "", billing.Work(), poison(t, "straight"))
		billing.reaches(pipeline.Counts{Failed: 1})
		// Whatever comes back, comes back in turn: the first would do so before this one.
		brokertest.Publish(t, amqpURL, billing.Orders(), pipeline.OrderPlaced, poison(t, "through the exchange"))
		billing.reaches(pipeline.Counts{Failed: 6, Parked: 1})
		if d := brokertest.Take(t, amqpURL, billing.Parking(), 1)[0]; d.MessageId != "through the exchange" {
			t.Errorf("%s was parked", d.MessageId)
		}
		for _, q := range []string{billing.Work(), billing.WaitQueue(), billing.Parking()} {
			brokertest.WaitReady(t, amqpURL, q, 0)
		}
	})
}

// private is the way into the work queue by an exchange of the dashboard's own.
func private() choice {
	return choice{
		Target: parkade.Target{To: parkade.ToQueue, Queue: work, RoutingKey: placed, Keep: true}, Reaches: []string{work},
		Warnings: []string{"Whether the login may bind an exchange of ours to that queue isn't known before it is tried, which happens when you choose this."},
	}
}

func wantChoices(t *testing.T, p preview, want []choice) {
	t.Helper()
	for i := range want {
		want[i].Warnings = append([]string{}, want[i].Warnings...)
	}
	if diff := cmp.Diff(want, p.Choices); diff != "" {
		t.Errorf("the choices (-want +got):\n%s", diff)
	}
	i := slices.IndexFunc(want, func(c choice) bool { return c.Default })
	switch {
	case i < 0 && (p.Publish != nil || p.Problem == ""):
		t.Errorf("without a default it would send %+v (%q)", p.Publish, p.Problem)
	case i < 0:
	case p.Publish == nil || p.Problem != "":
		t.Errorf("it would send nothing: %q", p.Problem)
	default:
		exchange, key := want[i].Target.Address()
		if p.Publish.Exchange != exchange || p.Publish.RoutingKey != key {
			t.Errorf("it would be sent to %q with key %q", p.Publish.Exchange, p.Publish.RoutingKey)
		}
	}
}

// wantRounds checks that the API and the page of each of two rounds show both.
func (s stage) wantRounds(first, second string) {
	s.t.Helper()
	for _, id := range []string{first, second} {
		m := s.message(id)
		if len(m.Rounds) != 2 || m.Rounds[0].ID != first || m.Rounds[1].ID != second || m.Rounds[1].Round != 2 || m.Rounds[1].Previous != first {
			s.t.Errorf("message %s has the rounds %+v", id, m.Rounds)
		}
		page := s.page("/messages/" + id)
		for _, want := range []string{"One message, 2 rounds", "#" + first, "#" + second, "Came back, round 2"} {
			if !strings.Contains(page, want) {
				s.t.Errorf("the page of message %s lacks %q", id, want)
			}
		}
	}
	m := s.message(first)
	if m.State != parkade.Replayed || !m.CameBack || len(m.History) != 1 || m.History[0].Outcome != parkade.Confirmed || m.History[0].ReturnedAs != second {
		s.t.Errorf("the first round is %s, came back: %t, replays %+v", m.State, m.CameBack, m.History)
	}
}

// page reads a page as a browser without JavaScript does.
func (s stage) page(path string) string {
	s.t.Helper()
	r, err := http.Get(s.URL + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: status %d, %v", path, r.StatusCode, err)
	}
	return string(text)
}
