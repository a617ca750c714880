package pipeline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options are what a Billing is made of.
type Options struct {
	AMQP       string // URL of the broker
	Vhost      string // wins over the one in the URL, unless it is empty
	Management string // URL of the management API, for the figures of the queues; and for policies; may be empty
	Topology   Topology
	Traffic    Traffic
	Fixed      bool  // begin with the fix deployed
	Shop       *Shop // shown and switched together with this one; may be nil

	// Database is the path of an SQLite file, or postgres://..., or mariadb: with
	// what github.com/go-sql-driver/mysql takes. Missing tables are made.
	Database     string
	RelayStopped bool          // begin with the relay stopped
	Retention    time.Duration // for how long sent outbox rows are kept; 0 means DefaultRetention
}

// DefaultRetention is for how long sent outbox rows are kept: long enough to look
// into what was sent yesterday.
const DefaultRetention = 24 * time.Hour

// Billing is the whole system: its producer, its relay, its consumer and their
// switches.
type Billing struct {
	db         *database
	producer   *producer
	relay      *relay
	consumer   *consumer
	topology   Topology
	switches   *switches
	shop       *Shop
	counts     *counts
	management management
	log        *slog.Logger
}

// counts is what has happened since the start.
type counts struct {
	published  atomic.Int64 // order messages confirmed by the broker, duplicates included
	invoiced   atomic.Int64
	duplicates atomic.Int64 // deliveries of an order that had its invoice already
	failed     atomic.Int64 // attempts that failed
	parked     atomic.Int64
}

// NewBilling checks the options and connects nothing.
func NewBilling(o Options, log *slog.Logger) (*Billing, error) {
	if err := o.Traffic.Validate(); err != nil {
		return nil, err
	}
	b := broker{o.AMQP, o.Vhost}
	if err := b.validate(); err != nil {
		return nil, err
	}
	if o.Topology.Wait < 0 {
		return nil, errors.New("wait must not be negative")
	}
	if err := o.Topology.Mode.validate(); err != nil {
		return nil, err
	}
	api, err := newManagement(o.Management, b.vhostName())
	if err != nil {
		return nil, err
	}
	if o.Topology.Policies && api.api == nil {
		return nil, errors.New("policies need the address of the management API")
	}
	if o.Retention < 0 {
		return nil, errors.New("the retention must not be negative")
	}
	db, err := openDatabase(o.Database)
	if err != nil {
		return nil, err
	}
	var (
		s = newSwitches(o.Traffic, o.Fixed, o.RelayStopped)
		c = new(counts)
	)
	return &Billing{
		db:       db,
		producer: &producer{topology: o.Topology, db: db, switches: s, log: log},
		relay: &relay{
			broker: b, topology: o.Topology, db: db, switches: s, counts: c, log: log,
			retention: cmp.Or(o.Retention, DefaultRetention),
		},
		consumer: &consumer{
			broker: b, topology: o.Topology, handler: &handler{o.Topology, s, c, db}, counts: c, log: log,
			failures: newRecent[failure](explained),
		},
		topology: o.Topology, switches: s, shop: o.Shop, counts: c, management: api, log: log,
	}, nil
}

// Run works until ctx ends, and then returns nil; it can't run again. A broker or
// a database that is away is waited for; a topology that exists with other
// settings is an error.
func (b *Billing) Run(ctx context.Context) error {
	defer b.db.close()
	if err := keep(ctx, b.log, "database", b.db.migrate); err != nil {
		return err
	}
	if b.topology.Policies {
		if err := keep(ctx, b.log, "policies", b.setPolicies); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.producer.run(ctx) })
	g.Go(func() error { return b.relay.run(ctx) })
	g.Go(func() error { return b.consumer.run(ctx) })
	return g.Wait()
}
