package handlers

import (
	"bytes"
	"fmt"
	"mime"
	"slices"
	"strings"

	"parkade/views"
)

// The bounds of what is shown of a body. All of it can be downloaded.
const (
	shownBytes = 64 << 10
	shownLines = 10_000
)

// body is what there is to draw a payload from.
type body struct {
	head     []byte // the first bytes that were stored
	size     int64  // of all of them
	kind     string // the content type it came with
	encoding string // the content encoding it came with
}

// payload draws a body: as what it is, or as mode asks, where that is possible.
// It never fails: what can't be read as it claims to be is shown as it is, with a
// note.
func payload(b body, mode views.Mode) views.Payload {
	p := views.Payload{Size: b.size, Type: b.kind}
	data, cut := b.head, int64(len(b.head)) < b.size
	if d, ok := decode(&p, b); ok {
		data, cut = d.data, d.cut
	}
	if len(data) > shownBytes {
		data, cut = data[:shownBytes], true
	}
	text, isText := readText(&p, data, cut, charset(b.kind))
	p.Kind = "binary"
	p.Modes = []views.Mode{views.Hex}
	if isText {
		p.Kind = kindOf(b.kind, text)
		p.Modes = []views.Mode{views.Pretty, views.Raw, views.Hex}
		if p.Kind == "text" {
			p.Modes = []views.Mode{views.Raw, views.Hex}
		}
	}
	p.Mode = p.Modes[0]
	if slices.Contains(p.Modes, mode) {
		p.Mode = mode
	}
	p.Shown, p.More = int64(len(data)), cut
	switch {
	case p.Mode == views.Hex:
		p.Hex = hexLines(data)
	case p.Kind == "JSON":
		p.Lines = jsonLines(&p, text, cut)
	case p.Kind == "XML":
		p.Lines = xmlLines(&p, text, cut)
	default:
		p.Lines = plainLines(text)
	}
	if len(p.Lines) > shownLines {
		p.Lines = p.Lines[:shownLines]
		p.Notes = append(p.Notes, views.BodyNote{State: views.Stale, Text: fmt.Sprintf("Only the first %s lines are shown.", views.Number(shownLines))})
	}
	return p
}

// kindOf says what a text is: what its content type says, or what it looks like.
func kindOf(contentType, text string) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	start := strings.TrimLeft(text, " \t\r\n")
	switch {
	case kind == "application/json", strings.HasSuffix(kind, "+json"), kind == "text/json":
		return "JSON"
	case kind == "application/xml", kind == "text/xml", strings.HasSuffix(kind, "+xml"):
		return "XML"
	case strings.HasPrefix(start, "{"), strings.HasPrefix(start, "["):
		return "JSON"
	case strings.HasPrefix(start, "<?xml"):
		return "XML"
	}
	return "text"
}

func charset(contentType string) string {
	_, params, _ := mime.ParseMediaType(contentType)
	return strings.ToLower(params["charset"])
}

// plainLines splits a text at its line ends and changes nothing else.
func plainLines(text string) []views.Line {
	var lines []views.Line
	for line := range strings.Lines(text) {
		lines = append(lines, views.Line{Tokens: visible("", strings.TrimRight(line, "\r\n"))})
		if len(lines) > shownLines {
			break
		}
	}
	return lines
}

// hexLines writes bytes as 16 a line: where they are, what they are, and what can
// be read of them.
func hexLines(data []byte) []views.HexLine {
	var lines []views.HexLine
	for chunk := range slices.Chunk(data, 16) {
		var hex, text bytes.Buffer
		for i, c := range chunk {
			if i == 8 {
				hex.WriteByte(' ')
			}
			fmt.Fprintf(&hex, "%02x ", c)
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			text.WriteByte(c)
		}
		lines = append(lines, views.HexLine{
			Offset: fmt.Sprintf("%08x", len(lines)*16), Hex: fmt.Sprintf("%-49s", hex.String()), Text: text.String(),
		})
	}
	return lines
}
