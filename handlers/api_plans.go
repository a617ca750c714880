package handlers

import (
	"parkade"
	"parkade/replay"
)

// jsonTarget is a target in a request. Nothing is ToAuto.
type jsonTarget struct {
	To         string `json:"to"`
	Exchange   string `json:"exchange"`
	RoutingKey string `json:"routing_key"`
	Queue      string `json:"queue"`
	Keep       bool   `json:"keep_key"`
}

// parse returns the target that t asks for. One without a name means each
// message's own exchange and key, or its own failed queue.
func (t jsonTarget) parse() (parkade.Target, error) {
	out := parkade.Target{To: parkade.To(t.To), Exchange: t.Exchange, RoutingKey: t.RoutingKey, Queue: t.Queue, Keep: t.Keep}
	extra := t.Exchange != "" || t.RoutingKey != ""
	switch out.To {
	case "", parkade.ToAuto:
		out.To = parkade.ToAuto
		if extra || t.Queue != "" || t.Keep {
			return out, parkade.Errorf(parkade.Invalid, "A target that names an exchange, key or queue must say which: to is exchange or queue.").At("target.to")
		}
	case parkade.ToExchange:
		if t.Queue != "" || t.Keep {
			return out, parkade.Errorf(parkade.Invalid, "A target that is an exchange has no queue.").At("target.queue")
		}
	case parkade.ToQueue:
		switch {
		case t.Exchange != "":
			return out, parkade.Errorf(parkade.Invalid, "A target that is a queue has no exchange: it is sent straight, or by one of ours.").At("target.exchange")
		case t.Queue == "" && t.RoutingKey != "":
			return out, parkade.Errorf(parkade.Invalid, "A key that is kept needs its queue. Without either, keep_key keeps each message's own.").At("target.queue")
		}
		out.Keep = out.Private()
	default:
		return out, parkade.Errorf(parkade.Invalid, "A target is auto, exchange or queue.").At("target.to")
	}
	return out, nil
}

type jsonChoice struct {
	Target   parkade.Target `json:"target"`
	Reaches  []string       `json:"reaches"`
	Default  bool           `json:"default"`
	Guess    bool           `json:"guess"`
	Blocked  string         `json:"blocked"`
	Warnings []string       `json:"warnings"`
}

func toJSONChoice(c parkade.Choice) jsonChoice {
	same := func(s string) string { return s }
	return jsonChoice{c.Target, each(c.Reaches, same), c.Default, c.Guess, c.Blocked, each(c.Warnings, same)}
}

type jsonTreatment struct {
	Name     string           `json:"name"`
	Header   bool             `json:"header"`
	Handling parkade.Handling `json:"handling"`
	Why      string           `json:"why"`
}

func toJSONTreatment(t parkade.Treatment) jsonTreatment {
	return jsonTreatment{t.Name, t.Header, t.Handling, t.Why}
}

type jsonSkip struct {
	Why      string `json:"why"`
	Messages int64  `json:"messages"`
}

type jsonGroup struct {
	Broker     string          `json:"broker"`
	Vhost      string          `json:"vhost"`
	Queue      string          `json:"queue"`
	Origin     *parkade.Origin `json:"origin"`
	Guess      bool            `json:"guess"`
	Policy     jsonPolicy      `json:"policy"`
	Messages   int64           `json:"messages"`
	Example    string          `json:"example"`
	Choices    []jsonChoice    `json:"choices"`
	Chosen     *jsonChoice     `json:"chosen"`
	Problem    string          `json:"problem"`
	Treatments []jsonTreatment `json:"treatments"`
}

func (d Deps) jsonGroup(g replay.Group) jsonGroup {
	out := jsonGroup{
		Broker: g.Queue.Broker, Vhost: g.Queue.Vhost, Queue: g.Queue.Name, Origin: g.Origin, Guess: g.Guess, Policy: d.jsonPolicy(g.Queue),
		Messages: g.Messages, Example: jsonID(g.Example), Choices: each(g.Choices, toJSONChoice), Problem: g.Why,
		Treatments: each(g.Treatments, toJSONTreatment),
	}
	if g.Chosen != nil {
		out.Chosen = new(toJSONChoice(*g.Chosen))
	}
	return out
}

// jsonPlan is what a dry run answers.
type jsonPlan struct {
	DryRun  bool         `json:"dry_run"`
	Verb    parkade.Verb `json:"verb"`
	Count   int64        `json:"count"`
	Skipped int64        `json:"skipped"`
	Hash    string       `json:"hash"`
	Skips   []jsonSkip   `json:"skips"`
	Groups  []jsonGroup  `json:"groups"`
}

func (d Deps) jsonPlan(p replay.Plan) jsonPlan {
	return jsonPlan{
		DryRun: true, Verb: parkade.Replay, Count: p.Expects.Count, Skipped: p.Expects.Count - p.Send, Hash: p.Expects.Hash,
		Skips:  each(p.Skips, func(s replay.Skip) jsonSkip { return jsonSkip(s) }),
		Groups: each(p.Groups, d.jsonGroup),
	}
}
