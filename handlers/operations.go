package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/views"
)

type operationPages struct{ Deps }

func (h operationPages) list(c echo.Context) error {
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	list, everything := h.Store.Undismissed, c.QueryParam("dismissed") == "yes"
	if everything {
		list = h.Store.Operations
	}
	all, err := list(c.Request().Context(), parkade.OperationID(before), defaultLimit+1)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.OperationsPage(views.Operations{
		Shell: shell(c, h.Deps), Items: all[:min(len(all), defaultLimit)], More: len(all) > defaultLimit, Before: parkade.OperationID(before), Everything: everything,
	}))
}

func (h operationPages) one(c echo.Context) error {
	ctx := c.Request().Context()
	o, err := h.read(c)
	if err != nil {
		return err
	}
	after, err := queryID(c, "after")
	if err != nil {
		return err
	}
	wait := h.Runner.Waiting(o.ID)
	v := views.OperationView{
		Shell: shell(c, h.Deps), Operation: o, WaitsFor: wait.Why, WaitsUntil: wait.Until, Outcome: c.QueryParam("outcome"), After: after,
	}
	items, err := h.Store.Items(ctx, o.ID, v.Outcome, after, defaultLimit+1)
	if err != nil {
		return err
	}
	v.More = len(items) > defaultLimit
	if v.Items, err = h.withMessages(ctx, items[:min(len(items), defaultLimit)]); err != nil {
		return err
	}
	if o.Verb == parkade.GiveBack {
		queues, err := h.Store.GaveBackTo(ctx, o.ID)
		if err != nil {
			return err
		}
		v.GaveBackTo = drainsOf(h.Deps, queues)
	}
	if v.Looks, v.MoreLooks, err = h.looks(ctx, o); err != nil {
		return err
	}
	return render(c, http.StatusOK, views.OperationPage(v))
}

// read reads the operation that the path names.
func (h operationPages) read(c echo.Context) (parkade.Operation, error) {
	id, err := pathID(c)
	if err != nil {
		return parkade.Operation{}, err
	}
	return h.Store.Operation(c.Request().Context(), parkade.OperationID(id))
}

// withMessages adds the messages of items, where they are still stored.
func (h operationPages) withMessages(ctx context.Context, items []parkade.Item) ([]views.OperationItem, error) {
	ids := make([]parkade.MessageID, len(items))
	for i, item := range items {
		ids[i] = item.Message
	}
	messages, _, err := h.Store.Selection(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[parkade.MessageID]parkade.Message, len(messages))
	for _, m := range messages {
		byID[m.ID] = m
	}
	all := make([]views.OperationItem, len(items))
	for i, item := range items {
		all[i] = views.OperationItem{Item: item, Row: byID[item.Message]}
		all[i].Row.ID = item.Message
	}
	return all, nil
}

// eachKind is how many messages of a kind that needs a look are shown.
const eachKind = 10

// looks returns the messages of an operation that need somebody, what came back
// first, and how many more there are.
func (h operationPages) looks(ctx context.Context, o parkade.Operation) (looks []views.Look, more int64, err error) {
	if looks, err = h.cameBack(ctx, o); err != nil {
		return nil, 0, err
	}
	more = max(0, o.CameBack-int64(len(looks)))
	if o.Verb == parkade.GiveBack {
		more = 0 // what is drained again was meant to be
	}
	for _, outcome := range []parkade.Outcome{parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.Unknown} {
		if o.Counts[outcome] == 0 {
			continue
		}
		items, err := h.Store.Items(ctx, o.ID, string(outcome), 0, eachKind)
		if err != nil {
			return nil, 0, err
		}
		rows, err := h.withMessages(ctx, items)
		if err != nil {
			return nil, 0, err
		}
		more += o.Counts[outcome] - int64(len(rows))
		for _, r := range rows {
			if r.Replay != nil && !r.Replay.CameBack {
				looks = append(looks, views.Look{Message: r.Row, Replay: *r.Replay})
			}
		}
	}
	return looks, max(0, more), nil
}

// cameBack returns the first messages of an operation that came back, with the
// replay that did.
func (h operationPages) cameBack(ctx context.Context, o parkade.Operation) ([]views.Look, error) {
	if o.CameBack == 0 {
		return nil, nil
	}
	messages, _, err := h.Store.Messages(ctx, parkade.Filter{Operation: o.ID, CameBack: true}, parkade.Page{Limit: eachKind})
	if err != nil {
		return nil, err
	}
	var looks []views.Look
	for _, m := range messages {
		replays, err := h.Store.Replays(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		for _, r := range replays {
			if r.Operation == o.ID && r.CameBack {
				looks = append(looks, views.Look{Message: m, Replay: r})
				break
			}
		}
	}
	return looks, nil
}

func (h operationPages) pause(c echo.Context) error  { return h.steer(c, h.Store.Pause) }
func (h operationPages) resume(c echo.Context) error { return h.steer(c, h.Store.Resume) }
func (h operationPages) cancel(c echo.Context) error { return h.steer(c, h.Store.Cancel) }

// dismiss puts an operation out of sight, and leads to what is left.
func (h operationPages) dismiss(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	if err := h.Store.Dismiss(c.Request().Context(), parkade.OperationID(id), actor(c)); err != nil {
		return err
	}
	return goTo(c, at(c, "/operations", nil))
}

// steer changes the course of an operation and shows it.
func (h operationPages) steer(c echo.Context, to func(context.Context, parkade.OperationID, string) error) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	if err := to(c.Request().Context(), parkade.OperationID(id), actor(c)); err != nil {
		return err
	}
	return goTo(c, at(c, "/operations/"+parkade.OperationID(id).String(), nil))
}

func (h operationPages) askCancel(c echo.Context) error {
	o, err := h.read(c)
	if err != nil {
		return err
	}
	if inSheet(c) {
		return render(c, http.StatusOK, views.CancelForm(o, true))
	}
	return render(c, http.StatusOK, views.CancelPage(shell(c, h.Deps), o))
}
