package handlers

import (
	"strconv"
	"strings"

	"parkade"
	"parkade/config"
)

// jsonPolicy is what the configuration says about replays out of a parking queue.
type jsonPolicy struct {
	To           parkade.To      `json:"to"`
	Fallback     *parkade.Target `json:"fallback,omitempty"`
	ResetHeaders []string        `json:"reset_headers"`
	Rate         float64         `json:"rate"`
}

func (d Deps) jsonPolicy(q parkade.Queue) jsonPolicy {
	p, _ := d.Config().Parking(q)
	out := jsonPolicy{To: p.Replay.Target.To, Fallback: p.Replay.Fallback(), ResetHeaders: append([]string{}, p.Replay.ResetHeaders...), Rate: p.Replay.Rate}
	if out.To == "" {
		out.To = parkade.ToAuto
	}
	return out
}

// policyWords says in words how messages of a parking queue are replayed.
func (d Deps) policyWords(q parkade.Queue) string {
	p, _ := d.Config().Parking(q)
	return replayWords(p.Replay)
}

// replayWords says how messages of a parking queue are replayed, as what follows
// "they".
func replayWords(r config.Replay) string {
	s := "go where each one came from, worked out from the bindings"
	switch r.Target.To {
	case parkade.ToQueue:
		s = "go straight into the queue that failed each one, unless that would lose it"
	case parkade.ToExchange:
		s = "go through the exchange that each one came from, unless that can’t be"
	case parkade.ToAuto:
	}
	if t := r.Fallback(); t != nil {
		to := "straight into the queue " + t.Queue
		if t.To == parkade.ToExchange {
			to = "to the exchange " + t.Exchange
			if t.RoutingKey != "" {
				to += " with the key " + t.RoutingKey
			}
		}
		s += "; one that doesn’t tell goes " + to
	}
	if r.Rate > 0 {
		s += "; at most " + strconv.FormatFloat(r.Rate, 'g', -1, 64) + " a second"
	}
	if len(r.ResetHeaders) > 0 {
		s += "; without the headers " + strings.Join(r.ResetHeaders, ", ")
	}
	return s
}
