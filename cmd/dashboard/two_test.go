package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"parkade/broker/brokertest"
)

// A queue that another dashboard drains isn't drained, because each would get a
// part of it; one's own drain is no stranger.
func TestTwoDashboardsOnOneQueueSeeEachOther(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	vhost := brokertest.VhostName(t, url)
	brokertest.Queue(t, url, brokertest.Classic, "orders.parking", nil)
	first, address := file(t, b, vhost, "")
	start(t, address, "--config", first)
	consumers := func(config string) string {
		var out buffer
		_ = run(context.WithoutCancel(t.Context()), []string{"check", "--config", config}, noEnv, &out, io.Discard)
		return out.String()
	}
	second, another := file(t, b, vhost, "")
	brokertest.Eventually(t, "the first one's consumer", func() bool {
		return strings.Contains(consumers(second), "1 other consumer also takes from it")
	})
	if out := consumers(first); strings.Contains(out, "fault") || strings.Contains(out, "other consumer") {
		t.Errorf("the first one finds itself: %s", out)
	}
	p := start(t, another, "--config", second)
	brokertest.Eventually(t, "the second one stopped", func() bool {
		var drains struct {
			Items []struct{ Queue, Phase, Why string }
		}
		p.ask("GET", "/api/v1/drains", "", &drains)
		for _, d := range drains.Items {
			if d.Queue == "orders.parking" {
				return d.Phase == "stopped" && strings.Contains(d.Why, "1 other consumer also takes from it")
			}
		}
		return false
	})
}
