package handlers

import (
	"context"
	"slices"

	"parkade"
	"parkade/config"
	"parkade/views"
)

// queueRows joins what drains know with what is stored: every queue that is
// drained, was, or could be, those that need somebody first.
func queueRows(ctx context.Context, d Deps) ([]views.QueueRow, error) {
	counters, err := d.Store.Counters(ctx)
	if err != nil {
		return nil, err
	}
	oldest, err := d.Store.Oldest(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := d.Store.Wanted(ctx)
	if err != nil {
		return nil, err
	}
	var rows []views.QueueRow
	at := map[parkade.Queue]int{}
	row := func(one parkade.Drain) *views.QueueRow {
		i, ok := at[one.Queue]
		if !ok {
			i = len(rows)
			at[one.Queue] = i
			rows = append(rows, views.QueueRow{Drain: one, Known: isConfigured(d.Config(), one.Queue.Broker), Oldest: oldest[one.Queue]})
		}
		return &rows[i]
	}
	for _, one := range d.Drains.Drains() {
		row(one)
	}
	idle := func(q parkade.Queue) *views.QueueRow {
		return row(parkade.Drain{Queue: q, Phase: parkade.Offered, Left: -1})
	}
	for _, n := range counters {
		r := idle(n.Queue)
		if n.State.Undecided() {
			r.Parked += n.Messages
		}
		if n.State == parkade.InDoubt {
			r.InDoubt += n.Messages
		}
		r.Stored += n.Messages
	}
	for _, w := range wanted {
		if _, ok := at[w.Queue]; !ok && w.Wanted == "" {
			continue // nothing is left of it, here or there
		}
		c := &idle(w.Queue).Consented
		c.Wanted, c.By, c.At, c.Why, c.InSpite = w.Wanted, w.By, w.At, w.Why, w.Accepted
	}
	return rows, nil
}

func isConfigured(c *config.Config, broker string) bool {
	return slices.ContainsFunc(c.Brokers, func(b config.Broker) bool { return b.Name == broker })
}

func brokerNames(c *config.Config) []string {
	names := make([]string, len(c.Brokers))
	for i, b := range c.Brokers {
		names[i] = b.Name
	}
	return names
}

// rowOf returns the row of one queue, which may be one that nobody knows.
func rowOf(ctx context.Context, d Deps, q parkade.Queue) (row views.QueueRow, known bool, err error) {
	rows, err := queueRows(ctx, d)
	if err != nil {
		return row, false, err
	}
	i := slices.IndexFunc(rows, func(r views.QueueRow) bool { return r.Queue == q })
	if i < 0 {
		idle := parkade.Drain{Queue: q, Phase: parkade.Offered, Left: -1}
		return views.QueueRow{Drain: idle, Known: isConfigured(d.Config(), q.Broker)}, false, nil
	}
	return rows[i], true, nil
}
