package config

import (
	"log/slog"
	"net/url"
)

// Secret is a value that is, or may contain, a password. Printing, logging and
// encoding it show at most the address without the password.
type Secret string

const redacted = "redacted"

// Reveal returns the value itself.
func (s Secret) Reveal() string { return string(s) }

// String returns a URL without its password and query, and "redacted" for
// anything else.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(string(s))
	if err != nil || u.Host == "" || u.Scheme == "" {
		return redacted
	}
	if u.User != nil {
		u.User = url.UserPassword(u.User.Username(), redacted)
	}
	u.RawQuery, u.Fragment = "", ""
	if u.Scheme == "http" || u.Scheme == "https" {
		u.Path, u.RawPath = "", "" // of webhooks, the path is the secret
	}
	return u.String()
}

// GoString keeps %#v from showing it.
func (s Secret) GoString() string { return s.String() }

// LogValue keeps a log from showing it.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps JSON and YAML from showing it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
