package web_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// An operation that can't get on says why and until when, on its page and in the
// API; one that can says nothing of it.
func TestAnOperationSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	s := open(t)
	ids := storetest.Park(t, s.store, storetest.Queue(), storetest.Delivery("a", "{}"))
	_, _, err := s.store.Create(t.Context(), store.NewOperation{
		Verb: parkade.Replay, Target: parkade.Target{To: parkade.ToAuto}, By: "ann",
		Items: []store.Planned{{Message: ids[0], Version: 1, Exchange: "orders", RoutingKey: "created"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if page := s.ask(t, "GET", "/operations/1", ""); strings.Contains(page.Body.String(), "It waits.") {
		t.Error("it waits before anything failed")
	}
	changed, unsubscribe := s.store.Subscribe(store.Operations)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error)
	go func() { done <- s.runner.Run(ctx) }()
	t.Cleanup(func() { unsubscribe(); stop(); <-done })
	for s.runner.Waiting(1).Until.IsZero() {
		<-changed
	}

	const path = "/operations/1"
	answer := s.ask(t, "GET", "/api/v1"+path, "")
	_, router := description(t)
	if _, err := conforms(t, router, "GET", path, "", answer); err != nil {
		t.Errorf("%v\n%s", err, answer.Body)
	}
	var op struct {
		Waiting struct{ Why, Until string }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &op); err != nil || op.Waiting.Why != "RabbitMQ main refuses the login." || op.Waiting.Until == "" {
		t.Errorf("the API says %s: %v", answer.Body, err)
	}
	page := s.ask(t, "GET", path, "").Body.String()
	for _, want := range []string{"It waits.", "RabbitMQ main refuses the login.", "It tries again", `data-ago="until"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page doesn't say %q", want)
		}
	}
}
