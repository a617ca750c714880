package views

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"
)

// Payload is the body of a message as a page shows it.
type Payload struct {
	ID       string // of the message
	Size     int64  // stored, in bytes
	SHA256   string // of the stored bytes, in hex
	Kind     string // JSON, XML, text or binary
	Type     string // the content type that it came with, or ""
	Encoding string // what was decoded to show it, such as gzip; "" is nothing
	Decoded  int64  // bytes after decoding, where all of them were; else 0
	Mode     Mode
	Modes    []Mode     // that are possible
	Lines    []Line     // of a text
	Hex      []HexLine  // of bytes
	Notes    []BodyNote // about what is shown
	More     bool       // not all of it is shown
	Shown    int64      // bytes of the text, or of the body, that are shown
	Query    string     // of the list that one came from, or ""
}

// Mode is a way to look at a body.
type Mode string

// The ways to look at a body.
const (
	Pretty Mode = "pretty"
	Raw    Mode = "raw"
	Hex    Mode = "hex"
)

// Line is one line of a text.
type Line struct {
	Tokens []Token
	Bad    bool   // the line where something is wrong
	Why    string // what is wrong, or ""
}

// Token is a piece of a line. Class is the short name by which highlighters know
// it, such as mi for a whole number; "" is plain.
type Token struct{ Class, Text string }

// HexLine is up to 16 bytes.
type HexLine struct{ Offset, Hex, Text string }

// BodyNote says something about a body that its text doesn't show.
type BodyNote struct {
	State State
	Text  string
}

func (m Mode) name() string {
	switch m {
	case Pretty:
		return "Pretty"
	case Raw:
		return "Raw"
	case Hex:
	}
	return "Hex"
}

// decodedWords says what the body is, and how it had to be decoded to tell.
func (p Payload) decodedWords() string {
	switch {
	case p.Encoding == "":
		return p.Kind
	case p.Decoded == 0:
		return p.Kind + ", decoded from " + p.Encoding
	}
	return p.Kind + ", decoded from " + p.Encoding + " to " + Size(p.Decoded)
}

// code draws the lines of a text. It is no template, since every blank counts and
// a payload has thousands of lines.
func code(lines []Line) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		b := bufio.NewWriter(w) // Flush returns the first error
		_, _ = b.WriteString("<code>")
		for _, line := range lines {
			class := "ch-line"
			if line.Bad {
				class = "ch-line bad"
			}
			fmt.Fprintf(b, `<span class="%s"><span class="ch-cl">`, class)
			for _, t := range line.Tokens {
				if t.Class == "" {
					_, _ = b.WriteString(templ.EscapeString(t.Text))
					continue
				}
				fmt.Fprintf(b, `<span class="ch-%s">%s</span>`, templ.EscapeString(t.Class), templ.EscapeString(t.Text))
			}
			_, _ = b.WriteString("\n</span>")
			if line.Why != "" {
				fmt.Fprintf(b, ` <span class="pk-why bad">%s</span>`, templ.EscapeString(line.Why))
			}
			_, _ = b.WriteString("</span>")
		}
		_, _ = b.WriteString("</code>")
		return b.Flush()
	})
}

// hexCode draws bytes.
func hexCode(lines []HexLine) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		b := bufio.NewWriter(w) // Flush returns the first error
		_, _ = b.WriteString("<code>")
		for _, line := range lines {
			fmt.Fprintf(b, `<span class="ch-line"><span class="ch-cl"><span class="off">%s</span><span class="hx">%s</span><span class="txt">%s</span>`+"\n</span></span>",
				line.Offset, line.Hex, templ.EscapeString(line.Text))
		}
		_, _ = b.WriteString("</code>")
		return b.Flush()
	})
}

func noteWord(s State) string {
	if s == NotApplicable {
		return "Note"
	}
	return stateWord(s)
}

// short is the beginning of a hash.
func short(hash string) string { return hash[:min(len(hash), 16)] + "…" }
