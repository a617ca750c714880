package pipeline_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

func TestFrontAnswersForAnOrderOnceTheBrokerHasIt(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := newShop(t, brokertest.Vhost(t, b))
		id := s.accepted(buyable)
		d := brokertest.Take(t, s.url, s.Main(), 1)[0]
		if d.MessageId != id || d.DeliveryMode != amqp.Persistent || d.Exchange != s.Orders() || string(d.Body) != buyable ||
			d.RoutingKey != pipeline.OrderPlaced || d.Type != pipeline.OrderPlaced || d.ContentType != "application/json" {
			t.Errorf("for %s the queue has %+v", id, d)
		}
		for name, body := range map[string]string{
			"nothing": "", "no JSON": "order", "cut off": buyable[:20], "two": buyable + buyable, "a list": "[]", "too much": `"` + strings.Repeat("x", 1<<20) + `"`,
		} {
			if w := s.post(t.Context(), body); w.Code != http.StatusBadRequest {
				t.Errorf("%s: status %d", name, w.Code)
			}
		}
		if n := brokertest.Ready(t, s.url, s.Main()); n > 0 {
			t.Errorf("%d bad bodies are in the queue", n)
		}
	})
}

func TestConcurrentPostsHaveOneConnectionAndLoseNothing(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := newShop(t, brokertest.Vhost(t, b))
		const posts = 300
		ids := make([]string, posts)
		var g sync.WaitGroup
		for i := range posts {
			g.Go(func() {
				var a struct {
					ID string `json:"message_id"`
				}
				if w := s.post(t.Context(), buyable); w.Code != http.StatusAccepted || json.Unmarshal(w.Body.Bytes(), &a) != nil {
					t.Errorf("status %d, %s", w.Code, w.Body)
				}
				ids[i] = a.ID
			})
		}
		g.Wait()
		var arrived []string
		for _, d := range brokertest.Take(t, s.url, s.Main(), posts) {
			arrived = append(arrived, d.MessageId)
		}
		slices.Sort(ids)
		slices.Sort(arrived)
		if !slices.Equal(ids, arrived) {
			t.Error("what arrived is not what was answered for")
		}
		if n := brokertest.CloseConnections(t, b, s.url, "shop front"); n != 1 {
			t.Errorf("the front has %d connections", n)
		}
		brokertest.Eventually(t, "an order taken after the loss of the connection", func() bool {
			return s.post(t.Context(), buyable).Code == http.StatusAccepted
		})
	})
}

func TestOrderOfAClientThatGoesAwayIsSeenThrough(t *testing.T) {
	t.Parallel()
	b, proxy := brokertest.Behind(t, brokertest.Main(t))
	s := newShop(t, brokertest.Vhost(t, b))
	s.accepted(buyable) // so that a connection is there
	proxy.HoldAnswers()
	ctx, leave := context.WithCancel(t.Context())
	answered := make(chan int, 1)
	go func() { answered <- s.post(ctx, buyable).Code }()
	brokertest.Eventually(t, "the confirm on its way", func() bool { return proxy.Held() > 0 })
	leave()
	proxy.Thaw()
	if code := <-answered; code != http.StatusAccepted {
		t.Errorf("what nobody reads any more says %d", code)
	}
	if code := s.post(ctx, buyable).Code; code == http.StatusAccepted {
		t.Error("an order of a client that had left before was taken")
	}
	s.accepted(buyable)
	brokertest.Take(t, s.url, s.Main(), 3)
	brokertest.WaitReady(t, s.url, s.Main(), 0)
}

func TestFrontRefusesWhatTheBrokerDoesNotTake(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		behind, proxy := brokertest.Behind(t, b)
		s := newShop(t, brokertest.Vhost(t, behind))
		s.accepted(buyable)
		ch := brokertest.Channel(t, s.url)

		if err := ch.QueueUnbind(s.Main(), "order.*", s.Orders(), nil); err != nil {
			t.Fatal(err)
		}
		s.wantRefused("a return")

		full := brokertest.Queue(t, s.url, brokertest.Classic, "full", amqp.Table{"x-max-length": int64(0), "x-overflow": "reject-publish"})
		brokertest.Bind(t, s.url, full, "order.*", s.Orders())
		s.wantRefused("a nack")

		brokertest.Bind(t, s.url, s.Main(), "order.*", s.Orders())
		if _, err := ch.QueueDelete(full, false, false, false); err != nil {
			t.Fatal(err)
		}
		s.accepted(buyable)

		proxy.Hold()
		s.wantRefused("no answer")
		proxy.Thaw()
		brokertest.Eventually(t, "an order taken again", func() bool { return s.post(t.Context(), buyable).Code == http.StatusAccepted })

		if err := ch.ExchangeDelete(s.Orders(), false, false); err != nil {
			t.Fatal(err)
		}
		s.wantRefused("a missing exchange")
		proxy.Cut() // whoever connects, declares
		brokertest.Eventually(t, "an order taken after all", func() bool { return s.post(t.Context(), buyable).Code == http.StatusAccepted })
	})
}

func TestShopStartsWithoutABrokerAndTakesOrdersOnceItIsThere(t *testing.T) {
	t.Parallel()
	node := brokertest.Node(t, "4.3")
	s := newShop(t, brokertest.Vhost(t, node.Broker))
	node.Stop()
	s.run()
	s.wantRefused("a broker that is down")
	node.Start()
	returned := time.Now()
	for s.post(t.Context(), buyable).Code != http.StatusAccepted {
		time.Sleep(50 * time.Millisecond)
	}
	if took := time.Since(returned); took > 5*time.Second {
		t.Errorf("the first order was taken %v after the broker's return", took)
	}
	brokertest.Eventually(t, "an order handled", func() bool { return s.Counts().Handled > 0 })

	node.Ctl("set_vm_memory_high_watermark", "absolute", "1MB")
	s.wantRefused("a broker that is short of memory")
	node.Ctl("set_vm_memory_high_watermark", "0.6")
	brokertest.Eventually(t, "an order taken after the alarm", func() bool { return s.post(t.Context(), buyable).Code == http.StatusAccepted })

	node.Kill9()
	s.wantRefused("a broker that was killed")
	node.Start()
	returned = time.Now()
	for s.post(t.Context(), buyable).Code != http.StatusAccepted {
		time.Sleep(50 * time.Millisecond)
	}
	if took := time.Since(returned); took > 5*time.Second {
		t.Errorf("after a kill the first order was taken %v after the broker's return", took)
	}
}
