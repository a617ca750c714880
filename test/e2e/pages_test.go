package e2e

import (
	"fmt"
	"net/url"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
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
