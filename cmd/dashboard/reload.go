package main

import (
	"context"
	"log/slog"
	"os"
	"slices"

	"parkade/config"
)

// reload reads the configuration again whenever it is told to, and applies what
// can change while the program runs. A bad one changes nothing.
func reload(ctx context.Context, told <-chan os.Signal, src config.Source, log *slog.Logger, apply func(*config.Config), current func() *config.Config) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
		}
		next, err := config.Load(src)
		if err != nil {
			log.Error("the configuration was not reloaded, the old one stays", "err", err)
			continue
		}
		merged, waiting := merge(current(), next)
		apply(merged)
		log.Info("configuration reloaded", "needs_restart", waiting)
	}
}

// merge returns the configuration that holds from now on: next, but for what was
// opened with old. It names what waits for a restart.
func merge(old, next *config.Config) (*config.Config, []string) {
	merged := *next
	waiting := []string{}
	keep := func(same bool, name string, restore func()) {
		if !same {
			waiting = append(waiting, name)
			restore()
		}
	}
	keep(old.Listen == next.Listen, "listen", func() { merged.Listen = old.Listen })
	keep(old.Database == next.Database, "database", func() { merged.Database = old.Database })
	keep(old.Retention == next.Retention, "retention", func() { merged.Retention = old.Retention })

	merged.Brokers = make([]config.Broker, len(old.Brokers))
	sameBrokers := len(old.Brokers) == len(next.Brokers)
	for i, b := range old.Brokers {
		merged.Brokers[i] = b
		at := slices.IndexFunc(next.Brokers, func(n config.Broker) bool { return n.Name == b.Name })
		if at < 0 {
			sameBrokers = false
			continue
		}
		n := next.Brokers[at]
		merged.Brokers[i].Parking = n.Parking
		sameBrokers = sameBrokers && n.AMQP == b.AMQP && n.Management == b.Management
	}
	keep(sameBrokers, "brokers", func() {})
	return &merged, waiting
}
