package replay

import (
	"context"
	"fmt"

	"parkade"
)

// group returns the group of a message. What it decides holds for all of it.
func (d *drawing) group(ctx context.Context, m parkade.Message) (*Group, error) {
	topo := d.topos.get(ctx, place{m.Queue.Broker, m.Queue.Vhost})
	key := groupKey{queue: m.Queue, known: m.Origin != nil}
	if m.Origin != nil {
		key.origin = *m.Origin
	}
	var content parkade.Content
	var err error
	if byHeaders(topo) {
		if content, err = d.content(ctx, m); err != nil {
			return nil, err
		}
		key.headers = fmt.Sprint(content.Headers.Without("x-death"))
	}
	if g, ok := d.groups[key]; ok {
		return g, nil
	}
	g := &Group{Queue: m.Queue, Origin: m.Origin, Example: m.ID, example: m}
	d.groups[key] = g
	d.order = append(d.order, g)
	return g, d.decide(ctx, g, content, topo)
}

// decide finds the choices of a group and takes the one that the request, the
// configuration or safety says.
func (d *drawing) decide(ctx context.Context, g *Group, c parkade.Content, topo *parkade.Topology) error {
	rule := d.rule(g.Queue)
	fallback := g.Origin == nil && rule.Fallback != (parkade.Target{})
	if g.Origin == nil && !fallback {
		guess, err := d.sibling(ctx, g.Queue)
		if err != nil {
			return err
		}
		g.Origin, g.Guess = guess, guess != nil
	}
	g.Choices = parkade.Choices(g.Origin, g.Guess, c, topo)
	if fallback {
		configured := check(topo, rule.Fallback, "", c.Headers)
		configured.Default = configured.Blocked == ""
		g.Choices = []parkade.Choice{configured}
	}
	d.addPrivate(ctx, g, c, topo)
	chosen := d.choose(ctx, g, rule.To, c, topo)
	switch {
	case chosen == nil && g.Guess:
		g.Why = "Nothing in it tells where it came from. Choose a target; what most others of its queue had is offered as a guess."
	case chosen == nil && g.Origin == nil:
		g.Why = "Nothing in it tells where it came from. Choose a target."
	case chosen == nil && topo == nil:
		g.Why = "The broker's bindings can't be read, so no target can be checked. Choose one."
	case chosen == nil:
		g.Why = "No target is safe by itself. Choose one."
	case chosen.Blocked != "":
		g.Why = chosen.Blocked
	default:
		g.Chosen = chosen
	}
	return nil
}

// choose returns the choice that is taken; nil when a person has to.
func (d *drawing) choose(ctx context.Context, g *Group, prefer parkade.To, c parkade.Content, topo *parkade.Topology) *parkade.Choice {
	t := d.request.Target
	switch {
	case t.To == parkade.ToExchange && (t.Exchange != "" || t.RoutingKey != ""), t.To == parkade.ToQueue && t.Queue != "":
		named := check(topo, t, failed(g), c.Headers)
		d.permit(ctx, g.Queue, &named, true)
		return &named
	case t.To == parkade.ToExchange, t.To == parkade.ToQueue:
		if g.Guess {
			return nil // a guess is confirmed by naming it
		}
		choice := own(g, t)
		if choice != nil {
			d.permit(ctx, g.Queue, choice, true)
		}
		return choice
	}
	if prefer == parkade.ToExchange || prefer == parkade.ToQueue {
		if choice := own(g, parkade.Target{To: prefer}); choice != nil && choice.Blocked == "" && !g.Guess {
			return choice
		}
	}
	for i := range g.Choices {
		if g.Choices[i].Default {
			return &g.Choices[i]
		}
	}
	return nil
}

// own returns the group's own way through its exchange, or into its queue: straight,
// or by an exchange of ours.
func own(g *Group, t parkade.Target) *parkade.Choice {
	for i := range g.Choices {
		if own := g.Choices[i].Target; own.To == t.To && own.Private() == t.Private() {
			return &g.Choices[i]
		}
	}
	return nil
}

// check says what would follow from a target that somebody named.
func check(topo *parkade.Topology, t parkade.Target, failed string, headers parkade.Table) parkade.Choice {
	if topo == nil {
		return parkade.Choice{Target: t, Warnings: []string{"Not checked: the broker's bindings can't be read, so which queues this reaches isn't known."}}
	}
	return topo.Check(t, failed, headers)
}

func failed(g *Group) string {
	if g.Origin == nil || g.Guess {
		return ""
	}
	return g.Origin.Queue
}

// sibling returns the origin that most other messages of the queue have.
func (d *drawing) sibling(ctx context.Context, q parkade.Queue) (*parkade.Origin, error) {
	if o, ok := d.siblings[q]; ok {
		return o, nil
	}
	all, err := d.store.SiblingOrigins(ctx, q)
	if err != nil {
		return nil, err
	}
	var most *parkade.Origin
	if len(all) > 0 {
		most = &all[0].Origin
	}
	d.siblings[q] = most
	return most, nil
}
