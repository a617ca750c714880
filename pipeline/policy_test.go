package pipeline_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

func TestPoliciesDoWhatArgumentsDo(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := start(t, b, pipeline.Options{Topology: pipeline.Topology{Prefix: "a+b.", Policies: true, AtLeastOnce: true}})
		for queue, want := range map[string]map[string]any{
			s.Work():      {"dead-letter-exchange": s.Retry(), "dead-letter-strategy": "at-least-once", "overflow": "reject-publish"},
			s.WaitQueue(): {"dead-letter-exchange": s.Orders(), "message-ttl": 200.0, "dead-letter-strategy": "at-least-once", "overflow": "reject-publish"},
			s.Parking():   {"delivery-limit": 1e6},
			s.Events():    {"message-ttl": 86_400_000.0},
		} {
			var q struct {
				Arguments map[string]any `json:"arguments"`
				Policy    map[string]any `json:"effective_policy_definition"`
			}
			brokertest.Eventually(t, "the policy of "+queue, func() bool { return b.Queue(t, s.url, queue, &q) && len(q.Policy) > 0 })
			if diff := cmp.Diff(want, q.Policy); diff != "" {
				t.Errorf("the policy of %s differs (-want +got):\n%s", queue, diff)
			}
			if len(q.Arguments) != 1 || q.Arguments["x-queue-type"] == nil {
				t.Errorf("%s has arguments %v, want its type alone", queue, q.Arguments)
			}
		}
		s.place(order(t, "poison", noEmail), order(t, "good", nil))
		s.reaches(pipeline.Counts{Failed: 5, Parked: 1, Invoiced: 1})
	})
}

func TestQueueThatDelaysCanBeSetByPolicy(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	if !b.AtLeast(4, 3) {
		t.Skip("needs RabbitMQ 4.3")
	}
	s := start(t, b, pipeline.Options{Topology: pipeline.Topology{Mode: pipeline.Delayed, Policies: true}})
	brokertest.Eventually(t, "the parking queue", func() bool { var q struct{}; return b.Queue(t, s.url, s.Parking(), &q) })
	s.place(order(t, "poison", noEmail))
	began := time.Now()
	s.reaches(pipeline.Counts{Failed: 5})
	brokertest.WaitReady(t, s.url, s.Parking(), 1)
	if pauses := time.Since(began); pauses < 1500*time.Millisecond {
		t.Errorf("parked after %v", pauses)
	}
}

func TestRefusedPolicyEndsTheRunWithTheReason(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	vhost := brokertest.Vhost(t, b)
	user := brokertest.User(t, b, vhost, brokertest.Everything(), "management") // may look, may set no policy
	options := pipeline.Options{AMQP: user.AMQP, Database: databaseFile(t), Management: user.Management, Topology: pipeline.Topology{Policies: true}}
	billing, err := pipeline.NewBilling(options, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(user.AMQP)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	if err := billing.Run(t.Context()); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusUnauthorized)) || strings.Contains(err.Error(), password) {
		t.Errorf("it ended with %v", err)
	}
	options.Management = ""
	if _, err := pipeline.NewBilling(options, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("policies without a management API are accepted")
	}
}
