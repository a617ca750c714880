package handlers

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"parkade/views"
)

// xmlLines draws XML: laid out where nothing but tags stands between tags, which
// changes no text; else as it is, with the place where it breaks.
func xmlLines(p *views.Payload, text string, cut bool) []views.Line {
	pieces, f := xmlPieces(text)
	if f != nil && (!cut || f.at < len(text)) {
		lines := tokenLines(xmlTokens(pieces))
		f.mark(p, lines, text, "XML")
		return lines
	}
	if p.Mode == views.Raw {
		return tokenLines(xmlTokens(pieces))
	}
	return tokenLines(xmlTokens(layOutXML(pieces)))
}

// piece is a part of an XML text, exactly as it stands.
type piece struct {
	text string
	kind byte // < opening, > closing, / both, t text, else !
}

// xmlPieces splits an XML text. Joined again the pieces are the text, whether it
// has a fault or not.
func xmlPieces(text string) ([]piece, *fault) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it is UTF-8 by now
	var pieces []piece
	root := false
	for from := 0; ; {
		token, err := d.RawToken()
		at := int(d.InputOffset())
		if errors.Is(err, io.EOF) {
			if !root {
				return pieces, &fault{len(text), "It has no element"}
			}
			return pieces, unbalanced(text)
		}
		if err != nil {
			pieces = append(pieces, piece{text[from:], '!'})
			why := err.Error()
			if e, ok := errors.AsType[*xml.SyntaxError](err); ok {
				why = e.Msg
			}
			if strings.Contains(why, "unexpected EOF") {
				return pieces, &fault{len(text), "It ends before its elements do"}
			}
			return pieces, &fault{max(at, 1) - 1, sentence(why)}
		}
		part := piece{text[from:at], '!'}
		from = at
		switch token.(type) {
		case xml.StartElement:
			part.kind, root = '<', true
		case xml.EndElement:
			if part.text == "" { // the second half of <a/>
				pieces[len(pieces)-1].kind = '/'
				continue
			}
			part.kind = '>'
		case xml.CharData:
			part.kind = 't'
		}
		pieces = append(pieces, part)
	}
}

// unbalanced finds the tag that doesn't fit, or nil.
func unbalanced(text string) *fault {
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if e, ok := errors.AsType[*xml.SyntaxError](err); ok {
			if strings.Contains(e.Msg, "unexpected EOF") {
				return &fault{len(text), "It ends before its elements do"}
			}
			return &fault{max(int(d.InputOffset()), 1) - 1, sentence(e.Msg)}
		}
		if err != nil {
			return nil // RawToken took it
		}
	}
}

// layOutXML puts tags on lines of their own, indented. In an element that has text,
// nothing moves any more.
func layOutXML(pieces []piece) []piece {
	var out []piece
	mixed := []bool{false} // of the elements that are open: it has text
	was := piece{kind: 't'}
	for i, p := range pieces {
		inside := len(mixed) - 1
		if p.kind == 't' {
			alone := was.kind == '<' && i+1 < len(pieces) && pieces[i+1].kind == '>'
			if strings.TrimSpace(p.text) == "" && !mixed[inside] && !alone {
				continue
			}
			mixed[inside] = true
		}
		together := mixed[inside] || was.kind == '<' && p.kind == '>'
		if p.kind == '>' {
			mixed = mixed[:max(inside, 1)]
		}
		if len(out) > 0 && !together {
			out = append(out, piece{"\n" + strings.Repeat("  ", min(len(mixed)-1, indented)), 't'})
		}
		out = append(out, p)
		if p.kind == '<' {
			mixed = append(mixed, false)
		}
		was = p
	}
	return out
}

func xmlTokens(pieces []piece) []views.Token {
	var tokens []views.Token
	for _, p := range pieces {
		switch p.kind {
		case 't':
			tokens = append(tokens, views.Token{Text: p.text})
		case '!':
			tokens = append(tokens, views.Token{Class: "c", Text: p.text})
		default:
			tokens = append(tokens, tagTokens(p.text)...)
		}
	}
	return tokens
}

// tagTokens splits a tag into its name and what stands in quotes.
func tagTokens(tag string) []views.Token {
	n := strings.IndexAny(tag, " \t\r\n")
	if n < 0 {
		return []views.Token{{Class: "k", Text: tag}}
	}
	tokens := []views.Token{{Class: "k", Text: tag[:n]}}
	for rest := tag[n:]; rest != ""; {
		open := strings.IndexAny(rest, `"'`)
		if open < 0 {
			return append(tokens, views.Token{Class: "k", Text: rest})
		}
		end := strings.IndexByte(rest[open+1:], rest[open])
		if end < 0 {
			return append(tokens, views.Token{Class: "na", Text: rest})
		}
		end += open + 2
		tokens = append(tokens, views.Token{Class: "na", Text: rest[:open]}, views.Token{Class: "s2", Text: rest[open:end]})
		rest = rest[end:]
	}
	return tokens
}
