package main

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/store"
	"parkade/store/storetest"
)

// discarded parks two messages and discards the first.
func discarded(t *testing.T, s *store.Store) {
	t.Helper()
	ids := storetest.Park(t, s, storetest.Queue(), storetest.Delivery("old", "x"), storetest.Delivery("kept", "x"))
	if _, _, err := s.Create(t.Context(), store.NewOperation{Verb: parkade.Discard, IDs: ids[:1], By: "ann"}); err != nil {
		t.Fatal(err)
	}
}

func TestMessagesWhoseRetentionEndedAreRemoved(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	path, address := file(t, b, brokertest.VhostName(t, brokertest.Vhost(t, b)), "")
	longAgo := store.Options{Clock: func() time.Time { return time.Now().Add(-30 * 24 * time.Hour) }}
	s := storetest.Reopen(t, filepath.Join(filepath.Dir(path), "parkade.db"), longAgo)
	discarded(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, address, "--config", path)
	brokertest.Eventually(t, "the discarded one removed", func() bool {
		return p.ask("GET", "/api/v1/messages/1", "", nil) == http.StatusNotFound
	})
	if status := p.ask("GET", "/api/v1/messages/2", "", nil); status != http.StatusOK {
		t.Errorf("the parked one answers %d", status)
	}
}

func TestSweepingGoesOn(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	s := storetest.Open(t, store.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }})
	discarded(t, s)
	changed, stop := s.Subscribe(store.Messages)
	t.Cleanup(stop)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); sweep(ctx, s, 20*time.Millisecond, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case <-changed:
		t.Fatal("something is removed at once")
	case <-time.After(100 * time.Millisecond): // some sweeps that find nothing
	}
	passed.Store(int64(8 * 24 * time.Hour))
	<-changed
	if _, err := s.Message(t.Context(), 1); err == nil {
		t.Error("the discarded one is still there")
	}
}
