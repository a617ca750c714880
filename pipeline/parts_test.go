package pipeline

import (
	"errors"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
)

func TestDeathsOfOneQueueAddUpOverAllReasons(t *testing.T) {
	t.Parallel()
	headers := amqp.Table{"x-death": []any{
		amqp.Table{"queue": "orders.work", "reason": "rejected", "count": int64(3)},
		amqp.Table{"queue": "orders.wait", "reason": "expired", "count": int64(9)},
		amqp.Table{"queue": "orders.work", "reason": "delivery_limit", "count": int64(1)},
		"what an application wrote",
		amqp.Table{"queue": "orders.work", "count": "many"},
	}}
	for name, c := range map[string]struct {
		headers amqp.Table
		want    int64
	}{
		"several reasons": {headers, 4},
		"no headers":      {nil, 0},
		"another type":    {amqp.Table{"x-death": "5"}, 0},
	} {
		if got := deaths(c.headers, "orders.work"); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestRecentForgetsTheOldestOnly(t *testing.T) {
	t.Parallel()
	r := newRecent[int](3)
	for i := range 5 {
		r.put(strconv.Itoa(i), i)
		r.put(strconv.Itoa(i), i*10) // known: nothing else is forgotten for it
	}
	for i := range 5 {
		v, ok := r.get(strconv.Itoa(i))
		if ok != (i >= 2) || ok && v != i*10 {
			t.Errorf("%d: %d, %t", i, v, ok)
		}
	}
}

func TestShortenCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 5, "short"}, {"longer", 4, "long"}, {"zoë", 3, "zo"}, {"山田", 5, "山"}, {"a\xffb", 9, "a\uFFFDb"}, {"山", 1, ""},
	} {
		if got := shorten(c.text, c.limit); got != c.want {
			t.Errorf("%q cut to %d is %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestRateThatGrowsTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	p := producer{last: time.Now()}
	if due, _ := p.next(0.001); time.Until(due) < 10*time.Minute {
		t.Errorf("at one order in 1000 s the next is due in %v", time.Until(due))
	}
	if due, _ := p.next(10); time.Until(due) > time.Second {
		t.Errorf("at ten orders a second the next is due in %v", time.Until(due))
	}
	if _, timer := p.next(0); timer != nil {
		t.Error("at a rate of 0 an order is due")
	}
	p.last = time.Now().Add(-time.Hour)
	if due, _ := p.next(10); time.Since(due) > 2*time.Second {
		t.Errorf("orders of the last %v are made up for", time.Since(due))
	}
}

func TestPublisherTellsWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		full := brokertest.Queue(t, url, brokertest.Classic, "full", amqp.Table{"x-max-length": int64(1), "x-overflow": "reject-publish"})
		open := brokertest.Queue(t, url, brokertest.Quorum, "open", nil)
		p, err := newPublisher(brokertest.Connection(t, url))
		if err != nil {
			t.Fatal(err)
		}
		steps := []struct {
			exchange, key string
			want          error
		}{
			{"", open, nil},
			{"", "nobody", errUnroutable},
			{"", full, nil},
			{"", full, errNacked},
			{"", open, nil}, // still good for more
		}
		for i, s := range steps {
			if err := p.publish(t.Context(), s.exchange, s.key, amqp.Publishing{}); !errors.Is(err, s.want) || (err == nil) != (s.want == nil) {
				t.Errorf("step %d: %v, want %v", i, err, s.want)
			}
		}
		err = p.publish(t.Context(), "no such exchange", "", amqp.Publishing{})
		if err == nil || errors.Is(err, errNacked) || errors.Is(err, errUnroutable) {
			t.Errorf("a closed channel: %v, want an error that says nothing is known", err)
		}
		brokertest.WaitReady(t, url, open, 2)
	})
}
