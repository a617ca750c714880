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
	ctx := c.Request().Context()
	all, err := list(ctx, parkade.OperationID(before), defaultLimit+1)
	if err == nil {
		err = h.Store.CountUnhandled(ctx, all)
	}
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
	if v.Looks, err = h.looks(ctx, o); err != nil {
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
	ctx := c.Request().Context()
	o, err := h.Store.Operation(ctx, parkade.OperationID(id))
	if err != nil {
		return o, err
	}
	all := []parkade.Operation{o}
	err = h.Store.CountUnhandled(ctx, all)
	return all[0], err
}

// withMessages adds the messages of items, where they are still stored.
func (h operationPages) withMessages(ctx context.Context, items []parkade.Item) ([]views.OperationItem, error) {
	ids := make([]parkade.MessageID, len(items))
	for i, item := range items {
		ids[i] = item.Message
	}
	messages, err := h.byID(ctx, ids)
	if err != nil {
		return nil, err
	}
	all := make([]views.OperationItem, len(items))
	for i, item := range items {
		all[i] = views.OperationItem{Item: item, Row: messages[item.Message]}
		all[i].Row.ID = item.Message
	}
	return all, nil
}

// mostLooks is how many messages that need somebody an operation's page shows.
const mostLooks = 20

// looks returns the first messages of an operation that still need somebody.
func (h operationPages) looks(ctx context.Context, o parkade.Operation) ([]views.Look, error) {
	if o.Unhandled == 0 {
		return nil, nil
	}
	replays, err := h.Store.Unhandled(ctx, o.ID, mostLooks)
	if err != nil {
		return nil, err
	}
	ids := make([]parkade.MessageID, len(replays))
	for i, r := range replays {
		ids[i] = r.Message
	}
	messages, err := h.byID(ctx, ids)
	looks := make([]views.Look, len(replays))
	for i, r := range replays {
		looks[i] = views.Look{Message: messages[r.Message], Replay: r}
	}
	return looks, err
}

// byID returns those of ids that are still stored.
func (h operationPages) byID(ctx context.Context, ids []parkade.MessageID) (map[parkade.MessageID]parkade.Message, error) {
	messages, _, err := h.Store.Selection(ctx, ids)
	byID := make(map[parkade.MessageID]parkade.Message, len(messages))
	for _, m := range messages {
		byID[m.ID] = m
	}
	return byID, err
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
