package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"parkade/pipeline"
)

// demoCommand runs billing and the shop. Its defaults show every kind of failure within half a
// minute.
type demoCommand struct {
	AMQP       string `name:"amqp" help:"Broker." placeholder:"URL" env:"PARKADE_AMQP_URL" default:"amqp://guest:guest@localhost:5672/"`
	Management string `help:"Management API, for policies, and for the figures of the queues: none are shown without." placeholder:"URL" env:"PARKADE_MANAGEMENT_URL"`
	Vhost      string `help:"Vhost, if not the one in the broker's URL."`
	Database   string `help:"File of an SQLite database, or postgres://..., or mariadb:user:password@tcp(host:3306)/name." env:"PIPELINE_DATABASE" default:"pipeline.db"`
	Prefix     string `help:"Put this before the name of each exchange and queue."`
	Control    string `help:"Show and switch things, and take the shop's orders, over HTTP at this address. There is no sign-in: keep it on loopback." default:"127.0.0.1:8090" placeholder:"ADDR"`

	Wait        time.Duration `help:"How long a failed order waits before it is tried again." default:"5s"`
	Retry       string        `help:"How a failed order is tried again: ${enum}. See docs/pipeline.md." enum:"waiting,graduated,delayed" default:"waiting"`
	AtLeastOnce bool          `help:"Have the broker hold on to a dead letter until its next queue has it."`
	Policies    bool          `help:"Set by policy what queues have as arguments otherwise. Needs --management."`
	Fixed       bool          `help:"Begin with the fix deployed: what fails for good without it works."`

	RelayStopped bool          `help:"Begin with the relay stopped, so that the outbox grows."`
	Retention    time.Duration `help:"For how long sent outbox rows are kept." default:"24h"`

	Rate      float64 `help:"Orders a second." default:"3"`
	Poison    float64 `help:"Per cent of orders that fail until the fix is deployed." default:"10"`
	Transient float64 `help:"Per cent of orders that fail --failures times, then work." default:"15"`
	Malformed float64 `help:"Per cent of orders that aren't JSON." default:"3"`
	NoID      float64 `name:"no-id" help:"Per cent of orders without a message id." default:"3"`
	Slow      float64 `help:"Per cent of orders that take --slow-for." default:"3"`
	Duplicate float64 `help:"Per cent of orders that are published twice." default:"3"`

	ShopVhost string        `help:"Run the shop in this vhost, which is made if need be and --management is given. Without, it runs beside billing, under the prefix shop." placeholder:"NAME"`
	ShopRate  float64       `help:"Orders a second of the shop's customers; the shares of failures are those above." default:"1"`
	ShopDelay time.Duration `help:"How long a failed order of the shop waits before it is tried again." default:"10s"`

	Failures int           `help:"How often a transient order fails." default:"2"`
	SlowFor  time.Duration `help:"How long a slow order takes." default:"1s"`
}

func (d demoCommand) options() pipeline.Options {
	return pipeline.Options{
		AMQP: d.AMQP, Vhost: d.Vhost, Management: d.Management, Fixed: d.Fixed,
		Database: d.Database, RelayStopped: d.RelayStopped, Retention: d.Retention,
		Topology: pipeline.Topology{Prefix: d.Prefix, Wait: d.Wait, Mode: pipeline.RetryMode(d.Retry), AtLeastOnce: d.AtLeastOnce, Policies: d.Policies},
		Traffic: pipeline.Traffic{
			Rate: d.Rate, Poison: d.Poison, Transient: d.Transient, Malformed: d.Malformed, NoID: d.NoID,
			Slow: d.Slow, Duplicate: d.Duplicate,
			TransientFailures: d.Failures, SlowMillis: int(d.SlowFor.Milliseconds()),
		},
	}
}

// shopOptions are the same for the shop. Its exchange has the name of billing's,
// so it needs a vhost or a prefix of its own.
func (d demoCommand) shopOptions() pipeline.ShopOptions {
	billing := d.options()
	o := pipeline.ShopOptions{
		AMQP: d.AMQP, Vhost: d.Vhost, Management: d.Management, Fixed: d.Fixed, Traffic: billing.Traffic,
		Topology: pipeline.ShopTopology{Prefix: d.Prefix, Delay: d.ShopDelay},
	}
	o.Traffic.Rate = d.ShopRate
	if d.ShopVhost == "" {
		o.Topology.Prefix += "shop."
		return o
	}
	o.Vhost, o.MakeVhost = d.ShopVhost, d.Management != ""
	return o
}

// Run works until its context ends or the topology can't be declared.
func (d demoCommand) Run(i *invocation) error {
	log := slog.New(slog.NewTextHandler(i.logs, nil))
	shop, err := pipeline.NewShop(d.shopOptions(), log)
	if err != nil {
		return err
	}
	options := d.options()
	options.Shop = shop
	billing, err := pipeline.NewBilling(options, log)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(i.ctx, "tcp", d.Control)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", d.Control, err)
	}
	g, ctx := errgroup.WithContext(i.ctx)
	g.Go(func() error { return billing.Run(ctx) })
	g.Go(func() error { return shop.Run(ctx) })
	pages := http.NewServeMux()
	pages.Handle("/", billing.Control())
	pages.Handle("POST /orders", http.NewCrossOriginProtection().Handler(shop.Front()))
	g.Go(func() error { return serve(ctx, listener, pages) })
	log.Info("control answers", "address", "http://"+listener.Addr().String()+"/")
	return g.Wait()
}

// serve answers until ctx ends, and then for as long as an answer may take.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ending) // what is still open is cut off by the end of the program
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}
