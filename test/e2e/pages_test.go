package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

// A page is one that is looked at: its path, what opens a sheet on it, if anything,
// and what it has to read.
type page struct {
	path, sheet string
	reads       string
}

func (p page) String() string {
	if p.sheet != "" {
		return p.path + " with " + p.sheet
	}
	return p.path
}

// look looks at pages in light and dark, on a desk and on a phone.
func (b *tab) look(situation string, pages ...page) {
	b.t.Helper()
	for i, p := range pages {
		b.size(desk, false)
		b.visit(p.path)
		if p.sheet != "" {
			b.press(p.sheet)
			b.waits("there is a sheet", func() bool { return eval[bool](b, `document.querySelector("dialog[open]") !== null`) })
		}
		b.sees(p.reads)
		for _, dark := range []bool{false, true} {
			for _, width := range []int64{desk, phone} {
				b.size(width, dark)
				where := fmt.Sprintf("%s, %s, %d px, dark %t", situation, p, width, dark)
				b.fits(where)
				b.accessible(where, dark)
				b.shoot(fmt.Sprintf("%s-%02d-%d-dark_%t", situation, i, width, dark))
			}
		}
	}
}

func TestEveryPageOfAnEmptyStore(t *testing.T) {
	t.Parallel()
	s := stage(t)
	s.run()
	open(t, s.URL).look("empty",
		page{path: "/", reads: parking},
		page{path: "/messages", reads: "No parking queue is being drained yet"},
		page{path: "/operations", reads: "Operations"},
		page{path: "/queues", reads: parking},
		page{path: "/actions", reads: "Actions"},
		page{path: "/settings", reads: "Settings"},
		page{path: "/queues", sheet: "→ this store…", reads: "What was checked just now"},
		page{path: "/queues", sheet: "Drain the next N…", reads: "How many"},
		page{path: "/", sheet: "Keyboard shortcuts", reads: "This sheet"},
	)
}

// three is a scene in which each kind of thing has happened to one of three messages.
func three(t *testing.T) scene {
	t.Helper()
	s := drained(t)
	s.fail(t, "order.placed", order("o-1", placed), order("o-2", placed))
	s.fail(t, "order.cancelled", order("o-3", "<order><id>3</id></order>"))
	s.parked(t, 3)
	var op struct{ ID string }
	s.Post("/operations", map[string]any{"verb": "replay", "select": map[string]any{"ids": []string{"1"}}, "reason": "billing is fixed"}, &op)
	s.Eventually("it is sent", patience, func() bool {
		var now struct{ State string }
		s.Get("/operations/"+op.ID, &now)
		return now.State == "finished"
	})
	s.failAgain(t, 1)
	s.parked(t, 3)
	s.Post("/operations", map[string]any{"verb": "discard", "select": map[string]any{"ids": []string{"2"}}, "reason": "a test order"}, &op)
	return s
}

func TestEveryPageOfAFewMessages(t *testing.T) {
	t.Parallel()
	s := three(t)
	queue := "?" + url.Values{"broker": {"main"}, "vhost": {brokertest.VhostName(t, s.amqp)}, "name": {parking}}.Encode()
	pages := []page{
		{path: "/", reads: parking},
		{path: "/messages", reads: "came back"},
		{path: "/messages?reason=expired", reads: "No message matches"},
		{path: "/messages/4", reads: "12345678901234567890"},
		{path: "/messages/4?as=hex", reads: "7b 20 22"},
		{path: "/messages/3", reads: "<order>"},
		{path: "/messages/2", reads: "Discarded"},
		{path: "/messages/4", sheet: "Replay 1 →", reads: "Before anything is sent"},
		{path: "/messages/4", sheet: "Discard 1…", reads: "this store holds the only copy"},
		{path: "/messages/4", sheet: "Mark 1 resolved…", reads: "Use this where"},
		{path: "/messages/2", sheet: "Restore 1…", reads: "They are parked again"},
		{path: "/replay?id=4", reads: "Before anything is sent"},
		{path: "/discard?id=4", reads: "this store holds the only copy"},
		{path: "/operations", reads: "#1"},
		{path: "/operations/1", reads: "Came back"},
		{path: "/operations/2", reads: "Discard"},
		{path: "/queues", reads: parking},
		{path: "/queue" + queue, reads: "Stored here"},
		{path: "/queue" + queue, sheet: "Stop draining", reads: "What is in hand"},
		{path: "/drains/brake", reads: "draining"},
		{path: "/actions", reads: "a test order"},
		{path: "/settings", reads: "Settings"},
	}
	for part, half := range map[string][]page{"a": pages[:len(pages)/2], "b": pages[len(pages)/2:]} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			open(t, s.URL).look("few-"+part, half...)
		})
	}
}

func TestEveryPageOfManyMessages(t *testing.T) {
	t.Parallel()
	s := drained(t)
	var orders []amqp.Publishing
	for i := range 130 {
		orders = append(orders, order(fmt.Sprintf("01JD%022d", i), placed))
	}
	s.fail(t, "order.placed", orders...)
	s.parked(t, 130)
	var op struct{ ID string }
	s.Post("/operations", map[string]any{
		"verb": "replay", "select": map[string]any{"filter": map[string]string{"state": "parked"}}, "rate": 0.1, "reason": "slowly",
	}, &op)
	b := open(t, s.URL)
	b.look("many",
		page{path: "/", reads: "130"},
		page{path: "/messages", reads: "50 of 130"},
		page{path: "/messages?before=60", reads: "Newer"},
		page{path: "/operations", reads: "Running"},
		page{path: "/operations/1", reads: "Pause"},
		page{path: "/operations/1", sheet: "Cancel the remaining", reads: "What is on its way finishes first"},
	)
	s.Post("/operations/"+op.ID+"/pause", nil, nil)
	b.look("many-paused",
		page{path: "/", reads: "is paused"},
		page{path: "/operations/1", reads: "Resume"},
	)
}

// odd is a name as RabbitMQ allows it and as nobody expects it.
const odd = `a/b c?#%é<script>window.pwned=1</script>`

// Whatever a stranger names a thing, pages show it and work with it.
func TestPagesWorkWithOddNames(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	started(t)
	vhost := brokertest.Vhost(t, b)
	oddWork := odd + ".work"
	brokertest.Exchange(t, vhost, "topic", odd)
	brokertest.Queue(t, vhost, brokertest.Quorum, oddWork, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": odd})
	brokertest.Bind(t, vhost, oddWork, "#", odd)
	brokertest.Queue(t, vhost, brokertest.Quorum, odd, amqp.Table{"x-delivery-limit": 1_000_000})
	s := scene{amqp: vhost, Dashboard: dashtest.Start(t, dashtest.Config{Broker: b, AMQP: vhost, Parking: []dashtest.Parking{{Queue: odd, Auto: true}}})}
	m := order(odd, odd)
	m.Type, m.ContentType = odd, "text/html; "+odd
	m.Headers = amqp.Table{odd: odd, "x-exception-message": odd}
	brokertest.Publish(t, vhost, odd, odd, m)
	reject(t, vhost, oddWork, 1)
	s.parked(t, 1)

	queue := "?" + url.Values{"broker": {"main"}, "vhost": {brokertest.VhostName(t, vhost)}, "name": {odd}}.Encode()
	tab := open(t, s.URL)
	tab.look("odd",
		page{path: "/", reads: odd},
		page{path: "/messages?" + url.Values{"queue": {odd}, "key": {odd}, "message_id": {odd}}.Encode(), reads: odd},
		page{path: "/messages/1", reads: odd},
		page{path: "/messages/1", sheet: "Replay 1 →", reads: "reaches " + oddWork},
		page{path: "/queues", reads: odd},
		page{path: "/queue" + queue, reads: odd},
	)
	tab.size(desk, false)
	tab.visit("/queues")
	tab.press(odd)
	tab.arrives("/queue?")
	tab.press("All its messages")
	tab.arrives("/messages?")
	tab.fill("Find a message by", odd+"\r")
	tab.arrives("/messages?message_id=")
	tab.types("j" + kb.Enter)
	tab.arrives("/messages/1")
	tab.press("Replay 1 → " + oddWork + "…")
	tab.sees("Before anything is sent")
	tab.press("Replay 1 → " + oddWork)
	tab.arrives("/operations/1")
	tab.sees("Finished", odd)
	tab.look("odd-sent", page{path: "/operations/1", reads: "Finished"}, page{path: "/operations", reads: "#1"}, page{path: "/actions", reads: "replayed"})
	if got := brokertest.Take(t, vhost, oddWork, 1)[0]; string(got.Body) != odd || got.RoutingKey != odd || got.MessageId != odd || got.Headers[odd] != odd {
		t.Errorf("the consumer got %q: %+v", got.Body, got)
	}
	if eval[bool](tab, `"pwned" in window`) {
		t.Error("a name was run as a script")
	}
}

func TestAPayloadOf16MiBIsShownAndGivenOutWhole(t *testing.T) {
	t.Parallel()
	s := drained(t)
	body := []byte(`{"rows":["` + strings.Repeat("0123456789abcdef", 1<<20-1) + `"]}`)
	m := order("big", "")
	m.Body = body
	brokertest.Publish(t, s.amqp, "", parking, m)
	s.parked(t, 1)
	b := open(t, s.URL)
	b.look("big", page{path: "/messages/1", reads: "16.0 MiB"}, page{path: "/messages", reads: "16.0 MiB"})
	for as, reads := range map[string]string{"raw": "0123456789abcdef", "hex": "30 31 32"} {
		b.visit("/messages/1?as=" + as)
		b.sees(reads)
		for _, width := range []int64{phone, desk} {
			b.size(width, false)
			b.fits(as)
		}
	}
	r, err := http.Get(s.URL + "/messages/1/body")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	got, err := io.ReadAll(r.Body)
	if err != nil || sha256.Sum256(got) != sha256.Sum256(body) {
		t.Errorf("%d bytes were given out, want %d: %v", len(got), len(body), err)
	}
}

func TestProblemsAreToldOnAPage(t *testing.T) {
	t.Parallel()
	s := three(t)
	b := open(t, s.URL)
	b.tolerate("the server responded with a status of")
	b.look("problem",
		page{path: "/nowhere", reads: "There is nothing at this address"},
		page{path: "/messages/4711", reads: "Not here"},
		page{path: "/replay", reads: "none is selected"},
		page{path: "/messages?state=odd", reads: "Nothing is listed"},
	)
	b.visit("/settings")
	b.submit("/messages/4/decide", "arrived=yes")
	b.sees("Something moved meanwhile")
	b.accessible("409", false)
	b.fits("409")

	stranger := open(t, strings.Replace(s.URL, "127.0.0.1", "stranger.example", 1))
	stranger.tolerate("the server responded with a status of 403", "Cross-Origin-Opener-Policy header has been ignored")
	stranger.look("stranger", page{path: "/messages", reads: "This server doesn't answer under the name stranger.example"})
}

// submit sends a form as a page of ours would.
func (b *tab) submit(path, query string) {
	b.t.Helper()
	eval[bool](b, `((path, query) => {
		const form = document.createElement("form")
		form.method = "post"
		form.action = path
		for (const [name, value] of new URLSearchParams(query)) {
			const field = document.createElement("input")
			field.name = name
			field.value = value
			form.append(field)
		}
		document.body.append(form)
		form.submit()
		return true
	})(`+quoted(path)+`,`+quoted(query)+`)`)
	b.arrives(path)
}

// Without its broker a dashboard shows what it has, and says what it doesn't know.
func TestPagesWithoutABroker(t *testing.T) {
	t.Parallel()
	s := three(t)
	s.Stop()
	file := filepath.Join(s.Dir, "parkade.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := regexp.MustCompile(`(@127\.0\.0\.1:)\d+`).ReplaceAll(text, []byte("${1}9"))
	if bytes.Equal(broken, text) {
		t.Fatal("the configuration has no broker to take away")
	}
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run()
	b := open(t, s.URL)
	b.tolerate("the server responded with a status of 503")
	queue := "?" + url.Values{"broker": {"main"}, "vhost": {brokertest.VhostName(t, s.amqp)}, "name": {parking}}.Encode()
	b.look("down",
		page{path: "/", reads: "doesn't answer"},
		page{path: "/messages", reads: "came back"},
		page{path: "/messages/4", reads: "12345678901234567890"},
		page{path: "/replay?id=4", reads: "order.placed → not known"},
		page{path: "/queues", reads: parking},
		page{path: "/queue" + queue, reads: parking},
		page{path: "/settings", reads: "Settings"},
	)
	b.size(desk, false)
	b.visit("/messages/4")
	b.press("Replay 1 →")
	b.sees("can't be")
}
