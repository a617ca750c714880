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
	"syscall"
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

// A message that failed appears, is replayed to where it failed, confirmed, and
// consumed; then the program ends, though a browser is looking.
func TestDashboard(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	work := failed(t, url, "hello from the broker")
	path, address := file(t, b, brokertest.VhostName(t, url), "")
	p := start(t, address, "--config", path)

	var parked messages
	brokertest.Eventually(t, "the message", func() bool {
		return p.ask("GET", "/api/v1/messages?state=parked", "", &parked) == http.StatusOK && parked.Total == 1
	})
	res, err := http.Get(p.site + "/api/v1/messages/" + parked.Items[0].ID + "/body")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != "hello from the broker" {
		t.Errorf("the body is %q", body)
	}

	var op struct {
		ID, State string
		Counts    map[string]int64
	}
	request := `{"verb": "replay", "select": {"ids": ["` + parked.Items[0].ID + `"]}, "expect": {"count": 1}}`
	if status := p.ask("POST", "/api/v1/operations", request, &op); status != http.StatusCreated {
		t.Fatalf("status %d", status)
	}
	brokertest.Eventually(t, "the replay confirmed", func() bool {
		p.ask("GET", "/api/v1/operations/"+op.ID, "", &op)
		return op.State == "finished" && op.Counts["confirmed"] == 1
	})
	got := brokertest.Take(t, url, work, 1)[0]
	if string(got.Body) != "hello from the broker" || got.MessageId != "m0" || got.Headers["x-replay-id"] == nil || got.Headers["x-death"] != nil {
		t.Errorf("the consumer got %q with %v", got.Body, got.Headers)
	}

	stream, err := http.Get(p.site + "/events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stream.Body.Close() })
	started := time.Now()
	if err := p.end(); err != nil {
		t.Error(err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
}

func TestASecondProcessRefusesAndNamesTheFirst(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	path, address := file(t, b, brokertest.VhostName(t, brokertest.Vhost(t, b)), "")
	p := start(t, address, "--config", path)
	err := run(t.Context(), []string{"--config", path, "--listen", freeAddress(t)}, noEnv, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("the second one says %v", err)
	}
	if p.ask("GET", "/readyz", "", nil) != http.StatusOK {
		t.Error("the first one is disturbed")
	}
	err = run(t.Context(), []string{"--listen", address, "--database", filepath.Join(t.TempDir(), "other.db")}, noEnv, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("an address in use: %v", err)
	}
}

// The only test that isn't parallel: a signal goes to the whole process.
func TestAReloadAppliesWhatIsGoodAndRefusesWhatIsNot(t *testing.T) { //nolint:paralleltest // see above
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	vhost := brokertest.VhostName(t, url)
	other := brokertest.Queue(t, url, brokertest.Classic, "billing.errors", nil)
	path, address := file(t, b, vhost, "")
	p := start(t, address, "--config", path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	signal := func(text, logged string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		brokertest.Eventually(t, logged, func() bool { return strings.Contains(p.logs.String(), logged) })
	}
	signal(string(good)+"listn: x\n", "there is no such key")
	more := strings.Replace(string(good), "parking: [", fmt.Sprintf("parking: [{ vhost: %q, queue: %q, drain: auto }, ", vhost, other), 1)
	signal(strings.Replace(more, "listen: "+address, "listen: 127.0.0.1:1", 1), "needs_restart=[listen]")
	brokertest.Publish(t, url, "", other, amqp.Publishing{Body: []byte("x")})
	brokertest.Eventually(t, "the new queue drained", func() bool {
		var parked messages
		p.ask("GET", "/api/v1/messages?queue="+other, "", &parked)
		return parked.Total == 1
	})
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	failed(t, url, "one", "two")
	path, address := file(t, b, brokertest.VhostName(t, url), "")
	p := start(t, address, "--config", path)
	brokertest.Eventually(t, "two messages", func() bool {
		var parked messages
		p.ask("GET", "/api/v1/messages", "", &parked)
		return parked.Total == 2
	})
	var out buffer
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := run(t.Context(), []string{"backup", backup, "--config", path}, noEnv, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"healthcheck", "--config", path}, noEnv, &out, io.Discard); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"restore", backup, "--config", path}, noEnv, &out, io.Discard); err == nil {
		t.Error("a store in use is replaced")
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"healthcheck", "--config", path}, noEnv, &out, io.Discard); err == nil {
		t.Error("a dashboard that ended is healthy")
	}
	if err := run(t.Context(), []string{"restore", backup, "--config", path}, noEnv, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	again := start(t, address, "--config", path)
	var parked messages
	if again.ask("GET", "/api/v1/messages", "", &parked); parked.Total != 2 {
		t.Errorf("%d messages are restored", parked.Total)
	}
	if !strings.Contains(out.String(), ".before-") {
		t.Errorf("it doesn't say where the old store is: %s", &out)
	}
}

func TestCheckSaysAllFaults(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	vhost := brokertest.VhostName(t, url)
	good, _ := file(t, b, vhost, "")
	check := func(path string) (string, error) {
		var out buffer
		err := run(t.Context(), []string{"check", "--config", path}, noEnv, &out, io.Discard)
		return out.String(), err
	}
	if out, err := check(good); err == nil || !strings.Contains(out, "fault  main "+vhost+" orders.parking: There is no such queue.") {
		t.Errorf("a queue that isn't there: %v\n%s", err, out)
	}
	brokertest.Queue(t, url, brokertest.Classic, "orders.parking", nil)
	if out, err := check(good); err != nil || strings.Contains(out, "fault") {
		t.Errorf("a good one: %v\n%s", err, out)
	}
	bad, _ := file(t, b, vhost, "  - { name: away, amqp: \"amqp://me:hunter2@127.0.0.1:1\", management: \"http://me:hunter2@127.0.0.1:1\" }\n")
	out, err := check(bad)
	if err == nil || strings.Count(out, "fault  away") != 2 || strings.Contains(out, "hunter2") {
		t.Errorf("a broker that is away: %v\n%s", err, out)
	}
}

func TestTheCommandLine(t *testing.T) {
	t.Parallel()
	do := func(args ...string) (string, error) {
		var out buffer
		err := run(t.Context(), args, noEnv, &out, &out)
		return out.String(), err
	}
	if out, err := do("version"); err != nil || out != "parkade dev\n" {
		t.Errorf("version: %q, %v", out, err)
	}
	if out, err := do("--help"); err != nil || !strings.Contains(out, "PARKADE_CONFIG") {
		t.Errorf("help: %q, %v", out, err)
	}
	for _, args := range [][]string{{"fly"}, {"--colour"}, {"backup"}, {"--config", "/nowhere/parkade.yaml"}, {"--listen", "0.0.0.0:0"}, {"--database", "/nowhere/parkade.db"}} {
		if _, err := do(args...); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
