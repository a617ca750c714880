package replay

import (
	"context"
	"sync"
	"time"

	"parkade"
)

// addPrivate adds the way into the failed queue by an exchange of ours.
func (d *drawing) addPrivate(ctx context.Context, g *Group, c parkade.Content, topo *parkade.Topology) {
	if d.topos.brokers[g.Queue.Broker].MayBind == nil {
		return
	}
	way, ok := parkade.PrivateChoice(g.Origin, g.Guess, c, topo)
	if !ok {
		return
	}
	d.permit(ctx, g.Queue, &way, false)
	g.Choices = append(g.Choices, way)
}

// permit blocks a way by an exchange of ours that the login may not take. Where
// that isn't known it is tried once somebody takes that way.
func (d *drawing) permit(ctx context.Context, parking parkade.Queue, c *parkade.Choice, taken bool) {
	if !c.Target.Private() || c.Blocked != "" {
		return
	}
	b := d.topos.brokers[parking.Broker]
	if b.MayBind == nil {
		c.Blocked = "Exchanges of ours can't be used here."
		return
	}
	const unsure = "Whether the login may bind an exchange of ours to that queue isn't known before it is tried, which happens when you choose this."
	why, known := d.topos.mayBind(ctx, b, parking, c.Target.Queue, taken)
	c.Warnings = without(c.Warnings, unsure)
	switch {
	case known:
		c.Blocked = why
	case taken:
		c.Blocked = "Whether the login may bind an exchange of ours to that queue can't be found out: the broker doesn't answer."
	default:
		c.Warnings = append(c.Warnings, unsure)
	}
}

func without(all []string, one string) []string {
	var kept []string
	for _, s := range all {
		if s != one {
			kept = append(kept, s)
		}
	}
	return kept
}

// into is the queue that an exchange of ours has to lead to for a target, or "".
func into(t parkade.Target) string {
	if t.Private() {
		return t.Queue
	}
	return ""
}

// mayFor is how long what a login may do is taken for true.
const mayFor = time.Minute

// permission is what is known of one queue.
type permission struct {
	at    time.Time
	why   string
	known bool
	tried bool
}

// mayBind asks the broker, or remembers what it said a moment ago.
func (t *topologies) mayBind(ctx context.Context, b Broker, parking parkade.Queue, queue string, try bool) (string, bool) {
	key := parkade.Queue{Broker: parking.Broker, Vhost: parking.Vhost, Name: queue}
	t.mu.Lock()
	p, ok := t.may[key]
	t.mu.Unlock()
	if ok && t.now().Sub(p.at) < mayFor && (p.known || p.tried || !try) {
		return p.why, p.known
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	p = permission{at: t.now(), tried: try}
	p.why, p.known = b.MayBind(ctx, parking.Vhost, queue, try)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.may == nil {
		t.may = make(map[parkade.Queue]permission)
	}
	t.may[key] = p
	return p.why, p.known
}

// tidyAgain is after how long it is tried again to remove what couldn't be.
const tidyAgain = 30 * time.Second

// tidy removes the exchanges of ours that operations have left behind when they
// ended, also those of an earlier process. Runner.mu is held.
func (r *Runner) tidy(ctx context.Context, all *sync.WaitGroup) {
	if r.tidying || time.Now().Before(r.tidyAfter) {
		return
	}
	r.tidying = true
	all.Go(func() {
		done := r.removeLeftovers(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		pause := time.Second // operations change often, and rarely end
		if !done {
			pause = tidyAgain
		}
		r.tidying, r.tidyAfter = false, time.Now().Add(pause)
	})
}

// removeLeftovers reports whether nothing is left, as far as brokers are configured.
func (r *Runner) removeLeftovers(ctx context.Context) bool {
	left, err := r.store.Leftovers(ctx)
	done := err == nil
	for _, v := range left {
		b, ok := r.brokers[v.Broker]
		if !ok || b.RemoveExchange == nil {
			continue
		}
		if err := b.RemoveExchange(ctx, v.Vhost, v.Name); err != nil {
			if ctx.Err() == nil {
				r.log.Warn("an exchange of ours can't be removed yet", "operation", v.Operation, "exchange", v.Name, "err", err, "retry_in", tidyAgain)
			}
			done = false
			continue
		}
		if err := r.store.Removed(ctx, v); err != nil {
			done = false
		}
	}
	return done
}
