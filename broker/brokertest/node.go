package brokertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// PrivateNode is a broker of one test's own, for faults that hit a whole node. It starts
// empty and is deleted when the test ends. Its URLs stay the same over restarts.
type PrivateNode struct {
	Broker
	tb     testing.TB
	script string
}

// nodeName sets the node apart from the broker of the same version that all tests share.
const nodeName = "faults"

// Node starts a node of a version. There is one at a time on a machine: other
// tests that want one wait, whatever process they run in.
func Node(tb testing.TB, version string) *PrivateNode {
	tb.Helper()
	URL(tb) // without any broker there is no place to start one either
	n := &PrivateNode{Broker: Broker{Version: version}, tb: tb, script: filepath.Join(moduleRoot(tb), "dev", "broker")}
	lock(tb)
	if _, err := n.run(tb.Context(), "remove", version, nodeName); err == nil {
		tb.Log("removed the node of a test that was killed")
	}
	if out, err := n.run(tb.Context(), "start", version, nodeName); err != nil {
		missing(tb, "no node of RabbitMQ "+version+" can be started here: "+out)
	}
	tb.Cleanup(func() {
		if out, err := n.run(context.WithoutCancel(tb.Context()), "remove", version, nodeName); err != nil {
			tb.Errorf("remove the node: %v: %s", err, out)
		}
	})
	n.AMQP, n.Management, _ = strings.Cut(strings.TrimSpace(n.must("urls")), ",")
	return n
}

// Start starts the node again with what it had stored, and returns once it answers.
func (n *PrivateNode) Start() { n.tb.Helper(); n.must("start") }

// Stop stops the node in good order.
func (n *PrivateNode) Stop() { n.tb.Helper(); n.must("stop") }

// Kill9 kills the node as a power cut would. What it confirmed survives, but for a
// quorum queue that is younger than about a second: RabbitMQ registers it on disk
// only every half second, and without that its log is not read again (measured on
// 4.3.6). Stop and Start after declaring one makes it lasting.
func (n *PrivateNode) Kill9() { n.tb.Helper(); n.must("kill9") }

// Ctl runs rabbitmqctl on the node and returns what it prints, for instance
// Ctl("set_vm_memory_high_watermark", "absolute", "1MB") for a memory alarm.
func (n *PrivateNode) Ctl(arguments ...string) string {
	n.tb.Helper()
	return n.must("ctl", arguments...)
}

func (n *PrivateNode) must(verb string, arguments ...string) string {
	n.tb.Helper()
	out, err := n.run(n.tb.Context(), append([]string{verb, n.Version, nodeName}, arguments...)...)
	if err != nil {
		n.tb.Fatalf("dev/broker %s: %v: %s", verb, err, out)
	}
	return out
}

func (n *PrivateNode) run(ctx context.Context, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // the first start may have to fetch the broker
	defer cancel()
	cmd := exec.CommandContext(ctx, n.script, arguments...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return stderr.String(), err
	}
	return string(out), nil
}

// lock waits for the one place on this machine for a node of a test's own.
func lock(tb testing.TB) {
	tb.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "parkade-own-node.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() }) // which unlocks it
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		tb.Fatal(err)
	}
}

// moduleRoot returns the folder of go.mod: tests run in the folder of their package.
func moduleRoot(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			tb.Fatal("the test runs outside of the module")
		}
		folder = parent
	}
}
