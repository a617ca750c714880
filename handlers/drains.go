package handlers

import (
	"context"
	"net/http"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/views"
)

type drainForms struct{ Deps }

func (h drainForms) askStart(c echo.Context) error { return h.ask(c, views.StartDrain) }
func (h drainForms) askNext(c echo.Context) error  { return h.ask(c, views.NextDrain) }
func (h drainForms) askStop(c echo.Context) error  { return h.ask(c, views.StopDrain) }

// form reads what a form about a queue's drain shows: with what was typed, if it
// was.
func (h drainForms) form(c echo.Context) (views.DrainForm, error) {
	ctx := c.Request().Context()
	q, err := queueParam(c)
	if err != nil {
		return views.DrainForm{}, err
	}
	f := views.DrainForm{
		Shell: shell(c, h.Deps), Queue: q, Sheet: inSheet(c),
		Accept: c.FormValue("accept") == "yes", Count: c.FormValue("count"), Reason: c.FormValue("reason"),
	}
	f.Path = "/queues"
	if f.Drain, _, err = rowOf(ctx, h.Deps, q); err != nil {
		return f, err
	}
	_, f.Findings, err = h.Drains.Preflight(ctx, q)
	return f, err
}

func (h drainForms) ask(c echo.Context, view func(views.DrainForm) templ.Component) error {
	f, err := h.form(c)
	if err != nil {
		return err
	}
	if f.Count == "" {
		f.Count = "10"
	}
	return render(c, http.StatusOK, view(f))
}

func (h drainForms) start(c echo.Context) error {
	return h.submit(c, views.StartDrain, func(ctx context.Context, q parkade.Queue) error {
		return h.Drains.Start(ctx, q, c.FormValue("accept") == "yes", actor(c), c.FormValue("reason"))
	})
}

func (h drainForms) next(c echo.Context) error {
	return h.submit(c, views.NextDrain, func(ctx context.Context, q parkade.Queue) error {
		n, err := strconv.ParseInt(c.FormValue("count"), 10, 64)
		if err != nil || n < 1 || n > maxNext {
			return parkade.Errorf(parkade.Invalid, "How many must be a number between 1 and %d.", maxNext).At("count")
		}
		return h.Drains.Next(ctx, q, n, c.FormValue("accept") == "yes", actor(c))
	})
}

func (h drainForms) stop(c echo.Context) error {
	return h.submit(c, views.StopDrain, func(ctx context.Context, q parkade.Queue) error {
		return h.Drains.Stop(ctx, q, actor(c), c.FormValue("reason"))
	})
}

// maxNext is the most that one wish for the next N may take.
const maxNext = 1_000_000

// submit does what a form asks for. What can't be done is said in the form, with
// all that was typed: by whoever answers errors in a sheet, here on a page.
func (h drainForms) submit(c echo.Context, view func(views.DrainForm) templ.Component, do func(context.Context, parkade.Queue) error) error {
	q, err := queueParam(c)
	if err == nil && len(c.FormValue("reason")) > maxReason {
		err = parkade.Errorf(parkade.Invalid, "The reason is longer than %d bytes.", maxReason).At("reason")
	}
	if err != nil {
		return err
	}
	err = do(c.Request().Context(), q)
	if err == nil {
		return goTo(c, views.At(c.Request().Context(), views.QueuePath(q)))
	}
	kind, why := parkade.Explain(err)
	if inSheet(c) || kind != parkade.Conflict && kind != parkade.Invalid {
		return err
	}
	f, formErr := h.form(c)
	if formErr != nil {
		return formErr
	}
	f.Problem = why
	status := http.StatusConflict
	if kind == parkade.Invalid {
		status = http.StatusUnprocessableEntity
	}
	return render(c, status, view(f))
}

func (h drainForms) askBrake(c echo.Context) error {
	f := views.BrakeForm{Shell: shell(c, h.Deps), Sheet: inSheet(c)}
	f.Path = "/queues"
	for _, d := range h.Drains.Drains() {
		if d.Running() {
			f.Running = append(f.Running, d)
		}
		if d.Consent != parkade.NoConsent {
			f.Wanted = append(f.Wanted, d.Queue)
		}
	}
	return render(c, http.StatusOK, views.BrakePage(f))
}

func (h drainForms) brake(c echo.Context) error {
	reason := c.FormValue("reason")
	if len(reason) > maxReason {
		return parkade.Errorf(parkade.Invalid, "The reason is longer than %d bytes.", maxReason).At("reason")
	}
	on := c.FormValue("on")
	if on != "yes" && on != "no" {
		return parkade.Errorf(parkade.Invalid, "Say whether the brake is to be on.").At("on")
	}
	if err := h.Drains.Brake(c.Request().Context(), on == "yes", actor(c), reason); err != nil {
		return err
	}
	return goTo(c, at(c, "/queues", nil))
}
