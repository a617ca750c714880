package handlers

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// withEnds returns the typed text with line ends: each line that is as it was, or
// took the place of another, keeps its own, and the others have the one that most
// lines had.
func withEnds(old, oldPlain, typed string) string {
	ends := lineEnds(old)
	common := commonest(ends)
	if !slices.ContainsFunc(ends, func(e string) bool { return e != common }) {
		return strings.ReplaceAll(typed, "\n", common)
	}
	was, now := strings.SplitAfter(oldPlain, "\n"), strings.SplitAfter(typed, "\n")
	kept := make(map[int]string, len(now)) // the line ends of lines of typed
	line, next := 0, 0                     // of was, and of now
	keep := func(n int) {
		for range n {
			if line < len(ends) {
				kept[next] = ends[line]
			}
			line, next = line+1, next+1
		}
	}
	at := 0
	for _, e := range udiff.Lines(oldPlain, typed) {
		keep(strings.Count(oldPlain[at:e.Start], "\n"))
		gone, come := strings.Count(oldPlain[e.Start:e.End], "\n"), strings.Count(e.New, "\n")
		keep(min(gone, come))
		line, next = line+max(gone-come, 0), next+max(come-gone, 0)
		at = e.End
	}
	keep(len(was) - line)
	return joined(now, func(i int) string {
		if end, own := kept[i]; own {
			return end
		}
		return common
	})
}

// joined puts lines together, each of which but the last has the line end that end
// says. A CR before an empty line that ends with LF would swallow that line; it
// becomes LF.
func joined(lines []string, end func(i int) string) string {
	var out strings.Builder
	for i, l := range lines {
		text, found := strings.CutSuffix(l, "\n")
		out.WriteString(text)
		if !found {
			continue
		}
		e := end(i)
		if e == "\r" && lines[i+1] == "\n" && end(i+1) == "\n" {
			e = "\n"
		}
		out.WriteString(e)
	}
	return out.String()
}

// lineEnds lists the line ends of a text in order.
func lineEnds(text string) []string {
	var ends []string
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "\r\n"):
			ends = append(ends, "\r\n")
			i++
		case text[i] == '\r' || text[i] == '\n':
			ends = append(ends, text[i:i+1])
		}
	}
	return ends
}

// commonest returns the line end that stands there most often, LF where none does.
func commonest(ends []string) string {
	count := map[string]int{}
	most := "\n"
	for _, e := range ends {
		if count[e]++; count[e] > count[most] {
			most = e
		}
	}
	return most
}
