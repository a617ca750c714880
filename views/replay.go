package views

import (
	"slices"
	"strings"

	"parkade"
)

// ReplayForm is what somebody sees and decides before messages are sent.
type ReplayForm struct {
	Shell
	Selection

	Groups  []ReplayGroup
	Skips   []ReplaySkip
	Send    int64
	Sampled int64 // not 0: Groups, Skips and Send rest on the newest of the selected
	Options []Option
	Rate    string // messages a second, as typed
	Delay   string // the value of one of the delays, or as typed
	Doubt   int64  // selected ones that are in doubt
	Again   int64  // selected ones that were replayed already

	// As typed, where the form is shown again.
	To         string // the value of an Option
	Exchange   string
	RoutingKey string
	WithDoubt  bool
	WithAgain  bool
	Reason     string
	Key        string // makes sending the form twice one operation
	Seen       string // a hash of all that is shown
	Problem    string // why nothing was sent

	Exchanges []string // that exist, to choose from
	Queues    []string
}

// mostNames is how many names a field offers.
const mostNames = 1000

// AddNames adds exchanges and queues to choose from.
func (f *ReplayForm) AddNames(exchanges, queues []string) {
	add := func(to *[]string, names []string) {
		*to = append(*to, names...)
		slices.Sort(*to)
		*to = slices.Compact(*to)
		*to = (*to)[:min(len(*to), mostNames)]
	}
	add(&f.Exchanges, exchanges)
	add(&f.Queues, queues)
}

// Selection is the messages that a form is about: ids, or all that match a filter.
type Selection struct {
	Sheet    bool // it is shown above another page
	IDs      []parkade.MessageID
	Filtered bool
	Filter   string              // as a query
	Retry    parkade.OperationID // those that failed in it; 0: not of an operation
	Failures []Ending            // of Retry
	Selected int64
}

// ReplayGroup is messages that came from the same place and go the same way.
type ReplayGroup struct {
	Policy     string // what the configuration says about its replays, after "they"
	Queue      parkade.Queue
	Origin     *parkade.Origin
	Guess      bool
	Messages   int64
	Example    parkade.MessageID
	Chosen     *parkade.Choice // nil: they are left out, as Why says
	Why        string
	Treatments []parkade.Treatment
}

// ReplaySkip is why some messages are left out.
type ReplaySkip struct {
	Why      string
	Messages int64
}

// Option is one way to say where to.
type Option struct {
	Value  string
	Title  string
	Hint   string
	Choice *parkade.Choice // what would follow; nil: each message has its own
}

// back is where somebody goes who does nothing.
func (s Selection) back() string {
	switch {
	case s.Retry != 0:
		return operationPath(s.Retry)
	case s.Filtered && s.Filter != "":
		return "/messages?" + s.Filter
	case len(s.IDs) == 1:
		return "/messages/" + s.IDs[0].String()
	}
	return "/messages"
}

// target names where everything goes, as far as one name says it.
func (f ReplayForm) target() string {
	reached := map[string]bool{}
	name := ""
	for _, g := range f.Groups {
		if g.Chosen == nil {
			continue
		}
		for _, q := range g.Chosen.Reaches {
			reached[q] = true
			name = q
		}
		if len(g.Chosen.Reaches) == 0 {
			reached[""] = true
			_, name = g.Chosen.Target.Address()
		}
	}
	switch len(reached) {
	case 0:
		return ""
	case 1:
		return name
	}
	return Count(int64(len(reached)), "queue", "queues")
}

// goesWhere says in a sentence what a choice does.
func goesWhere(c parkade.Choice) string {
	exchange, key := c.Target.Address()
	way := "Exchange " + Visible(exchange) + ", key " + Visible(plain(key, "(empty)"))
	switch {
	case c.Target.Private():
		way = "Into " + Visible(c.Target.Queue) + " by an exchange of ours, key " + Visible(plain(key, "(empty)"))
	case exchange == "":
		way = "Straight into " + Visible(key)
	}
	switch len(c.Reaches) {
	case 0:
		return way + "."
	case 1:
		return way + ": reaches " + Visible(c.Reaches[0]) + " and no other queue."
	}
	return way + ": reaches " + joined(c.Reaches) + "."
}

// afterFailure says what happens to a message that fails there once more.
func afterFailure(c parkade.Choice) string {
	switch {
	case c.Loop.Lost != "":
		return c.Loop.Lost
	case len(c.Loop.Hops) == 0:
		return ""
	case len(c.Loop.Hops) == 1:
		return "If it fails again, " + Visible(c.Loop.Hops[0].Queue) + " has no dead-letter exchange: its consumer decides."
	}
	names := make([]string, len(c.Loop.Hops))
	for i, h := range c.Loop.Hops {
		names[i] = Visible(h.Queue)
	}
	end := "."
	if c.Loop.Unchecked {
		end = "; a part of that way can’t be checked."
	}
	return "A failure there finds its way: " + strings.Join(names, " → ") + end
}

// groupState is how safe what a group does is.
func groupState(g ReplayGroup) (state State, word string) {
	switch {
	case g.Chosen == nil:
		return Bad, "Left out"
	case len(g.Chosen.Warnings) > 0 || g.Guess:
		return Warn, "Warning"
	}
	return OK, "Checked"
}

// lede says how many are selected, and how many of them stay.
func (f ReplayForm) lede() string {
	s := Count(f.Selected, "message is", "messages are") + " selected"
	if f.Filtered {
		s += " by a filter, frozen when you press: whatever arrives later isn’t touched"
	}
	switch n := f.leftOut(); {
	case n > 0 && n == f.Selected:
		s += ". None can be sent like this, see below"
	case n > 0:
		s += ". " + Count(n, "is", "are") + " left out, see below"
	}
	return s + "."
}

// stripped names what isn't sent again, each once.
func (f ReplayForm) stripped() string {
	var names []string
	seen := map[string]bool{}
	for _, g := range f.Groups {
		for _, t := range g.Treatments {
			if t.Handling == parkade.Stripped && !seen[t.Name] {
				seen[t.Name] = true
				names = append(names, Visible(t.Name))
			}
		}
	}
	return strings.Join(names, ", ")
}

// hygiene is the table of the biggest group: what a replay does with each.
func (f ReplayForm) hygiene() []parkade.Treatment {
	if len(f.Groups) == 0 {
		return nil
	}
	return f.Groups[0].Treatments
}

// leftOut is how many of the selected aren't sent.
func (f ReplayForm) leftOut() int64 { return f.Selected - f.Send }

// blocked says why an option can't be taken, or "".
func (o Option) blocked() string {
	if o.Choice == nil {
		return ""
	}
	return o.Choice.Blocked
}
