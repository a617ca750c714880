package web_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"parkade"
	"parkade/config"
	"parkade/drain"
	"parkade/handlers"
	"parkade/replay"
	"parkade/store"
	"parkade/store/storetest"
	"parkade/web"
)

// site is a whole site on a real store. Its broker answers what is needed to plan
// and to look, and delivers nothing: cmd/dashboard is tested with a real one.
type site struct {
	http.Handler

	store  *store.Store
	runner *replay.Runner // which nobody has run yet
	logs   *strings.Builder
}

// topology is that of storetest's messages: orders leads to orders.work only.
func topology() parkade.Topology {
	return parkade.Topology{
		Exchanges: map[string]parkade.Exchange{"": {Type: "direct"}, "orders": {Type: "direct"}, "orders.dlx": {Type: "direct"}},
		Queues: map[string]parkade.QueueInfo{
			"orders.work":    {Type: "classic", DeadLetters: true, DeadLetterExchange: "", DeadLetterKey: "orders.parking"},
			"orders.parking": {Type: "classic"},
		},
		Bindings: []parkade.Binding{{Source: "orders", Destination: "orders.work", Key: "created"}},
	}
}

func open(t *testing.T, change ...func(*config.Config)) site {
	t.Helper()
	cfg := &config.Config{Listen: "127.0.0.1:8080", Brokers: []config.Broker{{Name: "main"}}, Auth: config.Auth{Mode: "none"}}
	for _, c := range change {
		c(cfg)
	}
	st := storetest.Open(t)
	sends := map[string]replay.Broker{"main": {
		Topology: func(context.Context, string) (parkade.Topology, error) { return topology(), nil },
		OpenPublisher: func(context.Context, string, string) (replay.Publisher, error) {
			return replay.Publisher{}, parkade.Errorf(parkade.Unavailable, "RabbitMQ main refuses the login.")
		},
	}}
	takes := map[string]drain.Broker{"main": {Facts: func(_ context.Context, _, queue string) (parkade.QueueFacts, error) {
		return parkade.QueueFacts{Known: true, Missing: queue == "missing", Version: "4.3.6", Type: "classic", Durable: true}, nil
	}}}
	logs := &strings.Builder{}
	runner := replay.NewRunner(st, sends, nil)
	return site{store: st, runner: runner, logs: logs, Handler: web.New(handlers.Deps{
		Store: st, Now: time.Now, Version: "test", Closing: t.Context(),
		Config:  func() *config.Config { return cfg },
		Drains:  drain.New(drain.Options{Store: st, Brokers: takes}),
		Planner: replay.NewPlanner(st, sends, func(parkade.Queue) replay.Rule { return replay.Rule{To: parkade.ToAuto} }, nil),
		Runner:  runner,
	}, slog.New(slog.NewTextHandler(logs, nil)))}
}

func publicURL(s string) func(*config.Config) {
	return func(c *config.Config) { c.PublicURL, _ = url.Parse(s) }
}

// ask makes one request. Headers are pairs of name and value; Host is one of them.
func (s site) ask(t *testing.T, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost:8080", "127.0.0.1:4321"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func text(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	b, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
