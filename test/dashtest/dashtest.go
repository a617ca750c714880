// Package dashtest runs the real dashboard as a process of its own, so that tests
// can kill it, cut it off and ask it over its API.
package dashtest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parkade/broker/brokertest"
)

// Config is what a dashboard is started with.
type Config struct {
	Broker  brokertest.Broker
	AMQP    string // of the vhost to drain; see brokertest.Vhost
	Parking []Parking
	Extra   string   // more lines of YAML
	Env     []string // such as PARKADE_CRASH=drain.acked@3
}

// Parking is one drained queue of the configuration.
type Parking struct {
	Queue  string
	Auto   bool
	Replay string // a YAML flow mapping, or ""
}

// Dashboard is a dashboard whose store outlives its process.
type Dashboard struct {
	URL string
	Dir string

	tb      testing.TB
	config  Config
	mu      sync.Mutex
	process *exec.Cmd
	exited  chan error
	logs    bytes.Buffer
}

// Start starts a dashboard on a fresh store and waits until it answers. It is
// killed at the end of the test.
func Start(tb testing.TB, c Config) *Dashboard {
	tb.Helper()
	d := New(tb, c)
	d.Run()
	d.Ready()
	return d
}

// New prepares a dashboard without starting it.
func New(tb testing.TB, c Config) *Dashboard {
	tb.Helper()
	d := &Dashboard{tb: tb, Dir: tb.TempDir(), config: c}
	address := freeAddress(tb)
	d.URL = "http://" + address
	d.write("parkade.yaml", d.yaml(address))
	tb.Cleanup(func() {
		d.Kill()
		if tb.Failed() {
			d.mu.Lock()
			defer d.mu.Unlock()
			tb.Logf("the dashboard logged:\n%s", tail(d.logs.String(), 6000))
		}
	})
	return d
}

// Store is the path of the database.
func (d *Dashboard) Store() string { return filepath.Join(d.Dir, "parkade.db") }

func (d *Dashboard) yaml(address string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "listen: %s\ndatabase: %s\nbrokers:\n", address, d.Store())
	fmt.Fprintf(&b, "  - name: main\n    amqp: %q\n    management: %q\n", vhostless(d.config.AMQP), d.config.Broker.Management)
	if len(d.config.Parking) > 0 {
		b.WriteString("    parking:\n")
	}
	for _, p := range d.config.Parking {
		drain := "manual"
		if p.Auto {
			drain = "auto"
		}
		fmt.Fprintf(&b, "      - vhost: %q\n        queue: %q\n        drain: %s\n", brokertest.VhostName(d.tb, d.config.AMQP), p.Queue, drain)
		if p.Replay != "" {
			fmt.Fprintf(&b, "        replay: %s\n", p.Replay)
		}
	}
	return b.String() + d.config.Extra
}

// Run starts the process, with more variables in its environment, and doesn't wait
// for it.
func (d *Dashboard) Run(env ...string) {
	d.tb.Helper()
	cmd := exec.Command(Binary(d.tb), "--config", filepath.Join(d.Dir, "parkade.yaml"))
	cmd.Env = append(append(os.Environ(), d.config.Env...), env...)
	cmd.Stdout, cmd.Stderr = lockedWriter{d}, lockedWriter{d}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		d.tb.Fatalf("start the dashboard: %v", err)
	}
	exited := make(chan error, 1)
	d.process, d.exited = cmd, exited
	go func() { exited <- cmd.Wait() }()
}

// Ready waits until the dashboard answers.
func (d *Dashboard) Ready() {
	d.tb.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if r, err := http.Get(d.URL + "/readyz"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case err := <-d.exited:
			d.exited <- err
			d.tb.Fatalf("the dashboard ended instead of answering: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	d.tb.Fatal("the dashboard doesn't answer")
}

// PID is the process's id.
func (d *Dashboard) PID() int { return d.process.Process.Pid }

// Kill ends the process by SIGKILL, if it runs.
func (d *Dashboard) Kill() {
	if d.process == nil {
		return
	}
	_ = d.process.Process.Kill()
	<-d.exited
	d.process = nil
}

// Exited waits until the process has ended by itself and returns how.
func (d *Dashboard) Exited(within time.Duration) error {
	d.tb.Helper()
	select {
	case err := <-d.exited:
		d.process = nil
		return err
	case <-time.After(within):
		d.tb.Fatalf("the dashboard still runs after %s", within)
		return nil
	}
}

// HasExited reports whether the process has ended, and forgets it then.
func (d *Dashboard) HasExited() bool {
	select {
	case <-d.exited:
		d.process = nil
		return true
	default:
		return false
	}
}

// Stop asks the process to end, and fails the test if it doesn't end well.
func (d *Dashboard) Stop() {
	d.tb.Helper()
	d.Signal(syscall.SIGTERM)
	if err := d.Exited(25 * time.Second); err != nil {
		d.tb.Fatalf("the dashboard ended badly: %v", err)
	}
}

// Signal sends the process a signal and doesn't wait for what it does.
func (d *Dashboard) Signal(s os.Signal) {
	d.tb.Helper()
	if err := d.process.Process.Signal(s); err != nil {
		d.tb.Fatal(err)
	}
}

// Eventually waits until condition holds.
func (d *Dashboard) Eventually(what string, within time.Duration, condition func() bool) {
	d.tb.Helper()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if condition() {
			return
		}
	}
	d.tb.Fatalf("not within %s: %s", within, what)
}

// Logs returns what the dashboard has logged.
func (d *Dashboard) Logs() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.logs.String()
}

type lockedWriter struct{ d *Dashboard }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	return w.d.logs.Write(p)
}

func (d *Dashboard) write(name, text string) {
	d.tb.Helper()
	if err := os.WriteFile(filepath.Join(d.Dir, name), []byte(text), 0o600); err != nil {
		d.tb.Fatal(err)
	}
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// vhostless is the broker's own URL: which vhost is meant stands beside each queue.
func vhostless(amqpURL string) string {
	head, rest, _ := strings.Cut(amqpURL, "://")
	host, _, _ := strings.Cut(rest, "/")
	return head + "://" + host
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}
