package views

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"parkade"
)

// MaxUpload is how large a file the form of an edit takes, in bytes: the limit of
// its request less room for the other fields.
const MaxUpload = 48 << 20

// EditPage is a message being edited: all that would be sent, as a form.
type EditPage struct {
	Shell   Shell
	Message parkade.Message
	Seen    int64          // the version of the message that the form is about
	Base    int64          // the version that it starts from
	Others  []parkade.Edit // every version, newest first

	As       string // how the body is typed
	Text     string
	Untyped  string // why the body isn't in the form, or ""
	Loadable bool   // it can be put into the form all the same
	BodyNote string // what of the body the form keeps by itself
	JSON     string // "", "valid", or what is wrong

	Properties  []EditProperty
	Headers     []EditField
	MoreHeaders int      // that have no row, and stay as they are
	Types       []string // that a header can have

	Options    []Option
	To         string
	Exchange   string
	RoutingKey string

	Again     string // what is to be ticked before it is sent again, or ""
	WithAgain bool
	Delay     string
	Reason    string
	Note      string
	Key       string // makes sending the form twice one operation

	Preview *EditPreview // nil: not asked for
	Clash   *Clash       // somebody else was first
	Problem string
	Field   string // that Problem is about
}

// EditField is a header in a form.
type EditField struct {
	Name   string
	Type   string
	Value  string
	Was    string // the number of the header that it was in the version it starts from, or ""
	Remove bool
}

// EditProperty is a property in a form.
type EditProperty struct {
	Name  string
	Value string
	Hint  string
}

// EditPreview is exactly what would be sent.
type EditPreview struct {
	Edited   bool // it differs from the version that the form starts from
	Hash     string
	SHA256   string
	Size     int64
	Was      int64 // the size of the version it starts from
	Diff     []DiffLine
	Cut      bool // Diff is only the beginning
	Changes  []Change
	Carried  []Carried
	Chosen   *parkade.Choice
	Facts    []EditFact
	Findings []parkade.Finding
	Refused  string // why it can't be sent, or ""
}

// EditFact is what is known of a queue that would get the message.
type EditFact struct {
	Queue     string
	Consumers int64 // -1: not known
	Ready     int64 // -1: not known
}

// DiffLine is one line of two texts compared. Mark is the part of it that differs
// from its counterpart: from and to, in bytes.
type DiffLine struct {
	Kind     string // "", add, del or hunk
	Text     string
	From, To int
}

// Change is one place where two versions differ: a place in JSON, a property or a
// header.
type Change struct {
	Where  string
	Before string // "" with No: it wasn't there
	After  string
	Added  bool
	Gone   bool
}

// Clash is what somebody else saved meanwhile, beside what was typed.
type Clash struct {
	Theirs parkade.Edit
	Diff   []DiffLine // from theirs to what was typed
	Fields []Change
}

func (p EditPage) path() string { return "/messages/" + p.Message.ID.String() + "/edit" }

func (p EditPage) from(base int64) string { return p.path() + "?base=" + strconv.FormatInt(base, 10) }

func (p EditPage) as(as string) string { return p.from(p.Base) + "&as=" + as }

// wrong reports whether the problem is about a field.
func (p EditPage) wrong(field string) bool { return p.Field == field }

// problem marks the field that the problem is about, and gives it the focus.
func (p EditPage) problem(field string) templ.Attributes {
	if !p.wrong(field) {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": "edit-problem", "autofocus": true}
}

// sends says where a preview goes, in one word.
func (p EditPreview) sends() string {
	switch {
	case p.Chosen == nil:
		return ""
	case len(p.Chosen.Reaches) == 1:
		return p.Chosen.Reaches[0]
	case len(p.Chosen.Reaches) > 1:
		return Count(int64(len(p.Chosen.Reaches)), "queue", "queues")
	}
	_, key := p.Chosen.Target.Address()
	return key
}

// rows is how high a text area is for a text.
func rows(text string, least, most int) string {
	return strconv.Itoa(min(max(strings.Count(text, "\n")+1, least), most))
}

// versionName is what a version is called.
func versionName(v int64) string {
	switch v {
	case parkade.Unwrapped:
		return "unwrapped"
	case parkade.Arrived:
		return "as it arrived"
	}
	return "version " + strconv.FormatInt(v, 10)
}

func findingState(v parkade.Verdict) (State, string) {
	switch v {
	case parkade.Refuse:
		return Bad, "Refused"
	case parkade.Ask, parkade.Warn:
		return Warn, "Warning"
	case parkade.Unchecked:
		return Stale, "Not checked"
	case parkade.Note:
	}
	return NotApplicable, "Note"
}

// editorMode says what the editor takes the body for.
func (p EditPage) editorMode() string {
	switch {
	case p.As != "text":
		return "plain"
	case p.JSON != "":
		return "json"
	}
	return "text"
}

// known writes a number that may not be known, which is below zero then.
func known(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return Number(n)
}

// typed is the content of a text area: exactly the text, after a line end, since
// browsers drop one at the beginning.
func typed(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "\n"+templ.EscapeString(text))
		return err
	})
}

// compared writes the lines of a comparison, with no space that isn't theirs.
func compared(lines []DiffLine) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		b := bufio.NewWriter(w) // Flush returns the first error
		_, _ = b.WriteString("<code>")
		for _, l := range lines {
			class := strings.TrimSpace("ch-line " + l.Kind)
			before, marked, after := escape(l.Text[:l.From]), escape(l.Text[l.From:l.To]), escape(l.Text[l.To:])
			if marked != "" {
				marked = "<mark>" + marked + "</mark>"
			}
			fmt.Fprintf(b, `<span class="%s">%s%s%s</span>`, templ.EscapeString(class), before, marked, after)
		}
		_, _ = b.WriteString("</code>")
		return b.Flush()
	})
}

func escape(text string) string { return templ.EscapeString(Visible(text)) }
