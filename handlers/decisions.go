package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
	"parkade/views"
)

// decisions asks about what needs no target: discard, restore, resolve and give
// back.
type decisions struct {
	Deps

	verb parkade.Verb
}

// ask shows what would be done, as a page or as a sheet.
func (h decisions) ask(c echo.Context) error {
	s, err := choose(c)
	if err != nil {
		return err
	}
	return h.show(c, s, http.StatusOK, nil)
}

// do makes the operation.
func (h decisions) do(c echo.Context) error {
	ctx := c.Request().Context()
	s, err := choose(c)
	if err != nil {
		return err
	}
	count, hash := c.FormValue("count"), c.FormValue("hash")
	text, _ := json.Marshal([]any{h.verb, s.IDs, s.Filter, s.Retry, s.outcomes, s.with, s.why, count, hash, c.FormValue("delay")}) // plain values
	request := sha256.Sum256(text)
	op, repeated, err := h.Store.Repeated(ctx, s.key, request)
	if err == nil && !repeated {
		op, err = h.run(ctx, c, s, request)
	}
	if err != nil {
		if kind, _ := parkade.Explain(err); kind == parkade.Conflict || kind == parkade.Invalid {
			return h.show(c, s, statusFor(kind), err)
		}
		return err
	}
	return goTo(c, at(c, "/operations/"+op.ID.String(), nil))
}

func (h decisions) run(ctx context.Context, c echo.Context, s chosen, request [32]byte) (parkade.Operation, error) {
	n, err := parkade.ParseID(c.FormValue("count"), "count")
	if err != nil {
		return parkade.Operation{}, err
	}
	set, _, err := h.set(ctx, s)
	if err != nil {
		return parkade.Operation{}, err
	}
	if n == 0 || set.Filter == nil && len(set.IDs) == 0 {
		return parkade.Operation{}, parkade.Errorf(parkade.Conflict, "There is nothing to do this with any more.")
	}
	if set.Delay, err = parseDelay(c.FormValue("delay")); err != nil {
		return parkade.Operation{}, err
	}
	set.By, set.Reason = actor(c), s.why
	set.Expect = &store.Expect{Count: n, Hash: c.FormValue("hash")}
	set.IdempotencyKey, set.RequestHash = s.key, request
	op, _, err := h.Store.Create(ctx, set)
	return op, err
}

// set is what the verb takes of a selection, and why it leaves the rest.
func (h decisions) set(ctx context.Context, s chosen) (store.NewOperation, []parkade.Message, error) {
	n := store.NewOperation{Verb: h.verb, Filter: s.filter, Accept: h.accepts(s)}
	if s.filter != nil {
		return n, nil, nil
	}
	ids, err := picked(ctx, h.Deps, s)
	if err != nil {
		return n, nil, err
	}
	all, _, err := h.Store.Selection(ctx, ids)
	var left []parkade.Message
	for _, m := range all {
		if h.takes(m.State, n.Accept) {
			n.IDs = append(n.IDs, m.ID)
		} else {
			left = append(left, m)
		}
	}
	return n, left, err
}

// accepts is which states are taken besides the verb's own. What was resolved by
// hand is taken up again like what was discarded.
func (h decisions) accepts(s chosen) []parkade.State {
	if h.verb == parkade.Restore {
		if s.filter != nil {
			return nil
		}
		return []parkade.State{parkade.Resolved}
	}
	if slices.Contains(s.with, parkade.InDoubt) {
		return []parkade.State{parkade.InDoubt}
	}
	return nil
}

func (h decisions) takes(state parkade.State, accept []parkade.State) bool {
	own := parkade.Parked
	if h.verb == parkade.Restore {
		own = parkade.Discarded
	}
	return state == own || slices.Contains(accept, state)
}

// show draws the form with everything that was typed, and with what went wrong.
func (h decisions) show(c echo.Context, s chosen, status int, problem error) error {
	ctx := c.Request().Context()
	form := views.DecisionForm{
		Shell: shell(c, h.Deps), Selection: s.Selection, Verb: h.verb, Kept: h.Config().Retention.Discarded,
		WithDoubt: slices.Contains(s.with, parkade.InDoubt), Reason: s.why, Key: s.key,
	}
	form.Path = "/messages"
	if s.Retry != 0 {
		o, err := h.Store.Operation(ctx, s.Retry)
		if err != nil {
			return err
		}
		form.Failures = failures(o, s.outcomes)
	}
	if h.verb == parkade.Resolve {
		form.Kept = h.Config().Retention.Closed
	}
	set, left, err := h.set(ctx, s)
	if err != nil {
		return err
	}
	for _, m := range left {
		form.Skips = addSkip(form.Skips, leftBecause(m))
		if m.State == parkade.InDoubt && h.verb != parkade.Restore {
			form.Doubt++
		}
	}
	if form.WithDoubt {
		form.Doubt = h.inDoubt(ctx, set.IDs)
	}
	if set.Filter != nil || len(set.IDs) > 0 {
		expect, err := h.Store.Preview(ctx, set)
		if err != nil && problem == nil {
			problem, status = err, http.StatusConflict
		}
		form.Takes, form.Hash = expect.Count, expect.Hash
	}
	form.Selected = int64(len(left)) + form.Takes
	if h.verb == parkade.GiveBack {
		form.Delay = defaultDelay(c.FormValue("delay"), int(form.Takes))
		if form.Queues, err = h.queues(ctx, set); err != nil {
			return err
		}
	}
	if problem != nil {
		kind, why := parkade.Explain(problem)
		if kind == parkade.Internal {
			return problem
		}
		form.Problem = why
	}
	return render(c, status, views.Decision(form))
}

// queues are the parking queues of a set, with what their drains do.
func (h decisions) queues(ctx context.Context, set store.NewOperation) ([]parkade.Drain, error) {
	queues, err := h.Store.QueuesOf(ctx, set)
	return drainsOf(h.Deps, queues), err
}

// drainsOf returns what the drains of some queues do.
func drainsOf(d Deps, queues []parkade.Queue) []parkade.Drain {
	drains := d.Drains.Drains()
	all := make([]parkade.Drain, len(queues))
	for i, q := range queues {
		all[i] = parkade.Drain{Queue: q, Phase: parkade.Offered}
		if j := slices.IndexFunc(drains, func(d parkade.Drain) bool { return d.Queue == q }); j >= 0 {
			all[i] = drains[j]
		}
	}
	return all
}

// inDoubt counts what was ticked although it is in doubt.
func (h decisions) inDoubt(ctx context.Context, ids []parkade.MessageID) (n int64) {
	all, _, err := h.Store.Selection(ctx, ids)
	if err != nil {
		return 0
	}
	for _, m := range all {
		if m.State == parkade.InDoubt {
			n++
		}
	}
	return n
}

func leftBecause(m parkade.Message) string {
	switch m.State {
	case parkade.InOperation:
		return fmt.Sprintf("Operation %s holds it.", m.Operation)
	case parkade.InDoubt:
		return "It is in doubt: nobody knows whether its last replay arrived."
	case parkade.Parked, parkade.Replayed, parkade.GivenBack, parkade.Resolved, parkade.Discarded:
	}
	return fmt.Sprintf("It is %s.", m.State)
}

func addSkip(all []views.ReplaySkip, why string) []views.ReplaySkip {
	for i := range all {
		if all[i].Why == why {
			all[i].Messages++
			return all
		}
	}
	return append(all, views.ReplaySkip{Why: why, Messages: 1})
}
