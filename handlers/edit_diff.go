package handlers

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"parkade"
	"parkade/views"
)

// The bounds of a comparison that a page shows.
const (
	comparedBytes = 1 << 20
	comparedLines = 400
	comparedWidth = 400 // bytes of a line round what differs
	listedChanges = 50
	listedBytes   = 200
)

// compareBodies compares two bodies line by line, as text where both are, else as
// hex. cut says that there is more than is shown, or that they are too large.
func compareBodies(a, b parkade.Draft) (lines []views.DiffLine, cut bool) {
	before, after := typingIn(a, AsText), typingIn(b, AsText)
	was, is := before.text, after.text
	if before.As != AsText || after.As != AsText || before.coding != after.coding {
		was, is = hexText(before.body), hexText(after.body)
	}
	if len(was) > comparedBytes || len(is) > comparedBytes {
		return nil, was != is
	}
	return compare(was, is)
}

// compare compares two texts line by line.
func compare(was, is string) (lines []views.DiffLine, cut bool) {
	diff, err := udiff.ToUnifiedDiff("", "", was, udiff.Lines(was, is), udiff.DefaultContextLines)
	if err != nil { // the edits are its own
		return nil, true
	}
	for _, hunk := range diff.Hunks {
		lines = append(lines, views.DiffLine{Kind: "hunk", Text: "from line " + strconv.Itoa(hunk.FromLine)})
		for _, l := range hunk.Lines {
			one := views.DiffLine{Text: strings.TrimSuffix(l.Content, "\n")}
			switch l.Kind {
			case udiff.Delete:
				one.Kind = "del"
			case udiff.Insert:
				one.Kind = "add"
			case udiff.Equal:
			}
			lines = append(lines, one)
		}
	}
	mark(lines)
	for i := range lines {
		lines[i] = clipLine(lines[i])
	}
	if len(lines) > comparedLines {
		return lines[:comparedLines], true
	}
	return lines, false
}

// mark says of each line that took the place of one other what differs.
func mark(lines []views.DiffLine) {
	for i := 0; i < len(lines); i++ {
		gone := run(lines[i:], "del")
		come := run(lines[i+gone:], "add")
		if gone == come {
			for n := range gone {
				markPair(&lines[i+n], &lines[i+gone+n])
			}
		}
		i += gone + come
	}
}

// run counts how many lines of a kind stand first.
func run(lines []views.DiffLine, kind string) int {
	n := slices.IndexFunc(lines, func(l views.DiffLine) bool { return l.Kind != kind })
	if n < 0 {
		return len(lines)
	}
	return n
}

func markPair(a, b *views.DiffLine) {
	from := 0
	for from < min(len(a.Text), len(b.Text)) && a.Text[from] == b.Text[from] {
		from++
	}
	for from > 0 && (!starts(a.Text, from) || !starts(b.Text, from)) {
		from--
	}
	end := 0
	for end < min(len(a.Text), len(b.Text))-from && a.Text[len(a.Text)-1-end] == b.Text[len(b.Text)-1-end] {
		end++
	}
	for end > 0 && (!starts(a.Text, len(a.Text)-end) || !starts(b.Text, len(b.Text)-end)) {
		end--
	}
	a.From, a.To = from, len(a.Text)-end
	b.From, b.To = from, len(b.Text)-end
}

// starts reports whether a character starts at i, or the text ends there.
func starts(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }

// clipLine leaves out what is far from what differs in a long line.
func clipLine(l views.DiffLine) views.DiffLine {
	from, to := max(l.From-comparedWidth/2, 0), min(max(l.To, l.From)+comparedWidth/2, len(l.Text))
	if to-from > 2*comparedWidth {
		to = from + 2*comparedWidth
	}
	for from > 0 && !starts(l.Text, from) {
		from--
	}
	for to < len(l.Text) && !starts(l.Text, to) {
		to++
	}
	before, after := "", ""
	if from > 0 {
		before = "… "
	}
	if to < len(l.Text) {
		after = " …"
	}
	shift := len(before) - from
	return views.DiffLine{Kind: l.Kind, Text: before + l.Text[from:to] + after, From: l.From + shift, To: min(l.To, to) + shift}
}

// changed lists where two drafts differ besides their bodies' bytes: places in
// JSON, properties and headers.
func changed(before, after parkade.Draft) []views.Change {
	var all changes
	var was, is any
	if exactJSON(before.Body, &was) && exactJSON(after.Body, &is) {
		all.values("$", was, is)
	}
	for _, name := range propertyNames() {
		_, was := property(before.Properties, name)
		_, is := property(after.Properties, name)
		all.add(name, was, is, was != "", is != "")
	}
	all.headers(before.Headers, after.Headers)
	return all[:min(len(all), listedChanges)]
}

type changes []views.Change

func (c *changes) add(where, was, is string, before, after bool) {
	if was == is && before == after {
		return
	}
	*c = append(*c, views.Change{Where: where, Before: clip(was, listedBytes), After: clip(is, listedBytes), Added: !before, Gone: !after})
}

func (c *changes) headers(was, is parkade.Table) {
	names := map[string]bool{}
	for _, f := range slices.Concat(was, is) {
		names[f.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, there := was.Get(name)
		after, here := is.Get(name)
		wasText, isText := headerWords(before, there), headerWords(after, here)
		c.add(name, wasText, isText, there, here)
	}
}

// headerWords is a header's value with its type.
func headerWords(v any, there bool) string {
	if !there {
		return ""
	}
	return headerText(v) + " (" + typeName(v) + ")"
}

// values compares two JSON values. Numbers are compared as they are written.
func (c *changes) values(where string, was, is any) {
	if len(*c) > listedChanges {
		return
	}
	before, isObject := was.(map[string]any)
	after, stays := is.(map[string]any)
	if isObject && stays {
		c.objects(where, before, after)
		return
	}
	list, isList := was.([]any)
	other, stays := is.([]any)
	if isList && stays && len(list) == len(other) {
		for i := range list {
			c.values(where+"["+strconv.Itoa(i)+"]", list[i], other[i])
		}
		return
	}
	c.add(where, asJSON(was), asJSON(is), true, true)
}

func (c *changes) objects(where string, was, is map[string]any) {
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := where + "." + name
		before, there := was[name]
		after, here := is[name]
		switch {
		case there && here:
			c.values(at, before, after)
		case there:
			c.add(at, asJSON(before), "", true, false)
		default:
			c.add(at, "", asJSON(after), false, true)
		}
	}
}

// exactJSON reads one JSON value with its numbers as they are written.
func exactJSON(body []byte, to *any) bool {
	if len(body) > comparedBytes {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(to) != nil {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}

func asJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was decoded from JSON
	return strings.TrimSpace(b.String())
}
