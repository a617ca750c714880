package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parkade"
	"parkade/broker"
	"parkade/config"
	"parkade/store"
)

type checkCommand struct{}

// checkWithin bounds how long one broker is waited for.
const checkWithin = 20 * time.Second

// Run says of everything that the configuration names whether it works. Faults
// are what would keep the dashboard from doing what the file says.
func (checkCommand) Run(i *invocation) error {
	c, err := config.Load(i.source)
	if err != nil {
		return err
	}
	r := &report{out: i.out}
	r.say(true, "configuration", c.File+" is valid")
	for _, sentence := range c.Unused() {
		r.note("configuration", sentence)
	}
	r.folder(c.Database)
	id, err := store.IDOf(i.ctx, c.Database) // its own drains are no strangers
	if err != nil {
		r.say(false, "store", c.Database+" is no store that can be read")
	}
	brokers, err := newRabbits(c, id, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer brokers.close()
	for _, b := range c.Brokers {
		ctx, cancel := context.WithTimeout(i.ctx, checkWithin)
		r.broker(ctx, brokers[b.Name], b)
		cancel()
	}
	if r.faults > 0 {
		return fmt.Errorf("%d %w", r.faults, errFaults)
	}
	return nil
}

// report writes one line for each thing that was looked at.
type report struct {
	out    io.Writer
	faults int
}

func (r *report) say(ok bool, what, text string) {
	word := "ok"
	if !ok {
		word = "fault"
		r.faults++
	}
	fmt.Fprintf(r.out, "%-6s %s: %s\n", word, what, text)
}

func (r *report) note(what, text string) { fmt.Fprintf(r.out, "%-6s %s: %s\n", "note", what, text) }

func (r *report) folder(database string) {
	folder := filepath.Dir(database)
	info, err := os.Stat(folder)
	switch {
	case err != nil || !info.IsDir():
		r.say(false, "store", "there is no folder "+folder)
	default:
		r.say(true, "store", "would be at "+database)
	}
}

func (r *report) broker(ctx context.Context, b *broker.Broker, c config.Broker) {
	version, err := b.Version(ctx)
	if err != nil {
		r.say(false, c.Name+" management", explain(err))
	} else {
		r.say(true, c.Name+" management", "RabbitMQ "+version+" at "+c.Management.String())
	}
	seen := map[string]bool{}
	for _, p := range append([]config.Parking{}, c.Parking...) {
		seen[p.Vhost] = true
	}
	if len(seen) == 0 {
		seen["/"] = true
	}
	for vhost := range seen {
		p, err := b.OpenPublisher(ctx, vhost, "check")
		if err != nil {
			r.say(false, c.Name+" amqp", explain(err))
			continue
		}
		p.Close()
		r.say(true, c.Name+" amqp", "vhost "+vhost+" at "+c.AMQP.String())
	}
	for _, p := range c.Parking {
		if !strings.ContainsAny(p.Queue, "*?[") {
			r.queue(ctx, b, p)
		}
	}
}

// queue says what a preflight finds. What keeps a queue that is to be drained by
// itself from being drained is a fault.
func (r *report) queue(ctx context.Context, b *broker.Broker, p config.Parking) {
	what := b.Name() + " " + p.Vhost + " " + p.Queue
	facts, err := b.Facts(ctx, p.Vhost, p.Queue)
	if err != nil {
		r.say(false, what, explain(err))
		return
	}
	findings := parkade.Preflight(facts)
	for _, f := range findings {
		text := strings.TrimSpace(f.Text + " " + f.Remedy)
		if p.Auto && (f.Verdict == parkade.Refuse || f.Verdict == parkade.Ask) {
			r.say(false, what, text)
		} else {
			r.note(what, text)
		}
	}
	if len(findings) == 0 {
		r.say(true, what, "can be drained")
	}
}

func explain(err error) string {
	if kind, text := parkade.Explain(err); kind != parkade.Internal {
		return text
	}
	return err.Error()
}
