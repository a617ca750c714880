package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
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

// replayAsked is a replay as somebody asks for it.
type replayAsked struct {
	chosen

	to         string // the value of the option that was taken, or ""
	exchange   string // of a target that was typed
	routingKey string
	rate       string
	delay      string // "": nobody chose
	seen       string // a hash of what was shown
}

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

// options are the ways to say where to, and the one that is taken. Messages that
// all came the same way have their choices by name.
func options(plan replay.Plan, taken string) ([]views.Option, string) {
	if len(plan.Groups) != 1 {
		if taken == "" {
			taken = string(parkade.ToAuto)
		}
		if len(plan.Groups) == 0 {
			return nil, taken
		}
		return []views.Option{
			{Value: string(parkade.ToAuto), Title: "Each where it failed", Hint: "By the way that reaches only the queue that failed it, worked out for each."},
			{Value: string(parkade.ToExchange), Title: "Each through its original exchange", Hint: "Also reaches whatever else is bound there."},
			{Value: string(parkade.ToQueue), Title: "Each straight into its failed queue", Hint: "Its routing key becomes the queue’s name."},
			{Value: toPrivate, Title: "Each into its failed queue, keeping its key", Hint: privateHint},
		}, taken
	}
	g := plan.Groups[0]
	var all []views.Option
	for i := range g.Choices {
		choice := g.Choices[i]
		option := views.Option{Value: targetValue(choice.Target), Title: "Straight into the queue that failed it", Choice: &choice}
		switch {
		case choice.Target.To == parkade.ToExchange:
			option.Title = "As it was published"
		case choice.Target.Private():
			option.Title, option.Hint = "Into the queue that failed it, keeping its key", privateHint
		}
		switch {
		case choice.Guess:
			option.Hint = "A guess: most others of its queue came this way."
		case choice.Default:
			option.Hint = "Taken when you choose nothing: it reaches only the queue that failed it, and loses nothing if it fails again."
		}
		if taken == "" && g.Chosen != nil && choice.Target == g.Chosen.Target {
			taken = option.Value
		}
		all = append(all, option)
	}
	return all, taken
}

// toPrivate is the option by which each message keeps its own key.
const toPrivate = "private"

const privateHint = "By an exchange of ours that is bound to that queue alone while the operation lasts, and removed after it."

// targetValue writes a target as the value of an option.
func targetValue(t parkade.Target) string {
	return url.Values{"to": {string(t.To)}, "exchange": {t.Exchange}, "key": {t.RoutingKey}, "queue": {t.Queue}, "keep": {yesOrNo(t.Keep)}}.Encode()
}

// readReplay reads the form. What it returns with an error is what could be read.
func readReplay(c echo.Context) (replayAsked, error) {
	s, err := choose(c)
	r := replayAsked{
		chosen: s, to: c.FormValue("to"), exchange: c.FormValue("exchange"), routingKey: c.FormValue("routing_key"),
		rate: strings.TrimSpace(c.FormValue("rate")), delay: c.FormValue("delay"), seen: c.FormValue("seen"),
	}
	return r, err
}

// target returns where the form says to.
func (r replayAsked) target() (parkade.Target, error) {
	wrong := parkade.Errorf(parkade.Invalid, "That target can't be read. Choose one of those that are offered.").At("to")
	switch r.to {
	case "", string(parkade.ToAuto), string(parkade.ToExchange), string(parkade.ToQueue):
		return parkade.Target{To: parkade.To(r.to)}, nil
	case toPrivate:
		return parkade.Target{To: parkade.ToQueue, Keep: true}, nil
	case "custom":
		switch {
		case r.exchange == "" && r.routingKey == "":
			return parkade.Target{}, parkade.Errorf(parkade.Invalid, "Say an exchange and a key, or a queue as the key.").At("exchange")
		case r.exchange == "":
			return parkade.Target{To: parkade.ToQueue, Queue: r.routingKey}, nil
		}
		return parkade.Target{To: parkade.ToExchange, Exchange: r.exchange, RoutingKey: r.routingKey}, nil
	}
	q, err := url.ParseQuery(r.to)
	if err != nil {
		return parkade.Target{}, wrong
	}
	t := parkade.Target{To: parkade.To(q.Get("to")), Exchange: q.Get("exchange"), RoutingKey: q.Get("key"), Queue: q.Get("queue"), Keep: q.Get("keep") == "yes"}
	if t.To != parkade.ToExchange && t.To != parkade.ToQueue {
		return parkade.Target{}, wrong
	}
	return t, nil
}

func (r replayAsked) perSecond() (float64, error) {
	if r.rate == "" {
		return 0, nil
	}
	rate, err := strconv.ParseFloat(r.rate, 64)
	if err != nil || !(rate >= 0 && rate <= maxRate) {
		return 0, parkade.Errorf(parkade.Invalid, "The rate is a number of messages a second, up to %d; leave it empty for no limit.", int(maxRate)).At("rate")
	}
	return rate, nil
}

// hash is of what is asked for, so that a key belongs to one request.
func (r replayAsked) hash() [32]byte {
	text, _ := json.Marshal([]any{"replay", r.IDs, r.Filter, r.Retry, r.outcomes, r.with, r.to, r.exchange, r.routingKey, r.rate, r.delay, r.why, r.seen}) // plain values
	return sha256.Sum256(text)
}

func statusFor(kind parkade.Kind) int {
	if kind == parkade.Conflict {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}
