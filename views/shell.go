package views

import (
	"time"
)

// Shell is what stands round every page.
type Shell struct {
	Path    string // of the page, which the rail marks
	Now     time.Time
	Version string
	Seen    string // which changes the page can have seen, for its event stream
	Actor   string // who is looking
	Search  string // what was looked for

	Undecided int64 // messages that somebody has to decide about
	InDoubt   int64
	Active    int64 // operations that haven't ended
	Halted    int64 // of them, those that wait for a person
	Drained   int64 // queues that are drained
	Failing   int64 // drains that stopped themselves or can't store

	Sources []Source
	Brake   Brake
	Trouble []Trouble // of this process itself, worst first
}

// Source is something that pages rest on, and how fresh it is.
type Source struct {
	Name  string
	State State
	Word  string    // what State means, for somebody who doesn't see its shape
	Text  string    // a figure, or ""
	At    time.Time // when it was heard of last, where Text is ""; zero: never
}

// Brake is whether all draining is stopped, and who said so.
type Brake struct {
	On    bool
	By    string
	Why   string
	Since time.Time
}

// Trouble is something wrong with Parkade itself: what, and what that means.
type Trouble struct {
	State State
	What  string
	Means string
}

// place is one line of the rail.
type place struct {
	path, name, key string
	figure, tone    string
}

// area is one part of the rail.
type area struct {
	name   string
	places []place
}

func (s Shell) areas() []area {
	messages := place{path: "/messages", name: "Messages", key: "m", figure: figure(s.Undecided, "")}
	if s.InDoubt > 0 {
		messages.figure, messages.tone = figure(s.InDoubt, " in doubt"), "warn"
	}
	operations := place{path: "/operations", name: "Operations", key: "p"}
	switch {
	case s.Halted > 0:
		operations.figure, operations.tone = figure(s.Halted, " stopped"), "warn"
	case s.Active > 0:
		operations.figure, operations.tone = figure(s.Active, " running"), "run"
	}
	queues := place{path: "/queues", name: "Queues", key: "q", figure: figure(s.Drained, "")}
	if s.Failing > 0 {
		queues.figure, queues.tone = figure(s.Failing, " stopped"), "bad"
	}
	return []area{
		{"", []place{{path: "/", name: "Overview", key: "o"}}},
		{"Parked", []place{messages, operations}},
		{"Broker", []place{queues}},
		{"Record", []place{
			{path: "/actions", name: "Actions", key: "l"},
			{path: "/settings", name: "Settings", key: "s"},
		}},
	}
}

func figure(n int64, word string) string {
	if n == 0 {
		return ""
	}
	return Number(n) + word
}

// here marks the page in the rail that one is on: itself, or what is below it.
func (s Shell) here(path string) bool {
	return s.Path == path || path != "/" && len(s.Path) > len(path) && s.Path[:len(path)+1] == path+"/"
}

// htmxConfig: what is on a page is never kept in the browser's history, since it
// may hold payloads.
const htmxConfig = `includeIndicatorCSS:false, history:false, extensions:"sse,parkade"`

// shortcut is one line of the sheet about the keyboard.
type shortcut struct {
	keys []string
	does string
}

func shortcuts() []shortcut {
	return []shortcut{
		{[]string{"/"}, "Find a message"},
		{[]string{"g", "o"}, "Go to Overview; g m Messages, g p Operations, g q Queues, g l Actions, g s Settings"},
		{[]string{"j", "k"}, "Next, previous row"},
		{[]string{"x", "Shift+x"}, "Tick a row, tick a range"},
		{[]string{"Enter"}, "Open a row"},
		{[]string{"[", "]"}, "Previous, next message or page"},
		{[]string{"R"}, "Open the replay sheet (never sends by itself)"},
		{[]string{"r", "p"}, "Refresh now; pause or resume updates"},
		{[]string{"t"}, "Dark or light"},
		{[]string{"Esc"}, "Back to the list"},
		{[]string{"?"}, "This sheet"},
	}
}

func trouble(s State) string {
	if s == Bad {
		return "Critical"
	}
	return "Warning"
}
