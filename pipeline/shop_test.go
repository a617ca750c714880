package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

// buyable is an order that the shop can handle.
const buyable = `{"order_id": 9007199254740993, "customer": {"id": 1, "email": "ada@example.com"}, "currency": "EUR"}`

// shop is a shop under test.
type shop struct {
	*pipeline.Shop
	pipeline.ShopTopology

	t   *testing.T
	url string
}

func newShop(t *testing.T, url string) shop {
	t.Helper()
	topology := pipeline.ShopTopology{Delay: 300 * time.Millisecond}
	s, err := pipeline.NewShop(pipeline.ShopOptions{AMQP: url, Topology: topology}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return shop{s, topology, t, url}
}

// run works until the test ends.
func (s shop) run() {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			s.t.Errorf("the shop ended with %v", err)
		}
	})
}

// post posts a body and returns the answer.
func (s shop) post(ctx context.Context, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Front().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", strings.NewReader(body)))
	return w
}

// accepted posts an order and returns the message id of the answer.
func (s shop) accepted(body string) string {
	s.t.Helper()
	w := s.post(s.t.Context(), body)
	var a struct {
		ID string `json:"message_id"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusAccepted || a.ID == "" {
		s.t.Fatalf("status %d, %s, want 202 with a message id", w.Code, w.Body)
	}
	return a.ID
}

// wantRefused posts an order and checks that it is to be tried later.
func (s shop) wantRefused(when string) {
	s.t.Helper()
	began := time.Now()
	w := s.post(s.t.Context(), buyable)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		s.t.Errorf("%s: status %d, Retry-After %q", when, w.Code, w.Header().Get("Retry-After"))
	}
	if took := time.Since(began); took > 10*time.Second {
		s.t.Errorf("%s: the answer took %v", when, took)
	}
}

func (s shop) reaches(want pipeline.ShopCounts) {
	s.t.Helper()
	var got pipeline.ShopCounts
	for deadline := time.Now().Add(30 * time.Second); got != want; time.Sleep(20 * time.Millisecond) {
		if got = s.Counts(); time.Now().After(deadline) {
			s.t.Fatalf("the shop counts %+v, want %+v", got, want)
		}
	}
}

func TestShopHandlesAPoisonousOrderFourTimes(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := newShop(t, brokertest.Vhost(t, b))
		poison := s.accepted(`{"order_id": 1}`)
		bad := amqp.Publishing{MessageId: "bad", Body: []byte("<html>"), Headers: amqp.Table{"kept": "yes"}}
		brokertest.Publish(t, s.url, s.Orders(), pipeline.OrderPlaced, bad)
		transient := amqp.Publishing{MessageId: "transient", Body: []byte(buyable), Headers: amqp.Table{pipeline.HeaderFailures: int64(3)}}
		brokertest.Publish(t, s.url, s.Orders(), pipeline.OrderPlaced, transient)
		s.run()
		s.reaches(pipeline.ShopCounts{Accepted: 1, Handled: 1, Failed: 4 + 3, Dead: 2})
		dead := map[string]amqp.Delivery{}
		for _, d := range brokertest.Take(t, s.url, s.DeadLetters(), 2) {
			dead[d.MessageId] = d
		}
		if n, ok := dead[poison].Headers[pipeline.HeaderAttempt]; !ok || fmt.Sprint(n) != "4" {
			t.Errorf("the poisonous order says attempt %v of %v", n, slices.Collect(maps.Keys(dead)))
		}
		if why := dead[poison].Headers[pipeline.HeaderExceptionType]; why != "ValidationError" {
			t.Errorf("the poisonous order says %v", why)
		}
		if d := dead["bad"]; string(d.Body) != "<html>" || d.Headers["kept"] != "yes" || d.Headers[pipeline.HeaderAttempt] != nil {
			t.Errorf("what isn't JSON arrived as %+v", d)
		}
		for _, q := range []string{s.Main(), s.Retry(), s.DeadLetters()} {
			brokertest.WaitReady(t, s.url, q, 0)
		}
	})
}

func TestShopHandlesWhatIsReplayedAfterTheFix(t *testing.T) {
	t.Parallel()
	s := newShop(t, brokertest.Vhost(t, brokertest.Main(t)))
	s.run()
	s.accepted(`{"order_id": 1}`)
	s.reaches(pipeline.ShopCounts{Accepted: 1, Failed: 4, Dead: 1})
	s.Deploy(true)
	brokertest.Publish(t, s.url, s.Orders(), pipeline.OrderPlaced, amqp.Publishing{Body: brokertest.Take(t, s.url, s.DeadLetters(), 1)[0].Body})
	s.reaches(pipeline.ShopCounts{Accepted: 1, Failed: 4, Dead: 1, Handled: 1})
}

func TestShopIsShownAndSwitchedTogetherWithBilling(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	if status := b.API(t, http.MethodDelete, "vhosts/"+brokertest.VhostName(t, url), nil, nil); status != http.StatusNoContent {
		t.Fatalf("status %d", status)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	both, err := pipeline.NewShop(pipeline.ShopOptions{AMQP: url, Management: b.Management, MakeVhost: true}, log)
	if err != nil {
		t.Fatal(err)
	}
	s := shop{both, pipeline.ShopTopology{}, t, url}
	s.wantRefused("a vhost that isn't there")
	s.run() // which makes it
	brokertest.Eventually(t, "an order taken", func() bool { return s.post(t.Context(), buyable).Code == http.StatusAccepted })

	billing, err := pipeline.NewBilling(pipeline.Options{AMQP: url, Database: databaseFile(t), Traffic: pipeline.Traffic{Rate: 3}, Shop: both}, log)
	if err != nil {
		t.Fatal(err)
	}
	control := system{billing, pipeline.Topology{}, t, url}
	if got := control.call(http.MethodPost, "/fix", ""); !got.Fixed || !got.Shop.Fixed {
		t.Errorf("after the fix: %+v", got)
	}
	got := control.call(http.MethodPatch, "/shop/traffic", `{"rate": 50, "malformed": 100}`)
	if got.Shop.Traffic.Rate != 50 || got.Traffic.Rate != 3 {
		t.Errorf("the rates are %v and %v", got.Shop.Traffic.Rate, got.Traffic.Rate)
	}
	brokertest.Eventually(t, "orders that aren't JSON, and the queue where they lie", func() bool {
		now := control.call(http.MethodGet, "/", "").Shop
		lie := slices.IndexFunc(now.Queues, func(q pipeline.QueueState) bool { return q.Name == s.DeadLetters() && q.Ready > 0 })
		return now.Counts.Dead > 0 && now.Counts.Failed == 0 && lie >= 0
	})
}
