package pipeline_test

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

// system is a Billing that runs, in a vhost of its own.
type system struct {
	*pipeline.Billing
	pipeline.Topology
	t   *testing.T
	url string
}

// start runs a Billing until the test ends. Its wait is short, and it places no
// orders unless the options say so.
func start(t *testing.T, b brokertest.Broker, o pipeline.Options) system {
	t.Helper()
	o.AMQP, o.Management = brokertest.Vhost(t, b), b.Management
	o.Topology.Wait = 200 * time.Millisecond
	if o.Database == "" {
		o.Database = databaseFile(t)
	}
	billing, err := pipeline.NewBilling(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if !o.Topology.Policies { // which come first
		if err := o.Topology.Declare(brokertest.Connection(t, o.AMQP)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- billing.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	return system{billing, o.Topology, t, o.AMQP}
}

// settles waits for what takes until every pause is over, of orders and of outbox
// rows.
func settles(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never saw %s", what)
		}
	}
}

func databaseFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "billing.db")
}

// call makes a call to the control and returns the state that it answers with.
func (s system) call(method, path, body string) pipeline.State {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.Control().ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body)))
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	var state pipeline.State
	if err := json.Unmarshal(w.Body.Bytes(), &state); err != nil {
		s.t.Fatal(err)
	}
	return state
}

// reaches waits until the counts are exactly want, whatever was published.
func (s system) reaches(want pipeline.Counts) {
	s.t.Helper()
	var got pipeline.Counts
	deadline := time.Now().Add(30 * time.Second)
	for got != want {
		if time.Now().After(deadline) {
			s.t.Fatalf("the counts are %+v, want %+v", got, want)
		}
		time.Sleep(20 * time.Millisecond)
		got = s.call(http.MethodGet, "/", "").Counts
		got.Published = 0
	}
}

// place publishes an order.
func (s system) place(msgs ...amqp.Publishing) {
	s.t.Helper()
	for _, msg := range msgs {
		brokertest.Publish(s.t, s.url, s.Orders(), pipeline.OrderPlaced, msg)
	}
}

// order is a message that can be handled, before edit changes that.
func order(t *testing.T, id string, edit func(*pipeline.Order)) amqp.Publishing {
	t.Helper()
	email := "ada@example.com"
	o := pipeline.Order{
		ID: orderID(id), PlacedAt: time.Now(), Customer: pipeline.Customer{ID: 1, Name: "Ada", Email: &email},
		Currency: "EUR", Lines: []pipeline.Line{{SKU: "TEA", Quantity: 2, Price: 495}}, Total: 990,
	}
	if edit != nil {
		edit(&o)
	}
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return amqp.Publishing{MessageId: id, Type: pipeline.OrderPlaced, ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: body}
}

// orderID is the id of the order that order makes: there is one invoice for each.
func orderID(messageID string) int64 {
	return 9007199254740993 + int64(crc32.ChecksumIEEE([]byte(messageID)))
}

func noEmail(o *pipeline.Order) { o.Customer.Email = nil }

func TestPoisonIsHandledFiveTimesAndParkedAtItsSixthDelivery(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		for name, topology := range map[string]pipeline.Topology{
			"at most once":  {},
			"at least once": {Prefix: "safe.", AtLeastOnce: true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := start(t, b, pipeline.Options{Topology: topology})
				s.place(order(t, "poison", noEmail))
				s.reaches(pipeline.Counts{Failed: 5, Parked: 1})
				brokertest.WaitReady(t, s.url, s.Parking(), 1)
				parked := brokertest.Take(t, s.url, s.Parking(), 1)[0]
				for header, want := range map[string]string{
					"x-exception-type": "ValidationError", "x-exception-message": "customer.email must not be null",
					"x-original-exchange": s.Orders(), "x-original-routingKey": "order.placed",
				} {
					if got := parked.Headers[header]; got != want {
						t.Errorf("header %s is %v, want %s", header, got, want)
					}
				}
				deaths, _ := parked.Headers["x-death"].([]any)
				if len(deaths) != 2 {
					t.Fatalf("%d kinds of death, want rejected and expired", len(deaths))
				}
				for _, d := range deaths {
					if d, ok := d.(amqp.Table); !ok || d["count"] != int64(5) {
						t.Errorf("its deaths are %v, want 5 of each kind", deaths)
					}
				}
				brokertest.WaitReady(t, s.url, s.Work(), 0)
				brokertest.WaitReady(t, s.url, s.WaitQueue(), 0)
			})
		}
	})
}

func TestTransientFailureIsTriedAgainUntilItWorks(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{})
		first, last := order(t, "three times", nil), order(t, "at the last moment", nil)
		first.Headers = amqp.Table{pipeline.HeaderFailures: int32(3)}
		last.Headers = amqp.Table{pipeline.HeaderFailures: int64(4)}
		s.place(first, last)
		s.reaches(pipeline.Counts{Failed: 7, Invoiced: 2})
		brokertest.WaitReady(t, s.url, s.Events(), 2)
	})
}

func TestDuplicatesMakeOneInvoice(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{})
		msg := order(t, "once", nil)
		s.place(msg, msg, msg)
		s.reaches(pipeline.Counts{Invoiced: 1, Duplicates: 2})
		brokertest.WaitReady(t, s.url, s.Events(), 1)
		event := brokertest.Take(t, s.url, s.Events(), 1)[0]
		var invoice pipeline.Invoice
		if err := json.Unmarshal(event.Body, &invoice); err != nil {
			t.Fatal(err)
		}
		if invoice.OrderID != orderID("once") || invoice.Total != 990 || invoice.Currency != "EUR" {
			t.Errorf("the invoice is %+v", invoice)
		}
		if event.RoutingKey != "invoice.issued" || event.CorrelationId != "once" || event.MessageId == "" || event.DeliveryMode != amqp.Persistent {
			t.Errorf("the event has key %q, id %q, correlation id %q and delivery mode %d", event.RoutingKey, event.MessageId, event.CorrelationId, event.DeliveryMode)
		}
	})
}

func TestParkedOrderIsHandledWhenReplayedAfterTheFix(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{})
		s.place(order(t, "poison", noEmail))
		s.reaches(pipeline.Counts{Failed: 5, Parked: 1})
		if !s.call(http.MethodPost, "/fix", "").Fixed {
			t.Error("the fix does not show")
		}
		s.place(order(t, "poison", noEmail)) // the same, without its deaths
		s.reaches(pipeline.Counts{Failed: 5, Parked: 1, Invoiced: 1})
		if s.call(http.MethodPost, "/break", "").Fixed {
			t.Error("the fix can't be taken back")
		}
		s.place(order(t, "another", noEmail))
		s.reaches(pipeline.Counts{Failed: 10, Parked: 2, Invoiced: 1})
	})
}
