package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
)

// program is one run of the dashboard inside of this process.
type program struct {
	t    *testing.T
	site string
	stop context.CancelFunc
	done chan error
	logs *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func noEnv(string) string { return "" }

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// file writes a configuration for a vhost of b, in which every parking queue is
// drained, and returns its path and the address it listens at.
func file(t *testing.T, b brokertest.Broker, vhost, more string) (path, address string) {
	t.Helper()
	path, address = filepath.Join(t.TempDir(), "parkade.yaml"), freeAddress(t)
	text := fmt.Sprintf("listen: %s\ndatabase: %s\nbrokers:\n  - name: main\n    amqp: %q\n    management: %q\n    parking: [{ vhost: %q, queue: orders.parking, drain: auto }]\n%s",
		address, filepath.Join(filepath.Dir(path), "parkade.db"), strings.TrimSuffix(b.AMQP, "/"), b.Management, vhost, more)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, address
}

func start(t *testing.T, address string, args ...string) *program {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	p := &program{t: t, site: "http://" + address, stop: stop, done: make(chan error, 1), logs: &buffer{}}
	go func() { p.done <- run(ctx, args, noEnv, io.Discard, p.logs) }()
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			t.Log(p.logs)
		}
	})
	brokertest.Eventually(t, "the dashboard ready", func() bool {
		res, err := http.Get(p.site + "/readyz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return p
}

// end stops the program, if it runs, and returns how it ended.
func (p *program) end() error {
	p.t.Helper()
	p.stop()
	if p.done == nil {
		return nil
	}
	defer func() { p.done = nil }()
	select {
	case err := <-p.done:
		return err
	case <-time.After(25 * time.Second):
		p.t.Error("it doesn't end")
		return nil
	}
}

func (p *program) ask(method, path, body string, out any) int {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.site+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			p.t.Fatalf("%s %s: %s: %v", method, path, answer, err)
		}
	}
	return res.StatusCode
}

type messages struct {
	Items []struct{ ID, State string }
	Total int64
}

// failed declares a work queue that dead-letters into orders.parking, publishes to
// it, and fails what was published, as a consumer would.
func failed(t *testing.T, url string, bodies ...string) (work string) {
	t.Helper()
	parking := brokertest.Queue(t, url, brokertest.Classic, "orders.parking", nil)
	work = brokertest.Queue(t, url, brokertest.Classic, "orders.work", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": parking})
	reject(t, url, work, bodies...)
	return work
}

func reject(t *testing.T, url, work string, bodies ...string) {
	t.Helper()
	for i, body := range bodies {
		brokertest.Publish(t, url, "", work, amqp.Publishing{MessageId: fmt.Sprint("m", i), DeliveryMode: amqp.Persistent, Body: []byte(body)})
	}
	ch := brokertest.Channel(t, url)
	for range bodies {
		d, ok, err := ch.Get(work, false)
		if err != nil || !ok {
			t.Fatalf("nothing to reject: %v", err)
		}
		if err := d.Reject(false); err != nil {
			t.Fatal(err)
		}
	}
}
