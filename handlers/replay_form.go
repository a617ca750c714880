package handlers

import (
	"crypto/sha256"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/replay"
	"parkade/views"
)

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
