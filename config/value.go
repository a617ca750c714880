package config

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"parkade"
)

// value is one place in the file. Its methods read it as a type; what is wrong
// with it becomes a problem, and the zero value is returned.
type value struct {
	file *file
	node ast.Node
	key  string
}

// file is what all values of one file share.
type file struct {
	problems
	getenv  func(string) string
	anchors map[string]ast.Node
	lines   map[string]int // of the keys that were read
}

func (v value) line() int {
	if t := v.node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

func (v value) reject(format string, args ...any) { v.file.add(v.line(), v.key, format, args...) }

// resolved returns v without anchors, aliases and tags.
func (v value) resolved() value {
	for range 100 {
		switch n := v.node.(type) {
		case *ast.AnchorNode:
			v.node = n.Value
		case *ast.TagNode:
			v.node = n.Value
		case *ast.AliasNode:
			target, ok := v.file.anchors[n.Value.GetToken().Value]
			if !ok {
				return v
			}
			v.node = target
		default:
			return v
		}
	}
	return v
}

// keys reads a mapping: each of its keys by the function of that name. It
// returns which ones were there.
func (v value) keys(fields map[string]func(value)) map[string]bool {
	v = v.resolved()
	there := map[string]bool{}
	var pairs []*ast.MappingValueNode
	switch n := v.node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		v.reject("must be a mapping with keys of %s", list(sorted(fields)))
		return there
	}
	for _, pair := range pairs {
		name := pair.Key.GetToken().Value
		at := value{v.file, pair.Key, join(v.key, name)}
		read, ok := fields[name]
		if !ok {
			at.reject("there is no such key; possible are %s", list(sorted(fields)))
			continue
		}
		there[name] = true
		v.file.lines[at.key] = at.line()
		at.node = pair.Value
		if _, empty := at.resolved().node.(*ast.NullNode); empty {
			at.reject("has no value; leave the key out, or give it one")
			continue
		}
		read(at)
	}
	return there
}

// need rejects a mapping that lacks a key.
func (v value) need(there map[string]bool, names ...string) {
	for _, name := range names {
		if !there[name] {
			v.file.add(v.line(), join(v.key, name), "is missing")
		}
	}
}

// each reads a list, every entry by the function.
func (v value) each(read func(value)) {
	v = v.resolved()
	seq, ok := v.node.(*ast.SequenceNode)
	if !ok {
		v.reject("must be a list")
		return
	}
	for i, n := range seq.Values {
		at := value{v.file, n, v.key + "[" + strconv.Itoa(i) + "]"}
		v.file.lines[at.key] = at.line()
		read(at)
	}
}

// raw returns the text of a scalar with references put in.
func (v value) raw() (string, bool) {
	v = v.resolved()
	var s string
	switch n := v.node.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return v.node.GetToken().Value, true
	default:
		v.reject("must be a single value")
		return "", false
	}
	s, err := expand(s, v.file.getenv)
	if err != nil {
		v.reject("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return "", false
	}
	return s, true
}

func (v value) text() string {
	s, ok := v.raw()
	if ok && s == "" {
		v.reject("is empty")
	}
	return s
}

func (v value) texts() []string {
	var all []string
	v.each(func(v value) { all = append(all, v.text()) })
	return all
}

func (v value) secret() Secret { return Secret(v.text()) }

func (v value) boolean() bool {
	s, ok := v.raw()
	if ok && s != "true" && s != "false" {
		v.reject("must be true or false")
	}
	return s == "true"
}

func (v value) oneOf(allowed ...string) string {
	s, ok := v.raw()
	if ok && !slices.Contains(allowed, s) {
		v.reject("%q is not possible; possible are %s", s, list(allowed))
		return ""
	}
	return s
}

// duration reads one that also knows days, within bounds.
func (v value) duration(least, most time.Duration) time.Duration {
	s, ok := v.raw()
	if !ok {
		return 0
	}
	d, err := parkade.ParseDuration(s)
	switch {
	case err != nil:
		v.reject("%q is no duration; write it like 30s, 12h or 7d", s)
		return 0
	case d < least || d > most:
		v.reject("must be between %s and %s", short(least), short(most))
	}
	return d
}

func (v value) integer(least, most int64) int64 {
	s, ok := v.raw()
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most {
		v.reject("must be a whole number between %d and %d", least, most)
		return 0
	}
	return n
}

func (v value) number(least, most float64) float64 {
	s, ok := v.raw()
	if !ok {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f < least || f > most {
		v.reject("must be a number between %g and %g", least, most)
		return 0
	}
	return f
}

// ratio reads 10% or 0.1.
func (v value) ratio() float64 {
	s, ok := v.raw()
	if !ok {
		return 0
	}
	digits, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(digits, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		v.reject("must be a share, such as 10%% or 0.1")
		return 0
	}
	return f
}

// address reads a URL and never shows it, since it may hold a password.
func (v value) address(schemes ...string) Secret {
	s, ok := v.raw()
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		v.reject("is no URL; characters such as ?, # and %% in a password are written as %%3F, %%23 and %%25")
	case u.Host == "" || !slices.Contains(schemes, u.Scheme):
		v.reject("must be a URL that starts with %s and names a host", strings.Join(schemes, ":// or ")+"://")
	}
	return Secret(s)
}

// into returns a function that reads a value with read and keeps it in *to.
func into[T any](to *T, read func(value) T) func(value) {
	return func(v value) { *to = read(v) }
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func sorted(fields map[string]func(value)) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func list(names []string) string { return strings.Join(names, ", ") }

// short writes a duration as a person would.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := strings.TrimSuffix(d.String(), "0s")
	if s == "" {
		return "0s"
	}
	return strings.TrimSuffix(s, "h0m") + map[bool]string{true: "h"}[strings.HasSuffix(s, "h0m")]
}
