package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/replay"
	"parkade/store"
)

// edits answers the page on which a message is mended and sent.
type edits struct{ Deps }

// editing is one answer of that page in the making.
type editing struct {
	editForm

	message parkade.Message
	all     []parkade.Edit // its versions
	from    parkade.Edit   // the one that the form starts from
	draft   parkade.Draft  // what the form makes of it
	wrong   error          // why there is no draft
	edited  bool           // it would send something else than from
}

// ask shows the form.
func (h edits) ask(c echo.Context) error {
	f, err := readEdit(c)
	if err != nil {
		return err
	}
	e, err := h.open(c.Request().Context(), f)
	if err != nil {
		return err
	}
	return h.show(c, e, http.StatusOK, nil)
}

// open reads what a form is about, and what it makes of that.
func (h edits) open(ctx context.Context, f editForm) (*editing, error) {
	e := &editing{editForm: f}
	var err error
	if e.message, err = h.Store.Message(ctx, f.id); err != nil {
		return nil, err
	}
	if !f.sent {
		e.seen = e.message.Version
	}
	if f.base < 0 {
		e.base = e.message.Sends()
	}
	if e.from, err = h.Store.Version(ctx, f.id, e.base); err != nil {
		return nil, err
	}
	if e.all, err = h.Store.Versions(ctx, f.id); err != nil {
		return nil, err
	}
	e.draft, e.wrong = e.editForm.draft(e.from.Draft)
	e.edited = !same(e.draft, e.from.Draft)
	return e, nil
}

// do keeps the form, shows what it would send, or sends it.
func (h edits) do(c echo.Context) error {
	ctx := c.Request().Context()
	f, err := readEdit(c)
	if err != nil {
		return err
	}
	e, err := h.open(ctx, f)
	if err != nil {
		return err
	}
	if e.wrong != nil {
		return h.show(c, e, http.StatusUnprocessableEntity, e.wrong)
	}
	switch c.FormValue("do") {
	case "save":
		_, err = h.Store.SaveEdit(ctx, e.edit(actor(c)))
		if err == nil {
			return c.Redirect(http.StatusSeeOther, at(c, "/messages/"+e.id.String(), nil)+"#versions")
		}
	case "replay":
		var op parkade.Operation
		if op, err = h.send(ctx, c, e); err == nil {
			return c.Redirect(http.StatusSeeOther, at(c, "/operations/"+op.ID.String(), nil))
		}
	case "rows":
		e.headers = append(e.headers, blankRows()...)
	}
	if err == nil {
		return h.show(c, e, http.StatusOK, nil)
	}
	kind, _ := parkade.Explain(err)
	if kind != parkade.Conflict && kind != parkade.Invalid {
		return err
	}
	return h.show(c, e, statusFor(kind), err)
}

func (e *editing) edit(by string) store.NewEdit {
	return store.NewEdit{Message: e.id, Seen: e.seen, Base: e.base, By: by, Note: e.target.why, Draft: e.draft}
}

// send makes the operation that sends what was previewed, once.
func (h edits) send(ctx context.Context, c echo.Context, e *editing) (parkade.Operation, error) {
	hash := e.hash()
	op, repeated, err := h.Store.Repeated(ctx, e.target.key, hash)
	if err != nil || repeated {
		return op, err
	}
	delay, err := parseDelay(e.target.delay)
	if err != nil {
		return op, err
	}
	v, target, err := h.preview(ctx, e)
	if err != nil {
		return op, err
	}
	if e.message.Version != e.seen {
		return op, parkade.Errorf(parkade.Conflict, "Somebody else edited this message meanwhile. Nothing was saved or sent.")
	}
	if why := v.Refused(); why != "" {
		return op, parkade.Errorf(parkade.Conflict, "Nothing was sent. %s", why)
	}
	if err := v.Stands(e.preview); err != nil {
		return op, err
	}
	n := store.NewOperation{
		Verb: parkade.Replay, Items: []store.Planned{v.Item}, Expect: &store.Expect{Count: 1}, Target: target, Policy: v.Policy, Delay: delay,
		By: actor(c), Reason: e.target.why, IdempotencyKey: e.target.key, RequestHash: hash,
	}
	if e.edited {
		n.Edit = new(e.edit(n.By))
	}
	if e.message.State != parkade.Parked {
		if !e.again {
			return op, parkade.Errorf(parkade.Invalid, "Nothing was sent. %s", againWords(e.message.State)).At("again")
		}
		n.Accept = []parkade.State{e.message.State}
	}
	op, _, err = h.Store.Create(ctx, n)
	return op, err
}

// preview works out what the form would send.
func (h edits) preview(ctx context.Context, e *editing) (replay.Preview, parkade.Target, error) {
	target, err := e.target.target()
	if err != nil {
		return replay.Preview{}, target, err
	}
	r := replay.PreviewRequest{Message: e.id, Target: target}
	if e.edited {
		r.Draft = &e.draft
	} else {
		r.Sends = &e.base
	}
	v, err := h.Planner.Preview(ctx, r)
	return v, target, err
}
