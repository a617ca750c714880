// Package parkade holds the vocabulary of the product and its pure rules: what
// a message, a death, a draft, a replay and an operation are, and what follows
// from them. It does no I/O and imports the standard library only; every other
// package imports it.
package parkade

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says how a failure is answered. The zero Kind is a fault of ours: it is
// logged in full and explained to nobody.
type Kind int

// The kinds of failure.
const (
	Internal    Kind = iota
	Invalid          // whoever asked can correct the input
	NotFound         // no such thing, or no longer
	Conflict         // somebody else was first, or the set moved
	Forbidden        // not with this role, or not from there
	TooLarge         // over a limit that the message names
	Unavailable      // the broker or the store can't be used right now
)

// Error is a failure that was phrased for the person who reads it.
type Error struct {
	Kind    Kind
	Field   string // the input that is wrong; empty when no single one is
	Message string // full sentences, shown as they are
	Err     error  // the cause, for the log alone
}

// Errorf returns an Error whose message a person reads.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// At returns a copy of e that names the input field that is wrong.
func (e *Error) At(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// Because returns a copy of e that remembers its cause for the log.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// Error returns the sentence, and the cause, where there is one, as people put one
// behind it: "The store is full (disk I/O error)".
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return strings.TrimSuffix(e.Message, ".") + " (" + e.Err.Error() + ")"
}

func (e *Error) Unwrap() error { return e.Err }

// Explain returns what a person may learn about err: its kind and its sentence.
func Explain(err error) (Kind, string) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind, e.Message
	}
	return Internal, "Something went wrong on our side. It has been logged."
}
