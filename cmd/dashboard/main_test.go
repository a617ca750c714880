package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
)

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
