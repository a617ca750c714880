package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
	"parkade/views"
)

type queuePages struct{ Deps }

func (h queuePages) list(c echo.Context) error {
	rows, err := queueRows(c.Request().Context(), h.Deps)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.QueuesPage(views.Queues{
		Shell: shell(c, h.Deps), Rows: rows, Brokers: brokerNames(h.Config()), Patterns: parkade.LikelyParking(),
	}))
}

// queueParam reads which queue a request is about. In forms, what is typed stands
// in the body and the rest may stand in either.
func queueParam(c echo.Context) (parkade.Queue, error) {
	q := parkade.Queue{Broker: c.FormValue("broker"), Vhost: c.FormValue("vhost"), Name: c.FormValue("name")}
	for _, f := range [][2]string{{"broker", q.Broker}, {"vhost", q.Vhost}, {"name", q.Name}} {
		if f[1] == "" {
			return q, parkade.Errorf(parkade.Invalid, "Say which queue: the %s is missing.", f[0]).At(f[0])
		}
	}
	return q, nil
}

func (h queuePages) one(c echo.Context) error {
	ctx := c.Request().Context()
	q, err := queueParam(c)
	if err != nil {
		return err
	}
	row, known, err := rowOf(ctx, h.Deps, q)
	if err != nil {
		return err
	}
	if !known && !row.Known {
		return parkade.Errorf(parkade.NotFound, "There is no broker called %q in the configuration, and nothing of such a queue is stored here.", q.Broker)
	}
	page := views.QueuePage{Shell: shell(c, h.Deps), QueueRow: row, Policy: h.policyWords(q)}
	page.Path = "/queues"
	if row.Known {
		if page.Facts, page.Checked, err = h.Drains.Preflight(ctx, q); err != nil {
			return err
		}
	}
	if page.Stored, err = h.stored(c, q); err != nil {
		return err
	}
	if page.Actions, err = h.Store.Actions(ctx, store.ActionFilter{Queue: &q}, 0, few); err != nil {
		return err
	}
	return render(c, http.StatusOK, views.QueueOnePage(page))
}

// stored counts the messages of a queue by state, undecided ones first.
func (h queuePages) stored(c echo.Context, q parkade.Queue) ([]views.StateCount, error) {
	counters, err := h.Store.Counters(c.Request().Context())
	if err != nil {
		return nil, err
	}
	var all []views.StateCount
	for _, state := range parkade.States() {
		for _, n := range counters {
			if n.Queue == q && n.State == state {
				all = append(all, views.StateCount{State: state, Messages: n.Messages, Bytes: n.Bytes, Copies: n.Copies})
			}
		}
	}
	return all, nil
}
