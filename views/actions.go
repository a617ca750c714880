package views

import (
	"net/url"
	"strconv"

	"parkade"
)

// Actions is a page of the audit trail.
type Actions struct {
	Shell

	Items     []parkade.Action
	Verb      string // the only one shown, or ""
	Operation parkade.OperationID
	Message   parkade.MessageID
	Before    int64 // the cursor of this page; 0 is the newest
	More      bool
}

// verb is what somebody can have done: its word in the trail, and how a sentence
// says it.
type verb struct{ name, did string }

func verbs() []verb {
	return []verb{
		{"replay", "replayed"},
		{"discard", "discarded"},
		{"restore", "restored"},
		{"resolve", "resolved by hand"},
		{"give_back", "gave back"},
		{"settle", "decided about"},
		{"drain", "started draining"},
		{"next", "asked for the next"},
		{"stop", "stopped draining"},
		{"brake", "stopped all draining"},
		{"release", "released the brake"},
		{"pause", "paused"},
		{"resume", "resumed"},
		{"cancel", "cancelled"},
		{"dismiss", "put out of sight"},
	}
}

// Verbs lists the words by which the audit trail can be filtered.
func Verbs() []string {
	var all []string
	for _, v := range verbs() {
		all = append(all, v.name)
	}
	return all
}

// did says a verb of the trail as a sentence does.
func did(name string) string {
	for _, v := range verbs() {
		if v.name == name {
			return v.did
		}
	}
	return name
}

// counted reports whether an action was about a number of messages.
func counted(a parkade.Action) bool { return a.Count > 0 && a.Message == 0 }

// path returns the address of this page with another verb or cursor.
func (a Actions) path(verb string, before int64) string {
	q := url.Values{}
	if verb != "" {
		q.Set("verb", verb)
	}
	if a.Operation != 0 {
		q.Set("operation", a.Operation.String())
	}
	if a.Message != 0 {
		q.Set("message", strconv.FormatInt(int64(a.Message), 10))
	}
	if before != 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	if len(q) == 0 {
		return "/actions"
	}
	return "/actions?" + q.Encode()
}
