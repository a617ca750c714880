package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"parkade/views"
)

// jsonLines draws JSON: laid out where it is whole, with every digit as it stands;
// else as it is, with the place where it breaks.
func jsonLines(p *views.Payload, text string, cut bool) []views.Line {
	fault := jsonFault(text, cut)
	if p.Mode == views.Raw || fault != nil {
		lines := tokenLines(jsonTokens(text))
		if fault != nil {
			fault.mark(p, lines, text, "JSON")
		}
		return lines
	}
	return tokenLines(layOut(jsonTokens(text)))
}

// fault is where a text stops being what it claims.
type fault struct {
	at  int // the byte that is wrong; the length of the text where it ends early
	why string
}

// mark puts the fault beside its line.
func (f fault) mark(p *views.Payload, lines []views.Line, text, kind string) {
	before := text[:min(f.at, len(text))]
	line := strings.Count(before, "\n")
	column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	if f.at >= len(text) && column > 1 && before[len(before)-1] != '\n' {
		column-- // the last character that is there
	}
	where := fmt.Sprintf("%s: byte %s, line %s, column %s", f.why, views.Number(int64(min(f.at+1, len(text)))), views.Number(int64(line+1)), views.Number(int64(column)))
	p.Notes = append(p.Notes, views.BodyNote{State: views.Warn, Text: "This is no valid " + kind + ". " + where + "."})
	if line = min(line, len(lines)-1); line >= 0 {
		lines[line].Bad, lines[line].Why = true, f.why
	}
}

// jsonFault finds where a text stops being one JSON value; nil where it never
// does. The head of a longer text may end anywhere.
func jsonFault(text string, cut bool) *fault {
	d := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	err := d.Decode(&value)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		if strings.Contains(e.Error(), "unexpected end") {
			err = io.ErrUnexpectedEOF
		} else {
			return &fault{int(max(e.Offset, 1)) - 1, sentence(e.Error())}
		}
	}
	switch {
	case cut && (err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
		return nil
	case err != nil && strings.TrimSpace(text) == "":
		return &fault{len(text), "It is empty"}
	case err != nil:
		return &fault{len(text), "It ends before its value does"}
	}
	rest := text[d.InputOffset():]
	if more := strings.TrimLeft(rest, " \t\r\n"); more != "" {
		return &fault{len(text) - len(more), "Something follows the value"}
	}
	return nil
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// jsonTokens splits a text into the tokens of JSON. It takes anything, and joined
// again the tokens are the text.
func jsonTokens(text string) []views.Token {
	var tokens []views.Token
	for len(text) > 0 {
		n, class := jsonToken(text)
		tokens = append(tokens, views.Token{Class: class, Text: text[:n]})
		text = text[n:]
	}
	// A string before a colon is a name.
	name := -1
	for i, t := range tokens {
		switch {
		case t.Class == "s2":
			name = i
		case t.Text == ":" && name >= 0:
			tokens[name].Class = "nt"
			name = -1
		case t.Class != "w":
			name = -1
		}
	}
	return tokens
}

// jsonToken returns the length and the class of the first token of a text.
func jsonToken(text string) (n int, class string) {
	while := func(set string) int {
		rest := strings.TrimLeft(text, set)
		return len(text) - len(rest)
	}
	switch c := text[0]; {
	case strings.IndexByte(" \t\r\n", c) >= 0:
		return while(" \t\r\n"), "w"
	case strings.IndexByte("{}[]:,", c) >= 0:
		return 1, "p"
	case c == '"':
		for n = 1; n < len(text); n++ {
			switch text[n] {
			case '\\':
				n++
			case '"':
				return n + 1, "s2"
			case '\n':
				return n, "s2"
			}
		}
		return len(text), "s2"
	case c == '-' || c >= '0' && c <= '9':
		n = while("+-.0123456789eE")
		if strings.ContainsAny(text[:n], ".eE") {
			return n, "mf"
		}
		return n, "mi"
	}
	n = strings.IndexAny(text, " \t\r\n{}[]:,\"")
	if n <= 0 {
		n = len(text)
	}
	switch text[:n] {
	case "true", "false", "null":
		return n, "kc"
	}
	return n, "err"
}

// indented is how deep the layout goes; what is deeper stands as deep.
const indented = 60

// layOut puts tokens of valid JSON on lines of their own, indented. Only
// whitespace between tokens changes.
func layOut(tokens []views.Token) []views.Token {
	out := make([]views.Token, 0, 2*len(tokens))
	depth, open := 0, false // open: right behind an opening bracket
	breakLine := func() {
		out = append(out, views.Token{Class: "w", Text: "\n" + strings.Repeat("  ", min(depth, indented))})
	}
	for _, t := range tokens {
		if t.Class == "w" {
			continue
		}
		closes := t.Class == "p" && (t.Text == "}" || t.Text == "]")
		if closes {
			depth--
		}
		if open != closes { // an empty object or list stays together
			if open || closes {
				breakLine()
			}
		}
		open = false
		out = append(out, t)
		if t.Class != "p" {
			continue
		}
		switch t.Text {
		case "{", "[":
			depth++
			open = true
		case ",":
			breakLine()
		case ":":
			out = append(out, views.Token{Class: "w", Text: " "})
		}
	}
	return out
}

// tokenLines splits tokens at line ends.
func tokenLines(tokens []views.Token) []views.Line {
	lines := []views.Line{{}}
	for _, t := range tokens {
		first := true
		for part := range strings.SplitSeq(t.Text, "\n") {
			if !first {
				if lines = append(lines, views.Line{}); len(lines) > shownLines {
					return lines
				}
			}
			first = false
			if part = strings.TrimSuffix(part, "\r"); part != "" {
				last := &lines[len(lines)-1]
				last.Tokens = append(last.Tokens, visible(plainSpace(t.Class), part)...)
			}
		}
	}
	if n := len(lines); n > 1 && len(lines[n-1].Tokens) == 0 {
		lines = lines[:n-1] // behind the last line end
	}
	return lines
}

func plainSpace(class string) string {
	if class == "w" || class == "p" {
		return ""
	}
	return class
}
