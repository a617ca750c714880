package broker_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

func publisher(t *testing.T, br *broker.Broker, url string) *broker.Publisher {
	t.Helper()
	p, err := br.OpenPublisher(t.Context(), brokertest.VhostName(t, url), "replay 7")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// publish sends all and returns the result of each, in order. Between two sends
// and their results, at most a window is open.
func publish(t *testing.T, p *broker.Publisher, sends ...parkade.Send) []parkade.Result {
	t.Helper()
	var results []parkade.Result
	open := make(chan struct{}, broker.Window)
	var sending sync.WaitGroup
	sending.Go(func() {
		for _, s := range sends {
			open <- struct{}{}
			if err := p.Send(s); err != nil {
				t.Errorf("send %s: %v", s.Replay, err)
			}
		}
	})
	for r := range p.Results() {
		if want := sends[len(results)].Replay; r.Replay != want {
			t.Fatalf("result %d is of replay %s, want %s", len(results), r.Replay, want)
		}
		results = append(results, r)
		<-open
		if len(results) == len(sends) {
			break
		}
	}
	sending.Wait()
	if len(results) != len(sends) {
		t.Fatalf("%d results for %d sends", len(results), len(sends))
	}
	return results
}

func one(t *testing.T, p *broker.Publisher, d parkade.Draft) parkade.Result {
	t.Helper()
	return publish(t, p, send(1, d))[0]
}

func wantResult(t *testing.T, got parkade.Result, outcome parkade.Outcome, why string) {
	t.Helper()
	if got.Outcome != outcome || !strings.Contains(got.Why, why) {
		t.Errorf("%s: %q, want %s: %q", got.Outcome, got.Why, outcome, why)
	}
}

func TestEveryReturnIsToldOfItsOwnMessage(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		const total = 4000
		url := brokertest.Vhost(t, b)
		queue := brokertest.Queue(t, url, brokertest.Quorum, "orders", nil)
		exchange := brokertest.Exchange(t, url, "direct", "ex")
		brokertest.Bind(t, url, queue, "bound", exchange)
		var sends []parkade.Send
		routable := 0
		for n := range total {
			key := "bound"
			if r := n * n % 7; r == 1 || r == 2 { // an uneven mix: 2,285 of them
				key = "nowhere"
			} else {
				routable++
			}
			sends = append(sends, send(n, draft(exchange, key, "same body")))
		}
		wrong := 0
		for n, r := range publish(t, publisher(t, open(t, b), url), sends...) {
			want := parkade.Confirmed
			if sends[n].Draft.RoutingKey == "nowhere" {
				want = parkade.Unroutable
			}
			if r.Outcome != want {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%d of %d outcomes are wrong", wrong, total)
		}
		if routable > total-2000 {
			t.Fatalf("only %d messages are unroutable", total-routable)
		}
		brokertest.WaitReady(t, url, queue, routable)
	})
}

// full declares a queue that takes no more.
func full(t *testing.T, url, name string) {
	t.Helper()
	brokertest.Queue(t, url, brokertest.Classic, name, amqp.Table{"x-max-length": 1, "x-overflow": "reject-publish"})
	brokertest.Publish(t, url, "", name, amqp.Publishing{})
	brokertest.WaitReady(t, url, name, 1)
}

func TestANackIsCertainForASingleQueueOnly(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		full(t, url, "full")
		brokertest.Queue(t, url, brokertest.Classic, "other", nil)
		exchange := brokertest.Exchange(t, url, "fanout", "fan")
		brokertest.Bind(t, url, "full", "", exchange)
		brokertest.Bind(t, url, "other", "", exchange)
		p := publisher(t, open(t, b), url)
		wantResult(t, one(t, p, draft("", "full", "x")), parkade.Nacked, "full")
		wantResult(t, one(t, p, draft("fan", "", "x")), parkade.Unknown, "others may have it")
		wantResult(t, one(t, p, draft("", "other", "x")), parkade.Confirmed, "")
		brokertest.WaitReady(t, url, "full", 1)
		brokertest.WaitReady(t, url, "other", 2)
	})
}

func TestARefusalIsCertainForAMessageThatWasAlone(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		brokertest.Queue(t, url, brokertest.Quorum, "orders", nil)
		brokertest.Exchange(t, url, "direct", "closed to us")
		user := brokertest.User(t, b, url, brokertest.Permissions{Configure: "^$", Write: `^amq\.default$`, Read: "^$"})
		stranger := draft("", "orders", "x")
		stranger.Properties.UserID = new("somebody else")
		large := func(c *broker.Config) { c.MaxMessageSize = 1 << 30 }
		tests := map[string]struct {
			as    brokertest.Broker
			draft parkade.Draft
			want  string
		}{
			"missing exchange": {b, draft("gone", "k", "x"), "no exchange 'gone'"},
			"no permission":    {user, draft("closed to us", "k", "x"), "access to exchange 'closed to us'"},
			"foreign user id":  {b, stranger, "user_id property set to"},
		}
		if b.AtLeast(4, 0) {
			d := draft("", "orders", "")
			d.Body = make([]byte, 16<<20+1)
			tests["large body"] = struct {
				as    brokertest.Broker
				draft parkade.Draft
				want  string
			}{b, d, "larger than"}
		}
		for name, tt := range tests {
			p := publisher(t, open(t, tt.as, large), url)
			r := one(t, p, tt.draft)
			if r.Outcome != parkade.Refused || !strings.Contains(r.Why, tt.want) {
				t.Errorf("%s: %s: %q, want %q", name, r.Outcome, r.Why, tt.want)
			}
			if err := p.Send(send(2, draft("", "orders", "x"))); !errors.Is(err, broker.ErrNotSent) {
				t.Errorf("%s: afterwards it sends: %v", name, err)
			}
			if r, more := <-p.Results(); more {
				t.Errorf("%s: one result more: %v", name, r)
			}
		}
		brokertest.WaitReady(t, url, "orders", 0)
	})
}

func TestARefusalMakesNeighboursUnknownAndConfirmsNoneFalsely(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		brokertest.Queue(t, url, brokertest.Quorum, "orders", nil)
		p := publisher(t, open(t, b), url)
		var results []parkade.Result
		var reading sync.WaitGroup
		reading.Go(func() {
			for r := range p.Results() {
				results = append(results, r)
			}
		})
		sent := 0
		for n := range 400 {
			exchange := ""
			if n == 200 {
				exchange = "gone"
			}
			if p.Send(send(n, draft(exchange, "orders", "x"))) != nil {
				break
			}
			sent++
		}
		reading.Wait()
		if len(results) != sent {
			t.Fatalf("%d results for %d sends", len(results), sent)
		}
		for n, r := range results {
			switch {
			case r.Outcome == parkade.Confirmed && n < 200:
			case r.Outcome == parkade.Unknown && strings.Contains(r.Why, "no exchange 'gone'"):
			default:
				t.Fatalf("number %d is %s: %q", n, r.Outcome, r.Why)
			}
		}
		brokertest.WaitReady(t, url, "orders", 200) // what came before it, and nothing after
	})
}

func TestWithoutItsStampNothingIsSent(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	p := publisher(t, open(t, b), url)
	if err := p.Send(parkade.Send{Replay: 1, Stamp: "a-1", Draft: draft("", "orders", "x")}); err == nil {
		t.Error("a message is sent whose return couldn't be told")
	}
}
