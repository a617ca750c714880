package config

import (
	"math"
	"path"
	"strings"
	"time"

	"parkade"
)

// maxRate is more messages a second than anything sends.
const maxRate = 1e6

func (v value) broker() Broker {
	var b Broker
	there := v.keys(map[string]func(value){
		"name":       into(&b.Name, value.text),
		"amqp":       into(&b.AMQP, func(v value) Secret { return v.address("amqp", "amqps") }),
		"management": into(&b.Management, func(v value) Secret { return v.address("http", "https") }),
		"parking":    func(v value) { v.each(func(v value) { b.Parking = append(b.Parking, v.parking()) }) },
	})
	v.need(there, "name")
	return b
}

func (v value) parking() Parking {
	p := Parking{Vhost: "/", Replay: Replay{Target: parkade.Target{To: parkade.ToAuto}}}
	there := v.keys(map[string]func(value){
		"vhost":  into(&p.Vhost, value.text),
		"queue":  into(&p.Queue, value.glob),
		"drain":  func(v value) { p.Auto = v.oneOf("auto", "manual") == "auto" },
		"replay": into(&p.Replay, value.replay),
	})
	v.need(there, "queue")
	return p
}

// glob reads a name or pattern of queues.
func (v value) glob() string {
	s := v.text()
	if _, err := path.Match(s, ""); err != nil {
		v.reject("%q is no pattern: a [ has no end", s)
	}
	return s
}

func (v value) replay() Replay {
	r := Replay{Target: parkade.Target{To: parkade.ToAuto}}
	there := v.keys(map[string]func(value){
		"to":            func(v value) { r.Target.To = parkade.To(v.oneOf("auto", "exchange", "queue")) },
		"exchange":      func(v value) { r.Target.Exchange, _ = v.raw() }, // "" is the default exchange
		"routing_key":   func(v value) { r.Target.RoutingKey, _ = v.raw() },
		"queue":         into(&r.Target.Queue, value.text),
		"reset_headers": into(&r.ResetHeaders, value.texts),
		"rate":          into(&r.Rate, func(v value) float64 { return v.number(0, maxRate) }),
		"canary":        func(v value) { r.Canary = v.canary() },
	})
	switch r.Target.To {
	case parkade.ToQueue:
		v.need(there, "queue")
	case parkade.ToExchange:
		v.need(there, "exchange")
	case parkade.ToAuto:
	}
	if there["queue"] && (there["exchange"] || there["routing_key"]) {
		v.reject("names a queue and an exchange or key: which of them is meant?")
	}
	return r
}

func (v value) canary() *Canary {
	c := Canary{}
	v.keys(map[string]func(value){
		"steps": func(v value) {
			v.each(func(v value) { c.Steps = append(c.Steps, v.integer(1, math.MaxInt32)) })
		},
		"watch": func(v value) {
			if s, ok := v.raw(); !ok || s == "auto" {
				return
			}
			c.Watch = v.duration(time.Second, day)
		},
		"stop": func(v value) {
			v.keys(map[string]func(value){
				"came_back":  into(&c.Stop.CameBack, value.ratio),
				"unroutable": into(&c.Stop.Unroutable, func(v value) int64 { return v.integer(1, math.MaxInt32) }),
				"unknown":    into(&c.Stop.Unknown, func(v value) int64 { return v.integer(1, math.MaxInt32) }),
			})
		},
	})
	return &c
}

func (v value) outbox() Outbox {
	var o Outbox
	there := v.keys(map[string]func(value){
		"name":       into(&o.Name, value.text),
		"driver":     func(v value) { o.Driver = v.oneOf("postgres", "mysql", "sqlserver", "sqlite") },
		"dsn":        into(&o.DSN, value.secret),
		"preset":     into(&o.Preset, value.text),
		"table":      into(&o.Table, value.text),
		"pending":    into(&o.Pending, value.text),
		"created_at": into(&o.CreatedAt, value.text),
		"clock":      into(&o.Clock, value.text),
	})
	v.need(there, "name", "driver", "dsn")
	switch {
	case there["preset"] && there["table"]:
		v.reject("has a preset and a table: which of them is meant?")
	case !there["preset"]:
		if !there["table"] {
			v.reject("needs a preset, or table, pending and created_at")
			break
		}
		v.need(there, "pending", "created_at")
	}
	return o
}

func (v value) receiver() Receiver {
	var r Receiver
	there := v.keys(map[string]func(value){
		"name":   into(&r.Name, value.text),
		"type":   func(v value) { r.Type = v.oneOf("webhook", "slack", "teams", "pagerduty", "alertmanager") },
		"url":    into(&r.URL, func(v value) Secret { return v.address("http", "https") }),
		"secret": into(&r.Secret, value.secret),
	})
	v.need(there, "name", "type")
	switch {
	case r.Type == "pagerduty":
		v.need(there, "secret")
	case r.Type != "":
		v.need(there, "url")
	}
	return r
}

func (v value) rule() Rule {
	r := Rule{Repeat: 4 * time.Hour}
	var warn, critical value
	there := v.keys(map[string]func(value){
		"name":            into(&r.Name, value.text),
		"subject":         into(&r.Subject, value.subject),
		"measure":         into(&r.Measure, value.measure),
		"warn":            func(v value) { warn = v },
		"critical":        func(v value) { critical = v },
		"for":             into(&r.For, func(v value) time.Duration { return v.duration(0, 30*day) }),
		"keep_firing_for": into(&r.KeepFiringFor, func(v value) time.Duration { return v.duration(0, 30*day) }),
		"repeat":          into(&r.Repeat, func(v value) time.Duration { return v.duration(time.Minute, 30*day) }),
		"notify":          into(&r.Notify, value.texts),
	})
	v.need(there, "name", "measure")
	if r.Measure == "" {
		return r
	}
	if there["warn"] {
		r.Warn = new(warn.threshold(r.Measure))
	}
	if there["critical"] {
		r.Critical = new(critical.threshold(r.Measure))
	}
	if measures()[r.Measure] != event && !there["warn"] && !there["critical"] {
		v.reject("needs warn, critical or both")
	}
	if outbox := strings.HasPrefix(r.Measure, "outbox_"); outbox && r.Subject.Outbox == "" {
		v.reject("measures an outbox, so its subject must name one: { outbox: NAME }")
	}
	return r
}

func (v value) subject() Subject {
	var s Subject
	there := v.keys(map[string]func(value){
		"broker": into(&s.Broker, value.text),
		"vhost":  into(&s.Vhost, value.text),
		"queue":  into(&s.Queue, value.glob),
		"outbox": into(&s.Outbox, value.text),
	})
	if there["outbox"] && len(there) > 1 {
		v.reject("names an outbox and something of a broker: which of them is meant?")
	}
	if there["queue"] {
		v.need(there, "broker")
	}
	if there["queue"] && !there["vhost"] {
		s.Vhost = "/"
	}
	return s
}

// unit is what a threshold of a measure is written in.
type unit int

const (
	count unit = iota
	age
	share
	event // it is so, or it isn't
)

// measures lists what rules can look at.
func measures() map[string]unit {
	return map[string]unit{
		"backlog": count, "parked": count, "ready": count, "unacked": count, "delayed": count, "consumers": count,
		"growth": count, "oldest_age": age, "came_back": share, "outbox_pending": count, "outbox_oldest_age": age,
		"outbox_dead": count, "unreachable": event, "drain_stopped": event, "disk_free": share,
	}
}

func (v value) measure() string {
	return v.oneOf(
		"backlog", "parked", "ready", "unacked", "delayed", "consumers", "growth", "oldest_age", "came_back",
		"outbox_pending", "outbox_oldest_age", "outbox_dead", "unreachable", "drain_stopped", "disk_free")
}

// threshold reads one in the unit of a measure; durations become seconds.
func (v value) threshold(measure string) float64 {
	switch measures()[measure] {
	case age:
		return v.duration(time.Second, year).Seconds()
	case share:
		return v.ratio()
	case event:
		v.reject("%s is so or it isn't: it has no threshold", measure)
		return 0
	case count:
	}
	return v.number(0, math.MaxInt32)
}
