package web

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parkade"
	"parkade/handlers"
)

// metrics answers in the text format of Prometheus.
func metrics(d handlers.Deps, log *slog.Logger) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collector{d, log},
	)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("parkade_"+name, help, labels, nil)
}

// The metrics. Names and labels are relied on by alerts: docs/operations.md lists them.
//
//nolint:gochecknoglobals // constant descriptions
var (
	build      = desc("build_info", "1, with the version.", "version")
	messages   = desc("messages", "Messages in the store.", "broker", "vhost", "queue", "state")
	bodies     = desc("message_body_bytes", "Bytes of their bodies.", "broker", "vhost", "queue", "state")
	oldest     = desc("oldest_parked_timestamp_seconds", "When the oldest undecided message was stored.", "broker", "vhost", "queue")
	ready      = desc("queue_ready_messages", "Messages in RabbitMQ, as last measured.", "broker", "vhost", "queue")
	readyAt    = desc("queue_ready_timestamp_seconds", "When that was measured.", "broker", "vhost", "queue")
	phase      = desc("drain_phase", "1 for the phase that the drain is in.", "broker", "vhost", "queue", "phase")
	running    = desc("drain_running", "Whether the drain takes messages, or would if there were any.", "broker", "vhost", "queue")
	drained    = desc("drained_messages_total", "Messages stored since the process started.", "broker", "vhost", "queue")
	holding    = desc("drain_holding_messages", "Messages taken and not yet proven to be settled.", "broker", "vhost", "queue")
	braked     = desc("drain_brake", "Whether all draining is stopped.")
	operations = desc("operations", "Operations that have not ended.", "verb", "state")
	storeUp    = desc("store_up", "Whether the store could be read.")
	storeBytes = desc("store_bytes", "Size of the store: its file, the log beside it, and what is free inside of the file.", "part")
	diskFree   = desc("disk_free_bytes", "Free space where the store is.")
	diskTotal  = desc("disk_bytes", "Size of the file system where the store is.")
)

// collector reads all figures when they are asked for.
type collector struct {
	handlers.Deps

	log *slog.Logger
}

// Describe declares nothing, which makes the collector an unchecked one: what it
// has depends on the queues.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the figures of this moment. Where the store can't be read, it says
// that and leaves the store's figures out.
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(build, 1, c.Version)
	for _, d := range c.Drains.Drains() {
		q := []string{d.Queue.Broker, d.Queue.Vhost, d.Queue.Name}
		gauge(phase, 1, append(q, string(d.Phase))...)
		gauge(running, flag(d.Running()), q...)
		gauge(holding, float64(d.Holding), q...)
		to <- prometheus.MustNewConstMetric(drained, prometheus.CounterValue, float64(d.Drained), q...)
		if d.Ready.Known() {
			gauge(ready, float64(d.Ready.Value), q...)
			gauge(readyAt, seconds(d.Ready.At), q...)
		}
	}
	err := c.ofStore(ctx, gauge)
	if err != nil {
		c.log.ErrorContext(ctx, "metrics of the store", "err", err)
	}
	gauge(storeUp, flag(err == nil))
}

func (c collector) ofStore(ctx context.Context, gauge func(*prometheus.Desc, float64, ...string)) error {
	counters, err := c.Store.Counters(ctx)
	if err != nil {
		return err
	}
	for _, n := range counters {
		labels := []string{n.Queue.Broker, n.Queue.Vhost, n.Queue.Name, string(n.State)}
		gauge(messages, float64(n.Messages), labels...)
		gauge(bodies, float64(n.Bytes), labels...)
	}
	since, err := c.Store.Oldest(ctx)
	if err != nil {
		return err
	}
	for q, at := range since {
		gauge(oldest, seconds(at), q.Broker, q.Vhost, q.Name)
	}
	brake, err := c.Store.Brake(ctx)
	if err != nil {
		return err
	}
	gauge(braked, flag(brake.On))
	if err := c.active(ctx, gauge); err != nil {
		return err
	}
	stats, err := c.Store.Stats(ctx)
	if err != nil {
		return err
	}
	gauge(storeBytes, float64(stats.Bytes), "file")
	gauge(storeBytes, float64(stats.WAL), "log")
	gauge(storeBytes, float64(stats.Free), "free")
	gauge(diskFree, float64(stats.FreeDisk))
	gauge(diskTotal, float64(stats.TotalDisk))
	return nil
}

func (c collector) active(ctx context.Context, gauge func(*prometheus.Desc, float64, ...string)) error {
	all, err := c.Store.Active(ctx)
	if err != nil {
		return err
	}
	type kind struct {
		verb  parkade.Verb
		state parkade.OperationState
	}
	counts := map[kind]int{}
	for _, o := range all {
		counts[kind{o.Verb, o.State}]++
	}
	for k, n := range counts {
		gauge(operations, float64(n), string(k.verb), string(k.state))
	}
	return nil
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
