package broker_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

// open returns b as the product sees it, after change of its configuration.
func open(t *testing.T, b brokertest.Broker, change ...func(*broker.Config)) *broker.Broker {
	t.Helper()
	cfg := broker.Config{Name: "main", AMQP: b.AMQP, Management: b.Management, Program: "test"}
	for _, c := range change {
		c(&cfg)
	}
	br, err := broker.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(br.Close)
	return br
}

func draft(exchange, key, body string) parkade.Draft {
	return parkade.Draft{
		Content: parkade.Content{
			Exchange: exchange, RoutingKey: key,
			Properties: parkade.Properties{DeliveryMode: new(uint8(2))},
		},
		Body: []byte(body),
	}
}

// send makes the nth replay of a test out of d.
func send(n int, d parkade.Draft) parkade.Send {
	stamp := fmt.Sprintf("testtesttest-%d", n)
	d.Headers = d.Headers.With(parkade.ReplayIDHeader, stamp)
	return parkade.Send{Replay: parkade.ReplayID(n), Stamp: stamp, Draft: d}
}

func TestPasswordStaysOutOfErrors(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	for name, cfg := range map[string]broker.Config{
		"unreadable AMQP URL":    {AMQP: "amqp://u:" + password + "?@h:1/%zz", Management: "http://localhost"},
		"no AMQP URL":            {AMQP: "http://u:" + password + "@h", Management: "http://localhost"},
		"port is no number":      {AMQP: "amqp://u:" + password + "@h:port", Management: "http://localhost"},
		"no management URL":      {AMQP: "amqp://localhost", Management: "ftp://u:" + password + "@h"},
		"management port is odd": {AMQP: "amqp://localhost", Management: "http://u:" + password + "@h:port"},
	} {
		_, err := broker.New(cfg, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("%s: the error shows the password", name)
		}
		if kind, _ := parkade.Explain(err); kind != parkade.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhyThereIsNoConnection(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	wrong := strings.Replace(b.AMQP, "guest:guest", "guest:hunter2", 1)
	for _, tt := range []struct{ name, amqp, vhost, want string }{
		{"nobody listens", "amqp://guest:hunter2@127.0.0.1:1", "/", "can't be reached: connection refused"},
		{"wrong password", wrong, "/", "refuses the login"},
		{"no such vhost", b.AMQP, "no such vhost", "vhost no such vhost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			br := open(t, b, func(c *broker.Config) { c.AMQP = tt.amqp })
			_, err := br.OpenIntake(t.Context(), tt.vhost, "q", 1, 10*time.Second)
			kind, sentence := parkade.Explain(err)
			if kind != parkade.Unavailable || !strings.Contains(sentence, tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("kind %v, %q (%v), want %q", kind, sentence, err, tt.want)
			}
		})
	}
}

func wantLost(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, broker.ErrLost) {
		t.Fatalf("%v is no lost session", err)
	}
}
