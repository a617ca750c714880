package parkade_test

import (
	"testing"
	"time"

	"parkade"
)

func TestPreflightSaysWhatCouldLoseMessages(t *testing.T) {
	t.Parallel()
	quorum := func(version string, limit *int64) parkade.QueueFacts {
		return parkade.QueueFacts{Known: true, Version: version, Type: "quorum", Durable: true, DeliveryLimit: limit}
	}
	with := func(f parkade.QueueFacts, change func(*parkade.QueueFacts)) parkade.QueueFacts {
		change(&f)
		return f
	}
	fine := quorum("4.3.6", new(int64(1_000_000)))
	for _, tt := range []struct {
		name   string
		facts  parkade.QueueFacts
		worst  parkade.Verdict
		code   string
		care   bool
		second string
	}{
		{name: "safe limit", facts: fine},
		{name: "safe limit on 3.10", facts: quorum("3.10.8", new(int64(1_000_000)))},
		{name: "no limit before 4.0", facts: quorum("3.10.8", nil)},
		{name: "classic", facts: parkade.QueueFacts{Known: true, Type: "classic", Durable: true}},
		{name: "-1 means none from 4.0", facts: quorum("4.0.5", new(int64(-1)))},
		{name: "-1 destroys before", facts: quorum("3.10.8", new(int64(-1))), worst: parkade.Refuse, code: "limit-negative", care: true},
		{name: "default limit on 4.3", facts: quorum("4.3.6", nil), worst: parkade.Ask, code: "limit-destroys", care: true},
		{name: "default limit on 4.0", facts: quorum("4.0.5", nil), worst: parkade.Warn, code: "limit-careful", care: true},
		{name: "low limit on 3.10", facts: quorum("3.10.8", new(int64(19))), worst: parkade.Ask, code: "limit-low", care: true},
		{name: "limit of 20 on 3.10", facts: quorum("3.10.8", new(int64(20))), worst: parkade.Warn, code: "limit-careful", care: true},
		{
			name:  "what exceeds it moves",
			facts: with(quorum("4.3.6", nil), func(f *parkade.QueueFacts) { f.DeadLetters, f.DeadLettersReach = true, true }), worst: parkade.Warn, code: "limit-moves",
		},
		{
			name:  "what exceeds it goes nowhere",
			facts: with(quorum("4.3.6", nil), func(f *parkade.QueueFacts) { f.DeadLetters = true }), worst: parkade.Ask, code: "limit-destroys", care: true,
		},
		{name: "auto-delete", facts: with(fine, func(f *parkade.QueueFacts) { f.AutoDelete = true }), worst: parkade.Refuse, code: "auto-delete"},
		{name: "stream", facts: with(fine, func(f *parkade.QueueFacts) { f.Type = "stream" }), worst: parkade.Refuse, code: "stream"},
		{name: "exclusive", facts: with(fine, func(f *parkade.QueueFacts) { f.Exclusive = true }), worst: parkade.Refuse, code: "exclusive"},
		{name: "other consumers", facts: with(fine, func(f *parkade.QueueFacts) { f.OtherConsumers = 1 }), worst: parkade.Ask, code: "consumers"},
		{name: "consumers not known", facts: with(fine, func(f *parkade.QueueFacts) { f.OtherConsumers = -1 }), worst: parkade.Unchecked, code: "consumers-unchecked"},
		{name: "single active consumer", facts: with(fine, func(f *parkade.QueueFacts) { f.SingleActive = true }), worst: parkade.Ask, code: "single-active"},
		{name: "expires", facts: with(fine, func(f *parkade.QueueFacts) { f.Expires = true }), worst: parkade.Warn, code: "expires"},
		{name: "TTL", facts: with(fine, func(f *parkade.QueueFacts) { f.TTL = true }), worst: parkade.Warn, code: "ttl"},
		{name: "drops its head", facts: with(fine, func(f *parkade.QueueFacts) { f.DropsHead = true }), worst: parkade.Warn, code: "max-length"},
		{name: "not durable", facts: with(fine, func(f *parkade.QueueFacts) { f.Durable = false }), worst: parkade.Warn, code: "transient"},
		{name: "short consumer timeout", facts: with(fine, func(f *parkade.QueueFacts) { f.ConsumerTimeout = time.Minute }), worst: parkade.Warn, code: "consumer-timeout"},
		{name: "delayed", facts: with(fine, func(f *parkade.QueueFacts) { f.Delayed = 2 }), worst: parkade.Note, code: "delayed"},
		{name: "not checked", facts: parkade.QueueFacts{}, worst: parkade.Unchecked, code: "not-checked"},
		{name: "missing", facts: parkade.QueueFacts{Known: true, Missing: true}, worst: parkade.Refuse, code: "missing"},
		{
			name:  "the worst decides",
			facts: with(fine, func(f *parkade.QueueFacts) { f.TTL, f.AutoDelete = true, true }), worst: parkade.Refuse, code: "auto-delete", second: "ttl",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			findings := parkade.Preflight(tt.facts)
			if got := parkade.Worst(findings); got != tt.worst {
				t.Errorf("%q, want %q: %+v", got, tt.worst, findings)
			}
			var codes []string
			for _, c := range []string{tt.code, tt.second} {
				if c != "" {
					codes = append(codes, c)
				}
			}
			if len(findings) != len(codes) {
				t.Fatalf("%+v, want %v", findings, codes)
			}
			for i, f := range findings {
				if f.Code != codes[i] || f.Text == "" {
					t.Errorf("%+v, want %s", f, codes[i])
				}
			}
			if got := tt.facts.NeedsCare(); got != tt.care {
				t.Errorf("careful: %t", got)
			}
		})
	}
}

func TestReturnedMessagesComeFirstExcept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		facts parkade.QueueFacts
		want  bool
	}{
		"classic":                 {parkade.QueueFacts{Type: "classic"}, true},
		"classic with priorities": {parkade.QueueFacts{Type: "classic", Priorities: true}, false},
		"quorum":                  {parkade.QueueFacts{Type: "quorum", Priorities: true}, true},
		"quorum, delayed retry":   {parkade.QueueFacts{Type: "quorum", DelayedRetry: true}, false},
	} {
		if got := tt.facts.ReturnsFirst(); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestVersionsCompareAsNumbers(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"3.13.7": false, "4.0.5": true, "4.10.0": true, "10.0.0": true, "": true, "3.9.1": false} {
		if got := parkade.AtLeast(version, 4, 0); got != want {
			t.Errorf("%s is at least 4.0: %t", version, got)
		}
	}
}
