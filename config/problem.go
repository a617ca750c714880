package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Line int    // of the file, from 1; 0 where it isn't about the file
	Key  string // such as brokers[0].amqp
	Text string // what is wrong and what is expected; never a secret
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	return b.String() + p.Text
}

// Error is everything that is wrong with a configuration, in the order of the file.
type Error struct {
	File     string
	Problems []Problem
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("the configuration")
	if e.File != "" {
		b.WriteString(" in " + e.File)
	}
	b.WriteString(" is wrong:")
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// problems gathers what is wrong.
type problems struct {
	all []Problem
}

func (p *problems) add(line int, key, format string, args ...any) {
	p.all = append(p.all, Problem{line, key, fmt.Sprintf(format, args...)})
}

func (p *problems) err(file string) error {
	if len(p.all) == 0 {
		return nil
	}
	slices.SortStableFunc(p.all, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return &Error{file, p.all}
}
