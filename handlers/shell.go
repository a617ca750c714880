package handlers

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
	"parkade/views"
)

// asked is how often a broker is asked something, at least: what is three times as
// old is stale.
const asked = 30 * time.Second

// shell gathers what stands round every page. A figure that can't be read is
// trouble to be shown, and never a reason to show no page.
func shell(c echo.Context, d Deps) views.Shell {
	ctx := c.Request().Context()
	s := views.Shell{
		Path: c.Path(), Now: d.Now(), Version: d.Version, Actor: actor(c), Search: c.QueryParam("q"), Seen: seen(d),
	}
	drains := d.Drains.Drains()
	for _, one := range drains {
		if one.Running() {
			s.Drained++
		}
		if one.Phase == parkade.Stopped || one.Phase == parkade.Held {
			s.Failing++
		}
	}
	for _, b := range d.Config().Brokers {
		heard := d.Drains.Heard(b.Name)
		source := views.Source{Name: b.Name, State: views.OK, Word: "OK", At: heard.At}
		if heard.Trouble != "" || (parkade.Reading{At: heard.At}).Stale(s.Now, asked) {
			source.State, source.Word = views.Stale, "Stale"
		}
		s.Sources = append(s.Sources, source)
		if heard.Trouble != "" {
			s.Trouble = append(s.Trouble, views.Trouble{State: views.Warn, What: "The broker " + b.Name + " doesn’t answer.", Means: heard.Trouble})
		}
	}
	if err := shellOfStore(ctx, d.Store, &s); err != nil {
		_, why := parkade.Explain(err)
		s.Trouble = append(s.Trouble, views.Trouble{State: views.Bad, What: "The store can't be read.", Means: why})
		s.Sources = append(s.Sources, views.Source{Name: "store", State: views.Bad, Word: "Critical", Text: "not readable"})
	}
	return s
}

func shellOfStore(ctx context.Context, st *store.Store, s *views.Shell) error {
	counters, err := st.Counters(ctx)
	if err != nil {
		return err
	}
	for _, n := range counters {
		if n.State.Undecided() {
			s.Undecided += n.Messages
		}
		if n.State == parkade.InDoubt {
			s.InDoubt += n.Messages
		}
	}
	active, err := st.Active(ctx)
	if err != nil {
		return err
	}
	s.Active = int64(len(active))
	for _, o := range active {
		if o.State == parkade.Paused || o.State == parkade.Interrupted {
			s.Halted++
		}
	}
	brake, err := st.Brake(ctx)
	if err != nil {
		return err
	}
	s.Brake = views.Brake{On: brake.On, By: brake.By, Why: brake.Why, Since: brake.Since}
	stats, err := st.Stats(ctx)
	if err != nil {
		return err
	}
	source := views.Source{Name: "store", State: views.OK, Word: "OK", Text: views.Size(stats.FreeDisk) + " free"}
	if stats.Warning != "" {
		source.State, source.Word = views.Warn, "Warning"
		s.Trouble = append(s.Trouble, views.Trouble{State: views.Bad, What: "The store isn't safe where it is.", Means: stats.Warning})
	}
	s.Sources = append(s.Sources, source)
	slices.SortStableFunc(s.Trouble, func(a, b views.Trouble) int { return cmp.Compare(a.State, b.State) })
	return nil
}
