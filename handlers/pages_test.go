package handlers_test

import (
	"bytes"
	"context"
	"fmt"
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

// site is a whole site on a real store, beside a broker that leads orders with the
// key created to orders.work.
type site struct {
	http.Handler

	*store.Store
}

func open(t *testing.T) site {
	t.Helper()
	cfg := &config.Config{
		Listen: "127.0.0.1:8080", Brokers: []config.Broker{{Name: "main"}}, Auth: config.Auth{Mode: "none"},
		Retention: config.Retention{Discarded: 7 * 24 * time.Hour, Closed: 30 * 24 * time.Hour},
	}
	topology := parkade.Topology{
		Exchanges: map[string]parkade.Exchange{"": {Type: "direct"}, "orders": {Type: "direct"}},
		Queues: map[string]parkade.QueueInfo{
			"orders.work": {Type: "classic", DeadLetters: true, DeadLetterExchange: "orders", DeadLetterKey: "created"},
			"elsewhere":   {Type: "classic", DeadLetters: true, DeadLetterExchange: "gone"},
		},
		Bindings: []parkade.Binding{{Source: "orders", Destination: "orders.work", Key: "created"}},
	}
	st := storetest.Open(t)
	sends := map[string]replay.Broker{"main": {Topology: func(context.Context, string) (parkade.Topology, error) { return topology, nil }}}
	return site{Store: st, Handler: web.New(handlers.Deps{
		Store: st, Now: time.Now, Version: "test", Closing: t.Context(),
		Config:  func() *config.Config { return cfg },
		Drains:  drain.New(drain.Options{Store: st}),
		Planner: replay.NewPlanner(st, sends, func(parkade.Queue) replay.Rule { return replay.Rule{To: parkade.ToAuto} }, nil),
		Runner:  replay.NewRunner(st, sends, nil),
	}, slog.New(slog.DiscardHandler))}
}

// ask makes one request as a browser does; a form is what it sends.
func (s site) ask(t *testing.T, path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost:8080", "127.0.0.1:4321"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// read returns what a person reads on a page: its text, with one blank between words.
func (s site) read(t *testing.T, path string) string {
	t.Helper()
	w := s.ask(t, path, nil)
	if w.Code != http.StatusOK {
		t.Fatalf("%s answers %d: %s", path, w.Code, text(w))
	}
	return text(w)
}

var tag = regexp.MustCompile(`(?s)<script.*?</script>|<[^>]*>`)

func text(w *httptest.ResponseRecorder) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(w.Body.String(), " "))), " ")
}

// fields returns what the form on a page would send: hidden fields and what is
// chosen.
func fields(page string) url.Values {
	form := url.Values{}
	for _, input := range regexp.MustCompile(`<input[^>]*>`).FindAllString(page, -1) {
		attr := func(name string) string {
			m := regexp.MustCompile(name + `="([^"]*)"`).FindStringSubmatch(input)
			if m == nil {
				return ""
			}
			return html.UnescapeString(m[1])
		}
		chosen := attr("type") == "hidden" || strings.Contains(input, " checked")
		if name := attr(" name"); name != "" && chosen {
			form.Add(name, attr("value"))
		}
	}
	for _, s := range regexp.MustCompile(`(?s)<select[^>]* name="([^"]*)".*?<option value="([^"]*)" selected`).FindAllStringSubmatch(page, -1) {
		form.Add(s[1], s[2])
	}
	return form
}

func wants(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("nothing says %q in\n%s", part, got)
		}
	}
}

func TestAnEmptyStoreSaysWhatToDo(t *testing.T) {
	t.Parallel()
	wants(t, open(t).read(t, "/messages"), "No parking queue is being drained yet", "Nothing is drained until you say so", "Choose queues to drain")
}

func TestAListShowsAndNarrowsDownMessages(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i := range 3 {
		storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery(fmt.Sprintf("id-%d", i), "{}"))
	}
	odd := parkade.Queue{Broker: "main", Vhost: "v/1", Name: "a/b c?#%é"}
	storetest.Park(t, s.Store, odd, storetest.Delivery("odd", "{}"))

	wants(t, s.read(t, "/messages"), "4 messages , the newest", "Rejected in orders.work", "#4", "a/b c?#%é", "created", "→ orders.work", "2 B", "All 4 parked")
	narrowed := s.read(t, "/messages?"+url.Values{"queue": {odd.Name}}.Encode())
	wants(t, narrowed, "1 message from a/b c?#%é", "odd")
	if strings.Contains(narrowed, "id-1") {
		t.Error("another queue's message is listed")
	}
	wants(t, s.read(t, "/messages?reason=expired"), "No message matches this filter", "Drop reason:expired")
}

func TestAWrongFilterListsNothingAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("id", "{}"))
	w := s.ask(t, "/messages?add=state%3Aparkd", nil)
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("it answers %d", w.Code)
	}
	wants(t, text(w), `There is no state "parkd"`, "Nothing is listed")
	wants(t, w.Body.String(), `value="state:parkd"`)
}

func TestConditionsAreTyped(t *testing.T) {
	t.Parallel()
	s := open(t)
	for typed, want := range map[string]string{
		"state:in doubt key:a:b": "/messages?key=a%3Ab&state=in+doubt",
		"0199-abc":               "/messages?message_id=0199-abc",
		"older:2h":               "/messages?older=2h0m0s",
	} {
		w := s.ask(t, "/messages?"+url.Values{"add": {typed}}.Encode(), nil)
		got, _ := url.ParseRequestURI(w.Header().Get("Location"))
		if f, err := parkade.ParseFilter(got.Query()); err != nil || w.Code != http.StatusSeeOther {
			t.Errorf("%q leads to %s with %d: %v", typed, got, w.Code, err)
		} else if again := "/messages?" + f.Query().Encode(); again != want {
			t.Errorf("%q leads to %s, want %s", typed, again, want)
		}
	}
}

func TestPagesLeadThereAndBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	var many []parkade.Delivery
	for i := range 120 {
		many = append(many, storetest.Delivery(fmt.Sprintf("id-%03d", i), "{}"))
	}
	storetest.Park(t, s.Store, storetest.Queue(), many...)
	link := func(page, rel string) string {
		m := regexp.MustCompile(`rel="` + rel + `" href="([^"]*)"`).FindStringSubmatch(page)
		if m == nil {
			return ""
		}
		return html.UnescapeString(m[1])
	}
	first := s.ask(t, "/messages", nil).Body.String()
	second := s.ask(t, link(first, "next"), nil).Body.String()
	third := s.ask(t, link(second, "next"), nil).Body.String()
	if link(first, "prev") != "" || link(third, "next") != "" {
		t.Error("a list goes on before its beginning or behind its end")
	}
	if got := link(second, "prev"); got != "/messages" {
		t.Errorf("the second page leads back to %q", got)
	}
	if back := s.ask(t, link(third, "prev"), nil).Body.String(); !strings.Contains(back, `id="m70"`) || strings.Contains(back, `id="m71"`) {
		t.Error("the third page doesn't lead back to the second")
	}
}

func TestSearchFindsByMessageIDAndByNumber(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("77", "{}"), storetest.Delivery("x", "{}"))
	for q, want := range map[string]string{"77": "/messages?message_id=77", "#2": "/messages/2", "2": "/messages/2", "none": "/messages?message_id=none"} {
		if got := s.ask(t, "/messages?"+url.Values{"q": {q}}.Encode(), nil).Header().Get("Location"); got != want {
			t.Errorf("%q leads to %q, want %q", q, got, want)
		}
	}
}

func TestAMessageIsShownWhole(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := storetest.Delivery("0199", `{"id":9007199254740993}`)
	d.Properties.UserID = new("shop")
	d.Headers = d.Headers.With("x-cart", int64(9007199254740999)).With("x-exception-message", "no rate for XI")
	storetest.Park(t, s.Store, storetest.Queue(), d)
	wants(t, s.read(t, "/messages/1"),
		"no rate for XI", "Failed in orders.work after 3 attempts", `"id" : 9007199254740993`,
		"x-cart int64 9007199254740999", "user_id shortstr shop", "stripped the broker refuses a user id",
		"x-death array of 1", "orders.work rejected 3 orders created", "Counted from x-death",
		"Parked", "Replay 1 → orders.work …", "Discard 1 …")
	if w := s.ask(t, "/messages/999", nil); w.Code != http.StatusNotFound || !strings.Contains(text(w), "There is no message 999") {
		t.Errorf("a message that isn't there answers %d: %s", w.Code, text(w))
	}
}

func TestWhatStrangersWroteIsNeverMarkup(t *testing.T) {
	t.Parallel()
	s := open(t)
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	d := storetest.Delivery(evil, `{"a":"`+evil+`"}`)
	d.RoutingKey = evil
	d.Properties.Type, d.Properties.ContentType = new(evil), new(evil)
	d.Headers = d.Headers.With(evil, evil).With("x-exception-type", evil).With("x-exception-message", evil)
	storetest.Park(t, s.Store, parkade.Queue{Broker: "main", Vhost: evil, Name: evil}, d)
	for _, path := range []string{
		"/messages", "/messages/1", "/messages/1?as=raw", "/messages/1?as=hex", "/replay?id=1", "/discard?id=1",
		"/messages?" + url.Values{"key": {evil}}.Encode(), "/messages?" + url.Values{"add": {"state:" + evil}}.Encode(),
		"/rail?" + url.Values{"at": {evil}}.Encode(),
	} {
		page := s.ask(t, path, nil).Body.String()
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") {
			t.Errorf("%s carries markup of a stranger", path)
		}
		if strings.Contains(page, " style=") || strings.Contains(page, "<script>") || regexp.MustCompile(`<[^>]* on[a-z]+="`).MatchString(page) {
			t.Errorf("%s has inline style or script, which the policy forbids", path)
		}
	}
}

func TestABodyIsDownloadedByteForByte(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := storetest.Delivery("id", "")
	for i := range 256 {
		d.Body = append(d.Body, byte(i))
	}
	d.Properties.ContentType = new("text/html")
	storetest.Park(t, s.Store, storetest.Queue(), d)
	w := s.ask(t, "/messages/1/body", nil)
	if !bytes.Equal(w.Body.Bytes(), d.Body) {
		t.Errorf("%d bytes were downloaded, which aren't the %d that arrived", w.Body.Len(), len(d.Body))
	}
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment", "Content-Security-Policy": "sandbox",
	} {
		if got := w.Header().Get(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
