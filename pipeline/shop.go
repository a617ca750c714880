package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"
)

// ShopOptions are what a Shop is made of.
type ShopOptions struct {
	AMQP       string // URL of the broker
	Vhost      string // wins over the one in the URL, unless it is empty
	Management string // URL of the management API, for the figures of the queues; may be empty
	MakeVhost  bool   // make the vhost before anything else; needs Management, and a login that may
	Topology   ShopTopology
	Traffic    Traffic // of the customers that it makes up
	Fixed      bool    // begin with the fix deployed
}

// Shop is the second system: it takes orders over HTTP, and handles them later.
// It has no database, so what it is sure of is the broker's word.
type Shop struct {
	front      *front
	consumer   *shopConsumer
	topology   ShopTopology
	switches   *switches
	counts     *shopCounts
	broker     broker
	management management
	makeVhost  bool
	log        *slog.Logger
}

// shopCounts is what has happened since the start.
type shopCounts struct {
	accepted, refused     atomic.Int64 // orders: answered with 202, and not
	handled, failed, dead atomic.Int64 // attempts that worked, that failed, and orders that were given up
}

// NewShop checks the options and connects nothing.
func NewShop(o ShopOptions, log *slog.Logger) (*Shop, error) {
	if err := o.Traffic.Validate(); err != nil {
		return nil, err
	}
	b := broker{o.AMQP, o.Vhost}
	if err := b.validate(); err != nil {
		return nil, err
	}
	if o.Topology.Delay < 0 {
		return nil, errors.New("the shop's delay must not be negative")
	}
	api, err := newManagement(o.Management, b.vhostName())
	if err != nil {
		return nil, err
	}
	if o.MakeVhost && api.api == nil {
		return nil, errors.New("to make the shop's vhost, the address of the management API is needed")
	}
	s, c := newSwitches(o.Traffic, o.Fixed, false), new(shopCounts)
	return &Shop{
		front:    &front{o.Topology, newLink(b, o.Topology.Prefix+"shop front", o.Topology.Declare), c, log},
		consumer: &shopConsumer{b, o.Topology, s, c, log},
		topology: o.Topology, switches: s, counts: c, broker: b, management: api, makeVhost: o.MakeVhost, log: log,
	}, nil
}

// Front takes orders by POST. It needs no Run, and no broker before it is asked.
func (s *Shop) Front() http.Handler { return s.front }

// Run handles orders until ctx ends, and then returns nil. A broker that is away
// is waited for; a topology that exists with other settings is an error.
func (s *Shop) Run(ctx context.Context) error {
	defer s.front.link.close()
	if s.makeVhost {
		err := keep(ctx, s.log, "shop vhost", func(ctx context.Context) error { return s.management.makeVhost(ctx, s.broker.user()) })
		if err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.consumer.run(ctx) })
	g.Go(func() error { return s.customers(ctx) })
	return g.Wait()
}

// customers order at the rate of the switches. They are the demo's, and take what
// comes: an order that the front doesn't take is given up.
func (s *Shop) customers(ctx context.Context) error {
	pace := producer{last: time.Now()}
	for {
		traffic, _ := s.switches.state()
		due, timer := pace.next(traffic.Rate)
		select {
		case <-ctx.Done():
			return nil
		case <-s.switches.changed:
		case now := <-timer:
			pace.last = due
			if err := s.order(ctx, now, traffic); err != nil {
				s.log.Warn("order given up", "err", err)
			}
		}
	}
}

// order makes up one order with the faults of the traffic. One that isn't JSON
// goes past the front's check, as if another service had published it.
func (s *Shop) order(ctx context.Context, now time.Time, t Traffic) error {
	o, headers := newOrder(now), amqp.Table{}
	fault := t.draw()
	switch fault {
	case poison:
		o.spoil()
	case transient:
		headers[HeaderFailures] = int64(t.TransientFailures)
	case none, malformed, noID:
	}
	if chance(t.Slow) {
		headers[HeaderSlow] = int64(t.SlowMillis)
	}
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if fault == malformed {
		body = mangle(body)
	}
	_, err = s.front.place(ctx, body, headers)
	return err
}

// ShopState is what the control page shows of the shop.
type ShopState struct {
	Fixed       bool         `json:"fixed"`
	Traffic     Traffic      `json:"traffic"`
	Counts      ShopCounts   `json:"counts"`
	Queues      []QueueState `json:"queues,omitempty"`
	QueuesError string       `json:"queues_error,omitempty"` // why there are no figures
}

// ShopCounts is what has happened since the start.
type ShopCounts struct {
	Accepted int64 `json:"accepted"` // orders that the broker has confirmed
	Refused  int64 `json:"refused"`  // orders that were answered with 503
	Handled  int64 `json:"handled"`
	Failed   int64 `json:"failed"` // attempts that failed
	Dead     int64 `json:"dead"`   // orders given up
}

func (s *Shop) state(ctx context.Context) *ShopState {
	state := ShopState{Counts: s.Counts()}
	state.Traffic, state.Fixed = s.switches.state()
	var err error
	if state.Queues, err = s.management.queues(ctx, s.topology.queues()); err != nil {
		state.QueuesError = err.Error()
	}
	return &state
}

// Counts returns what has happened since the start.
func (s *Shop) Counts() ShopCounts {
	c := s.counts
	return ShopCounts{c.accepted.Load(), c.refused.Load(), c.handled.Load(), c.failed.Load(), c.dead.Load()}
}

// Deploy switches the fix on, or off again.
func (s *Shop) Deploy(fixed bool) { s.switches.deploy(fixed) }
