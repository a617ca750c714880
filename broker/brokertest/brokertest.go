// Package brokertest gives tests real RabbitMQ brokers: which ones there are, a
// vhost for each test, and short ways to fill, count, empty and break things.
//
// The brokers come from the environment, as dev/with-brokers sets it:
//
//	PARKADE_TEST_AMQP_URL, PARKADE_TEST_MANAGEMENT_URL   the broker that everything runs on
//	PARKADE_TEST_BROKERS                                 VERSION=AMQP_URL,MANAGEMENT_URL ...
//
// A broker that isn't there skips the test, and fails it in CI.
package brokertest

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Broker is one running RabbitMQ. Its URLs carry credentials of an administrator
// and name the vhost "/".
type Broker struct {
	Version    string // "3.10", "4.0", "4.3"
	AMQP       string
	Management string
}

// AtLeast reports whether the broker's version is major.minor or newer.
func (b Broker) AtLeast(major, minor int) bool {
	var gotMajor, gotMinor int
	if _, err := scanVersion(b.Version, &gotMajor, &gotMinor); err != nil {
		return false
	}
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}

// URL returns the AMQP URL of the broker that every test runs on.
func URL(tb testing.TB) string {
	tb.Helper()
	return env(tb, "PARKADE_TEST_AMQP_URL")
}

// ManagementURL returns the management URL of the broker that [URL] names.
func ManagementURL(tb testing.TB) string {
	tb.Helper()
	return env(tb, "PARKADE_TEST_MANAGEMENT_URL")
}

// Main returns the broker that every test runs on.
func Main(tb testing.TB) Broker {
	tb.Helper()
	b := Broker{AMQP: URL(tb), Management: ManagementURL(tb)}
	b.Version = b.askVersion(tb)
	return b
}

// All returns the brokers of every version that are there: at least [Main].
func All(tb testing.TB) []Broker {
	tb.Helper()
	listed := strings.Fields(os.Getenv("PARKADE_TEST_BROKERS"))
	if len(listed) == 0 {
		return []Broker{Main(tb)}
	}
	var brokers []Broker
	for _, entry := range listed {
		version, urls, _ := strings.Cut(entry, "=")
		amqp, management, ok := strings.Cut(urls, ",")
		if !ok {
			tb.Fatalf("PARKADE_TEST_BROKERS has %d entries, one of them is not VERSION=AMQP_URL,MANAGEMENT_URL", len(listed))
		}
		brokers = append(brokers, Broker{Version: version, AMQP: amqp, Management: management})
	}
	return brokers
}

// Each runs a subtest on every broker that is there, named after its version.
func Each(t *testing.T, test func(t *testing.T, b Broker)) {
	t.Helper()
	for _, b := range All(t) {
		t.Run(b.Version, func(t *testing.T) { test(t, b) })
	}
}

// Eventually waits until the condition holds and fails the test where it doesn't
// within a minute. what completes the sentence "never saw ...".
func Eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("never saw %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func env(tb testing.TB, name string) string {
	tb.Helper()
	value := os.Getenv(name)
	if value == "" {
		missing(tb, name+" is not set; run through dev/with-brokers")
	}
	return value
}

// missing ends a test that needs what isn't there. In CI that would hide it, so
// there it fails.
func missing(tb testing.TB, why string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal(why)
	}
	tb.Skip(why)
}
