package pipeline_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

// lines counts the log lines of each part's lost sessions.
type lines struct {
	slog.Handler
	mu   sync.Mutex
	lost map[string]int
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "broker session ended" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "part" {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lost[a.Value.String()]++
		}
		return true
	})
	return nil
}

func (l *lines) of(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost[part]
}

func TestOutagesOfTheBrokerAreNoFailuresOfOrders(t *testing.T) {
	t.Parallel()
	node := brokertest.Node(t, "4.3")
	log := &lines{Handler: slog.DiscardHandler, lost: map[string]int{}}
	url := brokertest.Vhost(t, node.Broker)
	billing, err := pipeline.NewBilling(pipeline.Options{AMQP: url, Database: databaseFile(t), Traffic: pipeline.Traffic{Rate: 20}}, slog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	s := system{billing, pipeline.Topology{}, t, url}
	node.Stop() // it starts while the broker is away
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- billing.Run(ctx) }()
	t.Cleanup(stop)
	counts := func() pipeline.Counts { return s.call(http.MethodGet, "/", "").Counts }
	works := func(when string) {
		t.Helper()
		before := counts()
		brokertest.Eventually(t, "orders invoiced "+when, func() bool { return counts().Invoiced > before.Invoiced+20 })
	}
	brokertest.Eventually(t, "two vain attempts to connect", func() bool { return log.of("consumer") > 1 && log.of("relay") > 1 })
	node.Start()
	works("once the broker is there")

	node.Ctl("set_vm_memory_high_watermark", "absolute", "1MB")
	before := log.of("relay")
	brokertest.Eventually(t, "a publish that gives up under a memory alarm", func() bool { return log.of("relay") > before })
	node.Ctl("set_vm_memory_high_watermark", "0.6")
	works("after the alarm")

	node.Stop()
	node.Start()
	works("after a restart")

	node.Kill9()
	node.Start()
	works("after a kill")

	s.call(http.MethodPatch, "/traffic", `{"rate": 0}`)
	settles(t, "an invoice for each order, and every event sent", func() bool {
		now := s.call(http.MethodGet, "/", "").Database
		return now.Invoices == now.Orders && now.OutboxPending == 0
	})
	if now := s.call(http.MethodGet, "/", ""); now.Counts.Failed > 0 || now.Counts.Parked > 0 || now.Database.OutboxDead > 0 || now.Database.Orders < 80 {
		t.Errorf("orders suffered: %+v, %+v", now.Counts, *now.Database)
	}

	s.call(http.MethodPatch, "/traffic", `{"rate": 20}`)
	node.Ctl("set_vm_memory_high_watermark", "absolute", "1MB")
	before = log.of("relay")
	brokertest.Eventually(t, "another publish that gives up", func() bool { return log.of("relay") > before })
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("it stopped with %v", err)
		}
	case <-time.After(15 * time.Second):
		t.Error("it does not stop under an alarm")
	}
}
