package e2e

import (
	"bytes"
	"crypto/sha256"
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
