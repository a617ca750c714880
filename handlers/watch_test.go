package handlers_test

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
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

// watched is a site on a real store, whose broker says of each queue what facts
// say and delivers nothing.
type watched struct {
	t      *testing.T
	site   http.Handler
	store  *store.Store
	drains *drain.Supervisor
	facts  map[string]parkade.QueueFacts
}

func fine() parkade.QueueFacts {
	return parkade.QueueFacts{Known: true, Version: "4.3.6", Type: "classic", Durable: true}
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{t: t, store: storetest.Open(t), facts: map[string]parkade.QueueFacts{}}
	amqp := config.Secret("amqp://parkade:hunter2@localhost:5672")
	cfg := &config.Config{
		Listen: "127.0.0.1:8080", Auth: config.Auth{Mode: "none"}, Retention: config.Retention{Discarded: 7 * 24 * time.Hour, Closed: 30 * 24 * time.Hour},
		Brokers: []config.Broker{{Name: "main", AMQP: amqp}},
	}
	takes := map[string]drain.Broker{"main": {Facts: func(_ context.Context, _, queue string) (parkade.QueueFacts, error) {
		if f, ok := w.facts[queue]; ok {
			return f, nil
		}
		return fine(), nil
	}}}
	w.drains = drain.New(drain.Options{Store: w.store, Brokers: takes})
	w.site = web.New(handlers.Deps{
		Store: w.store, Drains: w.drains, Now: time.Now, Version: "test", Closing: t.Context(),
		Config:  func() *config.Config { return cfg },
		Planner: replay.NewPlanner(w.store, nil, func(parkade.Queue) replay.Rule { return replay.Rule{To: parkade.ToAuto} }, nil),
		Runner:  replay.NewRunner(w.store, nil, nil),
	}, slog.New(slog.DiscardHandler))
	return w
}

// ask makes a request; form is nil for a GET.
func (w *watched) ask(path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(form.Encode()))
	r.Host, r.RemoteAddr = "localhost:8080", "127.0.0.1:4321"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	w.site.ServeHTTP(answer, r)
	return answer
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// reads returns what a person reads of a page.
func (w *watched) reads(path string) string {
	w.t.Helper()
	answer := w.ask(path, nil)
	if answer.Code != http.StatusOK {
		w.t.Fatalf("%s answers %d: %s", path, answer.Code, plain(answer.Body.String()))
	}
	return plain(answer.Body.String())
}

func plain(page string) string {
	return spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(page, " ")), " ")
}

func (w *watched) has(page string, wants ...string) {
	w.t.Helper()
	for _, want := range wants {
		if !strings.Contains(page, want) {
			w.t.Errorf("the page doesn't say %q; it reads:\n%s", want, page)
		}
	}
}

func named(name string) parkade.Queue { return parkade.Queue{Broker: "main", Vhost: "/", Name: name} }

func about(q parkade.Queue) url.Values {
	return url.Values{"broker": {q.Broker}, "vhost": {q.Vhost}, "name": {q.Name}}
}

func TestEmptyPagesSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := watch(t)
	for path, want := range map[string]string{
		"/":           "No parking queue is drained yet",
		"/operations": "Nothing has been replayed or discarded yet",
		"/queues":     "No parking queue was found",
		"/actions":    "Nobody has done anything yet",
	} {
		w.has(w.reads(path), want)
	}
}

func TestOverviewShowsWhatWaits(t *testing.T) {
	t.Parallel()
	w := watch(t)
	storetest.Park(t, w.store, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"))
	page := w.reads("/")
	w.has(page, "2 messages wait for a decision", "orders.parking")

	if err := w.drains.Brake(t.Context(), true, "anna", "upgrade of RabbitMQ"); err != nil {
		t.Fatal(err)
	}
	page = w.reads("/")
	w.has(page, "1 thing needs you", "The brake is on: nothing is drained", "anna stopped all draining", "“upgrade of RabbitMQ”")
}

func TestOddNamesStayNames(t *testing.T) {
	t.Parallel()
	w := watch(t)
	for _, name := range []string{"a/b c?#%é", `"><img src=x onerror=alert(1)>`} {
		q := parkade.Queue{Broker: "main", Vhost: name, Name: name}
		if answer := w.ask("/drains/start", about(q)); answer.Code != http.StatusSeeOther {
			t.Fatalf("%s answers %d", name, answer.Code)
		}
		for _, path := range []string{
			"/", "/queues", "/actions", "/queue?" + about(q).Encode(), "/drains/start?" + about(q).Encode(), "/drains/next?" + about(q).Encode(),
			"/drains/stop?" + about(q).Encode(), "/drains/brake",
		} {
			page := w.ask(path, nil).Body.String()
			if strings.Contains(page, "<img src=x") {
				t.Errorf("%s lets %s be markup", path, name)
			}
			if path != "/drains/brake" && !strings.Contains(html.UnescapeString(page), name) {
				t.Errorf("%s doesn't name %s", path, name)
			}
		}
		href := regexp.MustCompile(`href="(/queue\?[^"]*)"`).FindAllStringSubmatch(w.ask("/queues", nil).Body.String(), -1)
		found := false
		for _, h := range href {
			answer := w.ask(html.UnescapeString(h[1]), nil)
			found = found || answer.Code == http.StatusOK && strings.Contains(html.UnescapeString(answer.Body.String()), "<code>"+name+"</code>")
		}
		if !found {
			t.Errorf("no link of the list leads to %s", name)
		}
	}
}

func TestSettingsShowNoPassword(t *testing.T) {
	t.Parallel()
	w := watch(t)
	page := w.reads("/settings")
	w.has(page, "amqp://parkade:redacted@localhost:5672", "restorable for 7 d", "Parkade test")
	if strings.Contains(page, "hunter2") {
		t.Error("the password is on the page")
	}
}
