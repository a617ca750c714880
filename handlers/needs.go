package handlers

import (
	"net/url"
	"slices"
	"strings"

	"parkade"
	"parkade/store"
	"parkade/views"
)

// needs lists what waits for somebody: critical things first, then warnings, then
// what isn't known.
func needs(d Deps, s views.Shell, rows []views.QueueRow, active []parkade.Operation, stats store.Stats) []views.Need {
	silent := map[string]bool{}
	var all []views.Need
	for _, b := range d.Config().Brokers {
		if n, ok := brokerNeed(d, b.Name); ok {
			silent[b.Name] = true
			all = append(all, n)
		}
	}
	for _, r := range rows {
		waits := r.Phase == parkade.Waiting || r.Phase == parkade.Connecting
		if n, ok := drainNeed(r); ok && (!waits || !silent[r.Queue.Broker]) {
			all = append(all, n)
		}
	}
	if n, ok := diskNeed(stats); ok {
		all = append(all, n)
	}
	if s.Brake.On {
		all = append(all, brakeNeed(s.Brake))
	}
	if s.InDoubt > 0 {
		all = append(all, doubtNeed(s.InDoubt))
	}
	for _, o := range active {
		if o.State == parkade.Paused || o.State == parkade.Interrupted {
			all = append(all, haltedNeed(o))
		}
	}
	order := []views.State{views.Bad, views.Warn, views.Stale}
	slices.SortStableFunc(all, func(a, b views.Need) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	return all
}

// brokerNeed is a broker that doesn't answer.
func brokerNeed(d Deps, name string) (views.Need, bool) {
	heard := d.Drains.Heard(name)
	if heard.Trouble == "" {
		return views.Need{}, false
	}
	n := views.Need{
		ID: "need-broker-" + url.QueryEscape(name), State: views.Stale, Name: name, Title: "doesn't answer", Path: "/queues",
		Text: []string{heard.Trouble, "Its figures are the last known ones, and what is Ready there isn't known. What is stored here is safe and can be read."},
	}
	if heard.At.IsZero() {
		n.Facts = []views.Fact{{Name: "Last answer", Value: "none since the start"}}
	} else {
		n.Facts = []views.Fact{{Name: "Silent for", Since: heard.At}}
	}
	return n, true
}

// drainNeed is a drain that needs somebody, or doesn't get on.
func drainNeed(r views.QueueRow) (views.Need, bool) {
	n := views.Need{
		ID: "need-" + views.QueueAnchor(r.Queue), Name: r.Queue.Name, Path: views.QueuePath(r.Queue),
		Text: nonEmpty(r.Why, r.Remedy), Facts: []views.Fact{{Name: "Since", Since: r.Since}},
	}
	look := &views.NeedAction{Path: views.QueuePath(r.Queue), Label: "Open the queue"}
	switch r.Phase {
	case parkade.Stopped:
		n.State, n.Title, n.Action = views.Bad, "isn't drained: it stopped itself", look
		if parkade.Worst(r.Findings) == parkade.Refuse {
			n.Title = "isn't drained: refused by the preflight"
			break
		}
		n.Action = &views.NeedAction{Path: views.StartPath(r.Queue), Icon: "player-play", Label: "Drain " + r.Queue.Name + " → this store…", Sheet: true}
		n.Quiet = look
	case parkade.Held:
		n.State, n.Title, n.Action = views.Bad, "isn't drained: the store can't take its messages", look
		if r.Holding > 0 {
			n.Title = "holds " + views.Count(r.Holding, "message", "messages") + " that can't be stored"
		}
	case parkade.Waiting:
		n.State, n.Title, n.Action = views.Warn, "isn't drained now", look
		if !r.Until.IsZero() {
			n.Facts = append(n.Facts, views.Fact{Name: "Next try", Until: r.Until})
		}
	case parkade.Connecting:
		if r.Why == "" {
			return n, false
		}
		n.State, n.Title, n.Action = views.Warn, "isn't drained yet: it is connecting", look
	case parkade.Offered, parkade.Listening, parkade.Draining, parkade.PausedHere:
		return n, false
	}
	if r.Ready.Known() {
		n.Facts = append(n.Facts, views.Fact{Name: "Ready", Value: views.Number(r.Ready.Value)}, views.Fact{Name: "As of", Since: r.Ready.At})
	}
	return n, true
}

// diskNeed is a disk with little room. Drains stop below a twentieth, or 1 GiB.
func diskNeed(s store.Stats) (views.Need, bool) {
	least := max(1<<30, s.TotalDisk/20)
	if s.FreeDisk >= 2*least {
		return views.Need{}, false
	}
	n := views.Need{
		ID: "need-disk", State: views.Warn, Title: "The disk of the store is filling up", Path: "/settings",
		Text: []string{"Draining stops when less than " + views.Size(least) + " is free. Nothing is lost then: messages wait in RabbitMQ."},
		Facts: []views.Fact{
			{Name: "Free", Value: views.Size(s.FreeDisk)}, {Name: "Disk", Value: views.Size(s.TotalDisk)}, {Name: "Store", Value: views.Size(s.Bytes + s.WAL)},
		},
	}
	if s.FreeDisk < least {
		n.State, n.Title = views.Bad, "The disk of the store is full: nothing is drained"
		n.Text = []string{"Draining needs " + views.Size(least) + " free. Nothing is acknowledged and nothing is lost: messages wait in RabbitMQ. Make room on that disk."}
	}
	return n, true
}

func brakeNeed(b views.Brake) views.Need {
	return views.Need{
		ID: "need-brake", State: views.Warn, Title: "The brake is on: nothing is drained", Path: "/drains/brake",
		Text:   nonEmpty(b.By+" stopped all draining. What arrives waits in RabbitMQ.", quoted(b.Why)),
		Facts:  []views.Fact{{Name: "Since", Since: b.Since}},
		Action: &views.NeedAction{Path: "/drains/brake", Icon: "player-play", Label: "Release the brake…", Sheet: true},
	}
}

func doubtNeed(n int64) views.Need {
	path := "/messages?" + parkade.Filter{State: parkade.InDoubt}.Query().Encode()
	return views.Need{
		ID: "need-doubt", State: views.Warn, Title: views.Count(n, "message is in doubt", "messages are in doubt"), Path: path,
		Text:   []string{"They were sent, and no answer came: they may or may not have arrived. Nothing sends them again unless somebody decides."},
		Action: &views.NeedAction{Path: path, Label: "Look at " + views.Number(n) + " in doubt"},
	}
}

func haltedNeed(o parkade.Operation) views.Need {
	path := "/operations/" + o.ID.String()
	left := views.Count(o.Left, "of its messages was not sent; it holds it", "of its messages were not sent; it holds them") + " until it is resumed or cancelled."
	n := views.Need{
		ID: "need-operation-" + o.ID.String(), State: views.Warn, Title: views.OperationName(o) + " is paused", Path: path,
		Text:   nonEmpty(o.Why, left),
		Facts:  []views.Fact{{Name: "Begun", Since: o.CreatedAt}, {Name: "To go", Value: views.Number(o.Left)}},
		Action: &views.NeedAction{Path: path, Label: "Open operation #" + o.ID.String()},
	}
	if o.State == parkade.Interrupted {
		n.Title = views.OperationName(o) + " was interrupted"
	}
	return n
}

func nonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" })
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "“" + s + "”"
}
