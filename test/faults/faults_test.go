// Package faults kills the real dashboard, at random and at every named point of
// its work, and counts afterwards what the store and the broker hold.
package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/store"
	"parkade/test/dashtest"
)

const parking = "kill.parking"

func TestMain(m *testing.M) {
	code := m.Run()
	dashtest.Cleanup()
	os.Exit(code)
}

// eachQueue runs a test on every broker with a classic and a quorum parking queue,
// one after the other: kills need the machine for themselves.
func eachQueue(t *testing.T, test func(t *testing.T, b brokertest.Broker, amqpURL, kind string)) {
	t.Helper()
	if os.Getenv("PARKADE_SOAK") == "" {
		t.Skip("run by make soak")
	}
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		for _, kind := range []string{"classic", "quorum"} {
			t.Run(kind, func(t *testing.T) {
				amqpURL := brokertest.Vhost(t, b)
				var args amqp.Table
				if kind == "quorum" {
					args = amqp.Table{"x-delivery-limit": 1_000_000}
				}
				brokertest.Queue(t, amqpURL, kind, parking, args)
				test(t, b, amqpURL, kind)
			})
		}
	})
}

func drainingDashboard(t *testing.T, b brokertest.Broker, amqpURL string) *dashtest.Dashboard {
	t.Helper()
	return dashtest.New(t, dashtest.Config{Broker: b, AMQP: amqpURL, Parking: []dashtest.Parking{{Queue: parking, Auto: true}}})
}

// killAtRandom lets the dashboard work for a moment and kills it.
func killAtRandom(t *testing.T, d *dashtest.Dashboard) {
	t.Helper()
	d.Ready()
	time.Sleep(rand.N(250 * time.Millisecond))
	d.Kill()
}

// atRest runs the dashboard until the queue is empty and everything is recorded,
// and stops it in good order.
func atRest(t *testing.T, d *dashtest.Dashboard, amqpURL string) {
	t.Helper()
	vhost := brokertest.VhostName(t, amqpURL)
	d.Run()
	d.Ready()
	d.Eventually("the queue is empty and nothing is on its way", time.Minute, func() bool {
		var drains struct {
			Items []struct {
				Vhost   string
				Phase   string
				Holding int64
			}
		}
		d.Get("/drains", &drains)
		for _, one := range drains.Items {
			if one.Vhost == vhost {
				return one.Phase == string(parkade.Listening) && one.Holding == 0 && brokertest.Ready(t, amqpURL, parking) == 0
			}
		}
		return false
	})
	d.Stop()
}

// opened is the store of a dashboard that has ended.
func opened(t *testing.T, d *dashtest.Dashboard) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), d.Store(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func everything(t *testing.T, s *store.Store) []parkade.Message {
	t.Helper()
	var all []parkade.Message
	page := parkade.Page{Limit: 500}
	for {
		ms, more, err := s.Messages(t.Context(), parkade.Filter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ms...)
		if !more {
			return all
		}
		page.Before = ms[len(ms)-1].ID
	}
}

// content is what a test published: the body names it, and how many there are of
// the very same.
type content map[string]int

// mixed returns the i-th message of a mixed load and notes it: one half has ids,
// a quarter differs without ids, and a quarter is the very same again and again.
func (c content) mixed(i int) amqp.Publishing {
	m := amqp.Publishing{DeliveryMode: amqp.Persistent, ContentType: "text/plain"}
	switch {
	case i%2 == 0:
		m.MessageId = fmt.Sprintf("id-%d", i)
		m.Body = fmt.Appendf(nil, "identified %d", i)
	case i%4 == 1:
		m.Body = fmt.Appendf(nil, "different %d", i)
	default:
		m.Body = []byte("the very same")
	}
	c[string(m.Body)]++
	return m
}

// check compares the store with what was published: nothing is missing, a copy is
// never unmarked, and what can be told apart is there exactly once.
func (c content) check(t *testing.T, s *store.Store) {
	t.Helper()
	type tally struct{ rows, copies, seen int }
	got := map[string]*tally{}
	for _, m := range everything(t, s) {
		body, err := s.Body(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		n := got[string(body)]
		if n == nil {
			n = &tally{}
			got[string(body)] = n
		}
		n.rows++
		n.seen += int(m.SeenAgain)
		if m.CopyOf != 0 {
			n.copies++
		}
	}
	var copies, seen int
	for body, published := range c {
		n := got[body]
		if n == nil {
			t.Errorf("lost: %q", body)
			continue
		}
		copies, seen = copies+n.copies, seen+n.seen
		if n.rows-n.copies > published || published > n.rows+n.seen {
			t.Errorf("%q: published %d, stored %d, of which %d marked as possible copies, %d recognised", body, published, n.rows, n.copies, n.seen)
		}
		if published == 1 && n.rows-n.copies != 1 {
			t.Errorf("%q was published once and is there %d times unmarked", body, n.rows-n.copies)
		}
	}
	for body := range got {
		if c[body] == 0 {
			t.Errorf("stored but never published: %q", body)
		}
	}
	t.Logf("%d contents, %d possible copies marked, %d redelivered ones recognised", len(c), copies, seen)
}
