package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"parkade"
	"parkade/config"
	"parkade/drain"
	"parkade/handlers"
	"parkade/replay"
	"parkade/store"
	"parkade/web"
)

type serveCommand struct{}

// Run wires the program and works until its context ends or a part of it fails
// for good. What is opened first is closed last.
func (serveCommand) Run(i *invocation) error {
	ctx := i.ctx
	// Caught from the start on: a reload that comes too early must not end the program.
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	defer signal.Stop(reloads)

	first, err := config.Load(i.source)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(i.logs, nil))
	for _, sentence := range first.Unused() {
		log.Warn("configuration is ahead of this version", "what", sentence)
	}
	if first.OpenListen() && first.Auth.Mode == "none" {
		log.Warn("whoever reaches this address may read, replay and discard messages", "listen", first.Listen)
	}
	var current atomic.Pointer[config.Config]
	current.Store(first)

	st, err := store.Open(ctx, first.Database, store.Options{
		Log: log, Retention: store.Retention{Discarded: first.Retention.Discarded, Closed: first.Retention.Closed},
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := st.Close(); err != nil {
			log.Error("closing the store", "err", err)
		}
	}()
	brokers, err := newRabbits(first, st.ID(), log)
	if err != nil {
		return err
	}
	defer brokers.close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", first.Listen)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", first.Listen, err)
	}

	g, ctx := errgroup.WithContext(ctx)
	sends := brokers.forReplays()
	drains := drain.New(drain.Options{Store: st, Brokers: brokers.forDrains(), Rules: drainRules(first), Clock: time.Now, Log: log})
	for name, b := range sends {
		b.Quiet = drains.Quiet
		sends[name] = b
	}
	runner := replay.NewRunner(st, sends, log)
	planner := replay.NewPlanner(st, sends, func(q parkade.Queue) replay.Rule { return replayRule(current.Load(), q) }, time.Now)
	site := web.New(handlers.Deps{
		Store: st, Drains: drains, Planner: planner, Runner: runner, Config: current.Load, Now: time.Now, Version: version, Closing: ctx,
	}, log)

	g.Go(func() error { return drains.Run(ctx) })
	g.Go(func() error { return runner.Run(ctx) })
	g.Go(func() error { return web.Serve(ctx, listener, site, log) })
	g.Go(func() error { sweep(ctx, st, sweepEvery, log); return nil })
	g.Go(func() error {
		reload(ctx, reloads, i.source, log, func(c *config.Config) {
			current.Store(c)
			drains.Configure(drainRules(c))
		}, current.Load)
		return nil
	})
	log.Info("answering", "address", "http://"+listener.Addr().String()+first.Base()+"/", "version", version)
	err = g.Wait()
	log.Info("stopped")
	return err
}

// sweepEvery is how often messages whose retention ended are removed.
const sweepEvery = 10 * time.Minute

// sweep removes them at once, and then again after every interval.
func sweep(ctx context.Context, st *store.Store, every time.Duration, log *slog.Logger) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		n, err := st.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			log.Error("removing messages whose retention ended", "err", err)
		}
		if n > 0 {
			log.Info("removed messages whose retention ended", "messages", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
