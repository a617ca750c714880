package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
	"parkade/views"
)

type overviewPage struct{ Deps }

// few is how many of the newest operations and actions the overview shows.
const few = 6

func (h overviewPage) show(c echo.Context) error {
	ctx := c.Request().Context()
	rows, err := queueRows(ctx, h.Deps)
	if err != nil {
		return err
	}
	o := views.Overview{Shell: shell(c, h.Deps), Brokers: brokerNames(h.Config())}
	for _, r := range rows {
		if r.Phase == parkade.Offered && r.Consent == parkade.NoConsent && r.Stored == 0 && r.Consented.Wanted == "" {
			o.Offers = append(o.Offers, r)
		} else {
			o.Queues = append(o.Queues, r)
		}
	}
	if o.Operations, err = h.Store.Undismissed(ctx, 0, few); err != nil {
		return err
	}
	if err = h.Store.CountUnhandled(ctx, o.Operations); err != nil {
		return err
	}
	if o.Actions, err = h.Store.Actions(ctx, store.ActionFilter{}, 0, few+2); err != nil {
		return err
	}
	active, err := h.Store.Active(ctx)
	if err != nil {
		return err
	}
	stats, err := h.Store.Stats(ctx)
	if err != nil {
		return err
	}
	o.Needs = needs(h.Deps, o.Shell, rows, active, stats)
	return render(c, http.StatusOK, views.OverviewPage(o))
}
