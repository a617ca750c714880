package views

import (
	"strconv"
	"time"

	"parkade"
)

// DecisionForm asks whether messages are to be discarded, restored, resolved or
// given back.
type DecisionForm struct {
	Shell
	Selection

	Verb  parkade.Verb
	Takes int64 // of the selected, those that it is done with
	Skips []ReplaySkip
	Doubt int64         // selected ones that are in doubt
	Kept  time.Duration // how long it can be taken back

	Queues []parkade.Drain // of a give-back: where they go
	Delay  string          // of a give-back: the value of one of the delays, or as typed

	// As typed, where the form is shown again.
	WithDoubt bool
	Reason    string
	Key       string
	Hash      string // of what is taken
	Problem   string
}

// path is where the form is.
func (f DecisionForm) path() string { return "/" + string(f.Verb) }

// name is the verb as a button says it.
func (f DecisionForm) name() string {
	switch f.Verb {
	case parkade.Discard:
		return "Discard"
	case parkade.Restore:
		return "Restore"
	case parkade.GiveBack:
		return "Give back"
	case parkade.Resolve, parkade.Replay:
	}
	return "Resolve"
}

func (f DecisionForm) icon() string {
	switch f.Verb {
	case parkade.Discard:
		return "trash"
	case parkade.Restore:
		return "rotate"
	case parkade.GiveBack:
		return "arrow-back-up"
	case parkade.Resolve, parkade.Replay:
	}
	return "check"
}

func (f DecisionForm) wayOut() string {
	if f.Verb == parkade.Discard {
		return "Keep them"
	}
	return "Not now"
}

func (f DecisionForm) button() string {
	if f.Verb == parkade.Discard {
		return "btn btn-danger"
	}
	return "btn btn-primary"
}

func countValue(n int64) string { return strconv.FormatInt(n, 10) }
