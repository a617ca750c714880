package views

import (
	"strings"
	"time"

	"parkade"
)

// Why says in a line why a message was parked.
func Why(m parkade.Message) string {
	in := ""
	if m.Origin != nil && m.Origin.Queue != "" {
		in = " " + m.Origin.Queue
	}
	switch {
	case m.Exception != "":
		return m.Exception
	case m.Reason == parkade.Rejected && in != "":
		return "Rejected in" + in
	case m.Reason == parkade.Rejected:
		return "Rejected"
	case m.Reason == parkade.DeliveryLimit && in != "":
		return "Over the delivery limit of" + in
	case m.Reason == parkade.DeliveryLimit:
		return "Over a delivery limit"
	case m.Reason == parkade.Expired:
		return "Expired before anybody took it"
	case m.Reason == parkade.MaxLength:
		return "Dropped from a full queue"
	case m.Reason != "":
		return "Dead-lettered: " + m.Reason
	}
	return "Put here without a reason"
}

// StateName names the state of a message.
func StateName(s parkade.State) string {
	switch s {
	case parkade.Parked:
		return "Parked"
	case parkade.InOperation:
		return "In operation"
	case parkade.InDoubt:
		return "In doubt"
	case parkade.Replayed:
		return "Replayed, confirmed"
	case parkade.GivenBack:
		return "Given back"
	case parkade.Resolved:
		return "Resolved by hand"
	case parkade.Discarded:
		return "Discarded"
	}
	return string(s)
}

// tag is a small word beside a title.
type tag struct{ tone, icon, text string }

// tags say what is special about a message.
func tags(now time.Time, m parkade.Message) []tag {
	var all []tag
	say := func(when bool, tone, icon, text string) {
		if when {
			all = append(all, tag{tone, icon, text})
		}
	}
	switch m.State {
	case parkade.InOperation:
		say(true, "run", "clock", "In operation "+m.Operation.String())
	case parkade.InDoubt:
		say(true, "warn", "alert-triangle", "In doubt")
	case parkade.Replayed:
		say(!m.CameBack, "good", "check", "Replayed, confirmed")
	case parkade.Discarded:
		say(true, "stale", "trash", "Discarded, "+Age(m.ExpiresAt.Sub(now))+" left")
	case parkade.GivenBack, parkade.Resolved:
		say(true, "", "check", StateName(m.State))
	case parkade.Parked:
		say(m.LastOutcome == parkade.Unroutable, "bad", "", "Unroutable")
		say(m.LastOutcome == parkade.Nacked, "bad", "", "Nacked")
		say(m.LastOutcome == parkade.Refused, "bad", "", "Refused")
	}
	say(m.CameBack, "bad", "arrow-back-up", "Came back")
	say(m.Round > 1, "bad", "arrow-back-up", "Round "+Number(m.Round))
	say(m.CopyOf != 0, "warn", "copy", "Possible copy")
	return all
}

// attempts writes how often the original consumer tried, where anything tells.
func attempts(m parkade.Message) string {
	if m.Attempts.From == "" {
		return "–"
	}
	return Number(m.Attempts.Count)
}

func plain(s, none string) string {
	if strings.TrimSpace(s) == "" {
		return none
	}
	return s
}
