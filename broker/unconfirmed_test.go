package broker_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

func TestACutConnectionMakesUnconfirmedUnknownAndNothingElse(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		brokertest.Queue(t, url, brokertest.Quorum, "orders", nil)
		via, wire := brokertest.Behind(t, b)
		p := publisher(t, open(t, via), url)
		confirmed, unknown, sent := 0, 0, 0
		var reading sync.WaitGroup
		reading.Go(func() {
			for r := range p.Results() {
				if r.Outcome == parkade.Unknown {
					unknown++
					continue
				}
				wantResult(t, r, parkade.Confirmed, "")
				if confirmed++; confirmed == 500 {
					wire.Cut()
				}
			}
		})
		for p.Send(send(sent, draft("", "orders", "x"))) == nil {
			sent++
		}
		reading.Wait()
		if confirmed+unknown != sent || confirmed < 500 {
			t.Errorf("%d confirmed and %d unknown of %d", confirmed, unknown, sent)
		}
		if at := brokertest.Ready(t, url, "orders"); at < confirmed || at > sent {
			t.Errorf("%d arrived: %d confirmed, %d sent", at, confirmed, sent)
		}
	})
}

func TestWithoutConfirmsThePublisherGivesUp(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	brokertest.Queue(t, url, brokertest.Quorum, "orders", nil)
	via, wire := brokertest.Behind(t, b)
	p := publisher(t, open(t, via, func(c *broker.Config) { c.ConfirmTimeout = 400 * time.Millisecond }), url)
	wantResult(t, one(t, p, draft("", "orders", "x")), parkade.Confirmed, "")
	wire.Hold()
	for _, r := range publish(t, p, send(2, draft("", "orders", "x")), send(3, draft("", "orders", strings.Repeat("long", 4<<20)))) {
		wantResult(t, r, parkade.Unknown, "confirmed nothing for 400ms")
	}
	if _, more := <-p.Results(); more {
		t.Error("one result more")
	}
}

func TestClosingMakesUnconfirmedUnknown(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	brokertest.Queue(t, url, brokertest.Quorum, "orders", nil)
	via, wire := brokertest.Behind(t, b)
	p := publisher(t, open(t, via), url)
	wire.Hold()
	if err := p.Send(send(1, draft("", "orders", "x"))); err != nil {
		t.Fatal(err)
	}
	p.Close()
	wantResult(t, <-p.Results(), parkade.Unknown, "lost before")
	if err := p.Send(send(2, draft("", "orders", "x"))); !errors.Is(err, broker.ErrNotSent) {
		t.Errorf("a closed publisher sends: %v", err)
	}
}
