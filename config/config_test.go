package config_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parkade"
	"parkade/config"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parkade.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string, env map[string]string) (*config.Config, error) {
	t.Helper()
	return config.Load(config.Source{File: write(t, text), Getenv: func(name string) string { return env[name] }})
}

// The example of docs/configuration.md, with every key.
func example(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/configuration.md has no example")
	}
	return text
}

func TestTheDocumentedExampleIsValid(t *testing.T) {
	t.Parallel()
	c, err := load(t, example(t), map[string]string{"BILLING_DSN": "postgres://u:pw@db/billing", "OPS_URL": "https://ops.example.com/hook", "OPS_SECRET": "s"})
	if err != nil {
		t.Fatal(err)
	}
	p, ok := c.Parking(parkade.Queue{Broker: "main", Vhost: "/", Name: "orders.parking"})
	if !ok || !p.Auto || p.Replay.Rate != 50 || !cmp.Equal(p.Replay.ResetHeaders, []string{"x-try"}) {
		t.Errorf("orders.parking is read as %+v", p)
	}
	if c.Base() != "/parkade" || c.Retention.Readings != 14*24*time.Hour {
		t.Errorf("base %q, readings %s", c.Base(), c.Retention.Readings)
	}
	if len(c.Unused()) != 4 {
		t.Errorf("what this version doesn't use: %q", c.Unused())
	}
}

func TestWithoutAFileEverythingHasADefault(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"an empty file": "", "comments only": "# nothing\n", "no file": "-"} {
		src := config.Source{Getenv: func(string) string { return "" }}
		if text != "-" {
			src.File = write(t, text)
		}
		c, err := config.Load(src)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Listen != "127.0.0.1:8080" || c.Database != "parkade.db" || c.Brokers[0].Name != "main" || c.Brokers[0].AMQP.Reveal() != "amqp://guest:guest@localhost:5672" {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

func TestTheEnvironmentNamesTheBrokerThatTheFileDoesNot(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PARKADE_AMQP_URL": "amqps://rabbit", "PARKADE_MANAGEMENT_URL": "https://rabbit:15671"}
	c, err := load(t, "brokers: [{ name: a }, { name: b, amqp: amqp://b }]", env)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.Brokers[0].AMQP.Reveal(), c.Brokers[1].AMQP.Reveal(), c.Brokers[1].Management.Reveal()}
	if want := []string{"amqps://rabbit", "amqp://b", "https://rabbit:15671"}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestReferencesAreReadFromTheEnvironmentAndFromFiles(t *testing.T) {
	t.Parallel()
	password := write(t, "from-file\n")
	c, err := load(t, `
database: ${DIR}/parkade.db
brokers:
  - name: $${plain}
    amqp: amqp://u:${PW}@h
    management: "http://u:${file:`+password+`}@h"
    parking: [{ queue: "${QUEUE}", replay: { rate: "${RATE}" } }]
`, map[string]string{"DIR": "/var/lib", "PW": "a%20b", "RATE": "7", "QUEUE": "a, drain: auto } # {"})
	if err != nil {
		t.Fatal(err)
	}
	b := c.Brokers[0]
	got := []string{c.Database, b.Name, b.AMQP.Reveal(), b.Management.Reveal(), b.Parking[0].Queue}
	want := []string{"/var/lib/parkade.db", "${plain}", "amqp://u:a%20b@h", "http://u:from-file@h", "a, drain: auto } # {"}
	if diff := cmp.Diff(want, got); diff != "" || b.Parking[0].Replay.Rate != 7 || b.Parking[0].Auto {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEveryWrongKeyIsNamedAtOnceWithItsLine(t *testing.T) {
	t.Parallel()
	_, err := load(t, `listn: 127.0.0.1:8080
listen: nowhere
public_url: ops.example.com
retention: { discarded: soon, closed: 1s }
brokers:
  - name: main
    amqp: http://secret:hunter2@h
    parking:
      - { queue: "a[", drain: perhaps }
      - { vhost: /, replay: { to: queue, rate: fast } }
  - { name: main, management: "${NOT_SET}" }
outboxes:
  - { name: o, driver: oracle, dsn: x, preset: parkade, table: t }
rules:
  - { name: r, measure: length }
  - { name: s, measure: ready, notify: [nobody], subject: { queue: q } }
  - { name: t, measure: oldest_age, warn: 5 }
receivers:
  - { name: p, type: webhook }
auth: { mode: oidc }
`, nil)
	wrong, ok := errors.AsType[*config.Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, p := range wrong.Problems {
		got = append(got, fmt.Sprintf("%d %s", p.Line, p.Key))
	}
	want := []string{
		"1 listn", "2 listen", "3 public_url", "4 retention.discarded", "4 retention.closed",
		"7 brokers[0].amqp", "9 brokers[0].parking[0].queue", "9 brokers[0].parking[0].drain",
		"10 brokers[0].parking[1].replay.rate", "10 brokers[0].parking[1].replay.queue", "10 brokers[0].parking[1].queue",
		"11 brokers[1].management", "11 brokers[1].name",
		"13 outboxes[0].driver", "13 outboxes[0]", "15 rules[0].measure",
		"16 rules[1].subject.broker", "16 rules[1]", "16 rules[1].notify", "17 rules[2].warn",
		"19 receivers[0].url", "20 auth.mode",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s\n%v", diff, err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a password is shown: %v", err)
	}
}

func TestOneFaultOneSentence(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"no YAML", "listen: [", "line 1: this is no valid YAML"},
		{"a key twice", "listen: 127.0.0.1:1\nlisten: 127.0.0.1:2", "line 2: this is no valid YAML"},
		{"two documents", "listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2", "more than one document"},
		{"a list at the top", "- listen", "must be a mapping"},
		{"a key without a value", "listen:\n", "line 1: listen: has no value"},
		{"an unset variable", "database: ${NOPE}", "the environment variable NOPE is not set"},
		{"a reference without an end", "database: ${NOPE", "no closing brace"},
		{"a reference that is none", "database: ${file}-${a b}", "possible are ${NAME} and ${file:PATH}"},
		{"a file that isn't there", "database: ${file:/nowhere/x}", "/nowhere/x can't be read: no such file"},
		{"a listen for everybody", "listen: 0.0.0.0:8080", "say insecure_listen: true"},
		{"a listen for everybody, the short way", "listen: :8080", "say insecure_listen: true"},
		{"a sign-in of later", "auth: { mode: local }", "this version has no sign-in yet"},
		{"a threshold for an event", "rules: [{ name: r, measure: unreachable, warn: 1 }]", "it has no threshold"},
		{"a target that is two", "brokers: [{ name: a, parking: [{ queue: q, replay: { queue: x, exchange: y } }] }]", "which of them is meant?"},
		{"a host with a port", "hosts: [a:1]", "without a scheme and a port"},
		{"a merge key", "a: &a { listen: x }\n<<: *a", "there is no such key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.text, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestOtherMachinesAreServedWhenToldSoInWords(t *testing.T) {
	t.Parallel()
	if _, err := load(t, "listen: 0.0.0.0:8080\ninsecure_listen: true", nil); err != nil {
		t.Error(err)
	}
	_, err := config.Load(config.Source{Listen: "0.0.0.0:8080", Getenv: func(string) string { return "" }})
	if err == nil {
		t.Error("a flag opens it to everybody")
	}
	if _, err := config.Load(config.Source{Listen: "0.0.0.0:8080", InsecureListen: true, Getenv: func(string) string { return "" }}); err != nil {
		t.Error(err)
	}
}

func TestTheFirstEntryThatMatchesAQueueCounts(t *testing.T) {
	t.Parallel()
	c, err := load(t, `
brokers:
  - name: main
    parking:
      - { queue: "orders.*", drain: auto }
      - { queue: "*" }
      - { vhost: other, queue: "*.parking", drain: auto }
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		q           parkade.Queue
		found, auto bool
	}{
		{parkade.Queue{Broker: "main", Vhost: "/", Name: "orders.parking"}, true, true},
		{parkade.Queue{Broker: "main", Vhost: "/", Name: "orders.a/b"}, true, true},
		{parkade.Queue{Broker: "main", Vhost: "/", Name: "billing.parking"}, true, false},
		{parkade.Queue{Broker: "main", Vhost: "other", Name: "x.parking"}, true, true},
		{parkade.Queue{Broker: "main", Vhost: "third", Name: "x.parking"}, false, false},
		{parkade.Queue{Broker: "second", Vhost: "/", Name: "orders.parking"}, false, false},
	}
	for _, tt := range tests {
		p, found := c.Parking(tt.q)
		if found != tt.found || p.Auto != tt.auto || p.Replay.Target.To != parkade.ToAuto {
			t.Errorf("%s: found %t as %+v", tt.q, found, p)
		}
	}
}

func TestASecretIsShownNowhere(t *testing.T) {
	t.Parallel()
	tests := []struct{ secret, want string }{
		{"", ""},
		{"hunter2", "redacted"},
		{"amqp://me:hunter2@host:5672/v?password=hunter2", "amqp://me:redacted@host:5672/v"},
		{"https://hooks.example.com/services/hunter2", "https://hooks.example.com"},
		{"me:hunter2@tcp(db:3306)/billing", "redacted"},
		{"host=db password=hunter2", "redacted"},
		{"amqp://me:hunter2%@host", "redacted"},
	}
	for _, tt := range tests {
		s := config.Secret(tt.secret)
		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s)
		for _, shown := range []string{s.String(), fmt.Sprintf("%v %+v %#v %q", s, struct{ S config.Secret }{s}, s, s), log.String()} {
			if strings.Contains(shown, "hunter2") {
				t.Errorf("shown: %s", shown)
			}
		}
		if s.String() != tt.want {
			t.Errorf("got %s, want %s", s, tt.want)
		}
	}
}
