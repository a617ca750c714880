package replay

import (
	"context"
	"slices"

	"parkade"
	"parkade/store"
)

// sampled is how many messages stand for all of a filter while somebody looks.
const sampled = 1000

// Look works out what r would do as far as a page shows it. Of a filter that matches
// many it plans only the newest, so that looking costs the same however many there
// are, and says in Of how many match. It changes nothing.
func (p *Planner) Look(ctx context.Context, r Request) (Plan, error) {
	if r.Filter == nil {
		return p.Plan(ctx, r)
	}
	ids, of, err := p.newest(ctx, *r.Filter, r.states())
	switch {
	case err != nil:
		return Plan{}, err
	case of > most:
		return Plan{}, tooMany()
	case of <= sampled:
		return p.Plan(ctx, r)
	}
	messages, hash, err := p.store.Selection(ctx, ids)
	if err != nil {
		return Plan{}, err
	}
	plan, err := p.plan(ctx, r, messages, hash)
	plan.Of = of
	return plan, err
}

// newest returns the newest messages of a filter that are in one of states, and how
// many there are, both as of one moment.
func (p *Planner) newest(ctx context.Context, f parkade.Filter, states []parkade.State) (ids []parkade.MessageID, of int64, err error) {
	err = p.store.View(ctx, func(v store.View) error {
		for _, state := range states {
			if f.State != "" && f.State != state {
				continue
			}
			one := f
			one.State = state
			n, _, err := v.Count(ctx, one, 0)
			if err != nil {
				return err
			}
			of += n
			page := parkade.Page{Limit: sampled}
			for more, read := true, 0; more && read < sampled; {
				var ms []parkade.Message
				if ms, more, err = v.Messages(ctx, one, page); err != nil {
					return err
				}
				for _, m := range ms {
					ids = append(ids, m.ID)
					page.Before = m.ID
				}
				read += len(ms)
			}
		}
		return nil
	})
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids[:min(len(ids), sampled)], of, err
}
