package parkade_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parkade"
)

func TestAFilterSurvivesItsQuery(t *testing.T) {
	t.Parallel()
	age := rapid.Map(rapid.Int64Range(0, 100*365*24*3600), func(n int64) time.Duration { return time.Duration(n) * time.Second })
	days := rapid.Map(rapid.Int64Range(0, 30000), func(n int64) time.Duration { return time.Duration(n) * 24 * time.Hour })
	rapid.Check(t, func(t *rapid.T) {
		f := parkade.Filter{
			Broker: rapid.String().Draw(t, "broker"), Vhost: rapid.String().Draw(t, "vhost"), Queue: rapid.String().Draw(t, "queue"),
			State:      rapid.SampledFrom(append(parkade.States(), "")).Draw(t, "state"),
			RoutingKey: rapid.String().Draw(t, "key"), MessageID: rapid.String().Draw(t, "message id"),
			Outcome:  rapid.SampledFrom(append(parkade.Outcomes(), "")).Draw(t, "outcome"),
			CameBack: rapid.Bool().Draw(t, "came back"), Copies: rapid.Bool().Draw(t, "copies"),
			OlderThan: age.Draw(t, "older"), NewerThan: days.Draw(t, "newer"),
			Operation: parkade.OperationID(rapid.Int64Range(0, 1<<60).Draw(t, "operation")),
			NoReason:  rapid.Bool().Draw(t, "no reason"),
		}
		if !f.NoReason {
			f.Reason = rapid.SampledFrom([]string{"", parkade.Rejected, parkade.Expired}).Draw(t, "reason")
		}
		q, err := url.ParseQuery(f.Query().Encode())
		if err != nil {
			t.Fatal(err)
		}
		back, err := parkade.ParseFilter(q)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f, back); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzParseFilter(f *testing.F) {
	f.Add("")
	f.Add("state=parked&older=1d12h&operation=7&copies=yes&reason=none")
	f.Add("newer=106751d&came_back=yes&message_id=%00")
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		once, err := parkade.ParseFilter(q)
		if err != nil {
			return
		}
		again, err := parkade.ParseFilter(once.Query())
		if err != nil {
			t.Fatalf("%+v was read from %q, but not from %q: %v", once, query, once.Query().Encode(), err)
		}
		if d := cmp.Diff(once, again); d != "" {
			t.Fatal(d)
		}
	})
}

func TestAWrongFilterIsNeverAWiderOne(t *testing.T) {
	t.Parallel()
	for query, field := range map[string]string{
		"state=gone":                     "state",
		"outcome=maybe":                  "outcome",
		"came_back=true":                 "came_back",
		"copies=no":                      "copies",
		"older=yesterday":                "older",
		"older=5":                        "older",
		"newer=-1h":                      "newer",
		"newer=0s":                       "newer",
		"newer=99999999d":                "newer",
		"operation=x":                    "operation",
		"operation=-1":                   "operation",
		"operation=99999999999999999999": "operation",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parkade.ParseFilter(q)
		if kind, _ := parkade.Explain(err); kind != parkade.Invalid {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if got := fieldOf(err); got != field {
			t.Errorf("%s is said to be wrong in %q", query, got)
		}
	}
}

func fieldOf(err error) string {
	e, ok := err.(*parkade.Error) //nolint:errorlint // it is never wrapped here
	if !ok {
		return ""
	}
	return e.Field
}

func TestDurationsKnowDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"3d": 72 * time.Hour, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "0.5d": 12 * time.Hour, "2h3s": 2*time.Hour + 3*time.Second,
	} {
		if d, err := parkade.ParseDuration(text); d != want || err != nil {
			t.Errorf("%s is %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "d", "3", "3dd", "three", "1d x", "9999999999d"} {
		if d, err := parkade.ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
}
