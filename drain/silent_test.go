package drain_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/drain"
	"parkade/store/storetest"
)

// mute is a broker that takes every connection and never answers.
func mute(t *testing.T) brokertest.Broker {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return brokertest.Broker{AMQP: "amqp://guest:guest@" + l.Addr().String(), Management: "http://guest:guest@" + l.Addr().String()}
}

func TestSilentBrokerIsShownWithinTenSeconds(t *testing.T) {
	t.Parallel()
	p := place{store: storetest.Open(t)}
	s, _ := supervise(t, drain.Options{
		Store: p.store, Brokers: map[string]drain.Broker{"main": wired(t, mute(t))}, Rules: []drain.Rule{{Queue: storetest.Queue(), Auto: true}},
	})
	began := time.Now()
	brokertest.Eventually(t, "both told", func() bool {
		return s.Heard("main").Trouble != "" && strings.HasSuffix(state(s, storetest.Queue()).Why, " hasn't answered yet.")
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("that took %s", took)
	}
	d := state(s, storetest.Queue())
	if d.Phase != parkade.Connecting || d.Since.After(began.Add(2*time.Second)) {
		t.Errorf("it is %s since %s", d.Phase, d.Since)
	}
	if got := s.Heard("main").Trouble; got != "The management API of main doesn't answer in time." {
		t.Errorf("it says %q", got)
	}
}
