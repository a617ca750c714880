package handlers

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/replay"
	"parkade/store"
	"parkade/views"
)

type replays struct{ Deps }

// ask shows what a replay would do, as a page or as a sheet.
func (h replays) ask(c echo.Context) error {
	r, err := readReplay(c)
	if err == nil {
		err = h.likeBefore(c.Request().Context(), &r)
	}
	if err != nil && len(r.IDs) == 0 && r.filter == nil && r.Retry == 0 {
		return err
	}
	return h.show(c, r, http.StatusOK, err)
}

// create makes the operation, if what was shown is still what would happen.
func (h replays) create(c echo.Context) error {
	ctx := c.Request().Context()
	r, err := readReplay(c)
	if err != nil {
		if len(r.IDs) == 0 && r.filter == nil && r.Retry == 0 {
			return err
		}
		return h.show(c, r, http.StatusUnprocessableEntity, err)
	}
	hash := r.hash()
	op, repeated, err := h.Store.Repeated(ctx, r.key, hash)
	if err == nil && !repeated {
		op, err = h.run(ctx, c, r, hash)
	}
	if err != nil {
		if kind, _ := parkade.Explain(err); kind == parkade.Conflict || kind == parkade.Invalid {
			return h.show(c, r, statusFor(kind), err)
		}
		return err
	}
	return goTo(c, at(c, "/operations/"+op.ID.String(), nil))
}

func (h replays) run(ctx context.Context, c echo.Context, r replayAsked, hash [32]byte) (parkade.Operation, error) {
	target, err := r.target()
	if err != nil {
		return parkade.Operation{}, err
	}
	rate, err := r.perSecond()
	if err != nil {
		return parkade.Operation{}, err
	}
	delay, err := parseDelay(r.delay)
	if err != nil {
		return parkade.Operation{}, err
	}
	plan, err := h.plan(ctx, r, target, h.Planner.Plan)
	if err != nil {
		return parkade.Operation{}, err
	}
	switch {
	case plan.Send == 0:
		return parkade.Operation{}, nothingToSend(plan)
	case !stands(plan, r.seen):
		return parkade.Operation{}, parkade.Errorf(parkade.Conflict,
			"What would happen isn't what was shown when you pressed: another target was chosen, or something moved meanwhile. Look again, then press.")
	}
	op, _, err := h.Store.Create(ctx, store.NewOperation{
		Verb: parkade.Replay, Items: plan.Items, Accept: r.with, Expect: &plan.Expects, Target: target, Policy: plan.Policy, Rate: rate, Delay: delay,
		By: actor(c), Reason: r.why, IdempotencyKey: r.key, RequestHash: hash,
	})
	return op, err
}

// plan has a plan made of what was asked for: all of it, or as far as it is shown.
func (h replays) plan(ctx context.Context, r replayAsked, target parkade.Target, how func(context.Context, replay.Request) (replay.Plan, error)) (replay.Plan, error) {
	ids, err := picked(ctx, h.Deps, r.chosen)
	if err != nil {
		return replay.Plan{}, err
	}
	return how(ctx, replay.Request{IDs: ids, Filter: r.filter, Accept: r.with, Target: target})
}

// likeBefore has a retry go where the operation went, until somebody chooses.
func (h replays) likeBefore(ctx context.Context, r *replayAsked) error {
	if r.Retry == 0 || r.to != "" {
		return nil
	}
	o, err := h.Store.Operation(ctx, r.Retry)
	if err != nil {
		return err
	}
	t := o.Target
	switch {
	case t.To == parkade.ToExchange && (t.Exchange != "" || t.RoutingKey != ""):
		r.to, r.exchange, r.routingKey = "custom", t.Exchange, t.RoutingKey
	case t.Private() && t.Queue == "":
		r.to = toPrivate
	case t.Private():
		r.to = targetValue(t)
	case t.To == parkade.ToQueue && t.Queue != "":
		r.to, r.routingKey = "custom", t.Queue
	default:
		r.to = string(t.To)
	}
	return nil
}

// show draws the form with everything that was typed, and with what went wrong.
func (h replays) show(c echo.Context, r replayAsked, status int, problem error) error {
	ctx := c.Request().Context()
	if status == http.StatusConflict && strings.HasPrefix(r.seen, ofSample) && strings.Contains(r.to, "=") {
		r.to = "" // it was offered for what the sample had, and isn't meant for more
	}
	target, err := r.target()
	if problem == nil {
		problem = err
	}
	how := h.Planner.Look
	if status == http.StatusConflict { // what a sample didn't show has to be seen
		how = h.Planner.Plan
	}
	plan, err := h.plan(ctx, r, target, how)
	if err != nil {
		return err
	}
	form := views.ReplayForm{
		Shell: shell(c, h.Deps), Selection: r.Selection, Send: plan.Send, Rate: r.rate, Delay: defaultDelay(r.delay, len(plan.Items)),
		To: r.to, Exchange: r.exchange, RoutingKey: r.routingKey, Reason: r.why, Key: r.key, Seen: seenOf(plan),
		WithDoubt: slices.Contains(r.with, parkade.InDoubt), WithAgain: slices.Contains(r.with, parkade.Replayed),
	}
	form.Path = "/messages"
	form.Selected = int64(len(plan.Items))
	if plan.Of > 0 {
		form.Sampled, form.Selected = form.Selected, plan.Of
		if plan.Send > 0 {
			form.Send += plan.Of - form.Sampled
		}
	}
	if form.Rate == "" && plan.Rate > 0 && r.seen == "" {
		form.Rate = strconv.FormatFloat(plan.Rate, 'f', -1, 64)
	}
	if problem != nil {
		_, form.Problem = parkade.Explain(problem)
	}
	for _, s := range plan.Skips {
		form.Skips = append(form.Skips, views.ReplaySkip(s))
	}
	for _, g := range plan.Groups {
		form.AddNames(h.Planner.Names(ctx, g.Queue))
		form.Groups = append(form.Groups, views.ReplayGroup{
			Policy: h.policyWords(g.Queue),
			Queue:  g.Queue, Origin: g.Origin, Guess: g.Guess, Messages: g.Messages, Example: g.Example, Chosen: g.Chosen, Why: g.Why, Treatments: g.Treatments,
		})
	}
	form.Options, form.To = options(plan, form.To)
	if r.Retry != 0 {
		o, err := h.Store.Operation(ctx, r.Retry)
		if err != nil {
			return err
		}
		form.Failures = failures(o, r.outcomes)
	} else if r.filter == nil {
		if form.Doubt, form.Again, err = h.ticked(ctx, r.IDs); err != nil {
			return err
		}
	}
	return render(c, status, views.Replay(form))
}

// defaultDelay is how long an operation waits when nobody chose: for many messages
// long enough to notice a mistake and call them back.
func defaultDelay(chosen string, messages int) string {
	switch {
	case chosen != "":
		return chosen
	case messages > 1:
		return "10s"
	}
	return "0s"
}

// ticked counts the selected messages that have to be ticked to be sent.
func (h replays) ticked(ctx context.Context, ids []parkade.MessageID) (doubt, again int64, err error) {
	all, _, err := h.Store.Selection(ctx, ids)
	for _, m := range all {
		switch m.State {
		case parkade.InDoubt:
			doubt++
		case parkade.Replayed:
			again++
		case parkade.Parked, parkade.InOperation, parkade.GivenBack, parkade.Resolved, parkade.Discarded:
		}
	}
	return doubt, again, err
}

// toPrivate is the option by which each message keeps its own key.
const toPrivate = "private"

const privateHint = "By an exchange of ours that is bound to that queue alone while the operation lasts, and removed after it."

func statusFor(kind parkade.Kind) int {
	if kind == parkade.Conflict {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}
