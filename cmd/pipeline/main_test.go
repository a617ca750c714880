package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parkade/broker/brokertest"
	"parkade/pipeline"
)

func TestCommandLineSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, args := range map[string]string{
		"poison must be between":    "demo --poison 101",
		"wait must not be negative": "demo --wait=-1s",
		"must be a URL like":        "demo --amqp http://localhost",
		"listen at nowhere":         "demo --control nowhere",
		"unknown flag":              "demo --poisn 1",
		"must be one of":            "demo --retry never",
		"see pipeline --help":       "",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", args, err, want)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"demo", "--help"}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "--poison") {
		t.Errorf("the help is %q, %v", out.String(), err)
	}
}

func TestDemoRunsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	control := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{
			"demo", "--amqp", b.AMQP, "--management", b.Management, "--vhost", brokertest.VhostName(t, url),
			"--control", control, "--database", filepath.Join(t.TempDir(), "billing.db"), "--prefix", "x.", "--wait", "100ms", "--rate", "30", "--malformed", "10", "--slow", "0",
		}, io.Discard, io.Discard)
	}()
	var state pipeline.State
	brokertest.Eventually(t, "invoices and parked orders in its state", func() bool {
		res, err := http.Get("http://" + control + "/")
		if err != nil {
			return false // it starts
		}
		defer res.Body.Close()
		return json.NewDecoder(res.Body).Decode(&state) == nil && state.Counts.Invoiced > 0 && state.Counts.Parked > 0
	})
	if got := state.Traffic; got.Rate != 30 || got.Malformed != 10 || got.Poison != 10 || got.SlowMillis != 1000 {
		t.Errorf("the traffic is %+v", got)
	}
	if brokertest.Ready(t, url, "x.orders.parking") == 0 {
		t.Error("nothing is parked under the prefix")
	}
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("it stopped with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not stop")
	}
}

func TestDemoEndsWhereTheTopologyDiffers(t *testing.T) {
	t.Parallel()
	url := brokertest.Vhost(t, brokertest.Main(t))
	brokertest.Queue(t, url, brokertest.Classic, "orders.wait", nil)
	err := run(t.Context(), []string{"demo", "--amqp", url, "--control", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "billing.db")}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--prefix") || strings.Contains(err.Error(), "guest") {
		t.Errorf("it ended with %v", err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
