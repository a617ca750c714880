// Package config reads what an installation decides: one YAML file, and what it
// takes from the environment. Reading is strict, and names everything that is
// wrong at once, so that one restart is enough to fix it all.
package config

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"parkade"
)

// Config is everything that an installation decides. It is not changed once it
// is read; a reload makes a new one.
type Config struct {
	Listen         string   // host and port
	InsecureListen bool     // other machines may use it without signing in
	PublicURL      *url.URL // how browsers reach it, or nil; its path has no slash at the end
	Hosts          []string // further host names under which it answers
	Database       string   // path of the store
	Retention      Retention
	Brokers        []Broker // at least one
	Outboxes       []Outbox
	Rules          []Rule
	Receivers      []Receiver
	Auth           Auth
	File           string // where it was read from; "" is nowhere
}

// Retention says how long is kept what nobody has to decide about any more.
type Retention struct {
	Discarded time.Duration
	Closed    time.Duration // replayed, given back and resolved messages
	Readings  time.Duration
}

// Broker is one RabbitMQ and the parking queues of it that are known.
type Broker struct {
	Name       string
	AMQP       Secret // URL
	Management Secret // URL
	Parking    []Parking
}

// Parking says what holds for the parking queues that it matches.
type Parking struct {
	Vhost  string
	Queue  string // a name or a glob, as in path.Match but for slashes, which * takes too
	Auto   bool   // drained without being asked; else a person starts it
	Replay Replay
}

// Replay is how messages of a parking queue are replayed.
type Replay struct {
	Target       parkade.Target // what it names besides To is for messages without an origin
	ResetHeaders []string       // stripped besides the built-in attempt headers
	Rate         float64        // messages a second; 0 is no limit
	Canary       *Canary        // nil: none
}

// Fallback returns where messages without an origin go, or nil.
func (r Replay) Fallback() *parkade.Target {
	switch t := r.Target; {
	case t.Queue != "":
		return &parkade.Target{To: parkade.ToQueue, Queue: t.Queue}
	case t.Exchange != "" || t.RoutingKey != "":
		return &parkade.Target{To: parkade.ToExchange, Exchange: t.Exchange, RoutingKey: t.RoutingKey}
	}
	return nil
}

// Canary is how a replay begins with a few messages.
type Canary struct {
	Steps []int64
	Watch time.Duration // between the steps; 0 is auto
	Stop  Stop
}

// Stop says when a canary is given up.
type Stop struct {
	CameBack   float64 // a ratio; 0 is never
	Unroutable int64
	Unknown    int64
}

// Outbox is a table of another system that is watched.
type Outbox struct {
	Name      string
	Driver    string // postgres, mysql, sqlserver or sqlite
	DSN       Secret
	Preset    string // or Table, Pending, CreatedAt and Clock
	Table     string
	Pending   string
	CreatedAt string
	Clock     string
}

// Rule is one alert rule.
type Rule struct {
	Name          string
	Subject       Subject
	Measure       string
	Warn          *float64 // in the unit of the measure: a count, seconds or a ratio
	Critical      *float64
	For           time.Duration
	KeepFiringFor time.Duration
	Repeat        time.Duration
	Notify        []string // names of receivers
}

// Subject is what a rule looks at: a queue, a broker, an outbox, or the process
// itself where all is empty.
type Subject struct {
	Broker string
	Vhost  string
	Queue  string // a name or a glob
	Outbox string
}

// Receiver is where notices go.
type Receiver struct {
	Name   string
	Type   string // webhook, slack, teams, pagerduty or alertmanager
	URL    Secret
	Secret Secret
}

// Auth is how people sign in.
type Auth struct {
	Mode string // none
}

// Base returns the path of the public address without a slash at its end, such
// as "/parkade", or "".
func (c *Config) Base() string {
	if c.PublicURL == nil {
		return ""
	}
	return c.PublicURL.Path
}

// OpenListen reports whether other machines can reach the address it listens on.
func (c *Config) OpenListen() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return err != nil || !isLoopback(host)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Parking returns what holds for q, and false for a queue that the file doesn't
// name. The first entry that matches counts.
func (c *Config) Parking(q parkade.Queue) (Parking, bool) {
	for _, b := range c.Brokers {
		if b.Name != q.Broker {
			continue
		}
		i := slices.IndexFunc(b.Parking, func(p Parking) bool { return p.Vhost == q.Vhost && Match(p.Queue, q.Name) })
		if i >= 0 {
			return b.Parking[i], true
		}
	}
	return Parking{Replay: Replay{Target: parkade.Target{To: parkade.ToAuto}}}, false
}

// Match reports whether a queue's name is matched by a name or glob. A slash is
// a character like any other.
func Match(glob, name string) bool {
	if glob == name {
		return true
	}
	// path.Match keeps * from taking a slash, which names of queues may contain.
	hide := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(hide(glob), hide(name))
	return err == nil && ok
}

// Unused says in sentences which parts of the file this version doesn't use yet.
func (c *Config) Unused() []string {
	var all []string
	say := func(when bool, what string) {
		if when {
			all = append(all, what+" are read and checked, but this version does nothing with them yet.")
		}
	}
	say(len(c.Outboxes) > 0, "Outboxes")
	say(len(c.Rules) > 0, "Rules")
	say(len(c.Receivers) > 0, "Receivers")
	say(slices.ContainsFunc(c.Brokers, func(b Broker) bool {
		return slices.ContainsFunc(b.Parking, func(p Parking) bool { return p.Replay.Canary != nil })
	}), "Canary settings")
	return all
}
