package bench

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

// Memory stays bounded however much lies in the queue.
func TestMemoryBudget(t *testing.T) {
	tests := []struct {
		name         string
		small, large int
		limitMiB     int64
	}{
		{"many small ones", 1_000_000, 0, 150},
		{"large ones behind small ones", 2_000, 200, 300},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			small, large := scaled(t, tt.small), tt.large
			b := brokertest.Main(t)
			amqpURL := brokertest.Vhost(t, b)
			queue := brokertest.Queue(t, amqpURL, "classic", "bench.parking", nil)
			fill(t, amqpURL, queue, small, 1024)
			fill(t, amqpURL, queue, large, 1<<20)
			d := dashtest.Start(t, dashtest.Config{Broker: b, AMQP: amqpURL, Parking: []dashtest.Parking{{Queue: queue, Auto: true}}})
			began := time.Now()
			d.Eventually("everything is stored", 10*time.Minute, func() bool { return drained(d) == int64(small+large) })
			took := time.Since(began)
			peak := peakMiB(t, d.PID())
			t.Logf("%d × 1 KiB and %d × 1 MiB drained in %s, at most %d MiB", small, large, took.Round(time.Millisecond), peak)
			if peak > tt.limitMiB {
				t.Errorf("the process took %d MiB, the budget is %d", peak, tt.limitMiB)
			}
		})
	}
}

// peakMiB is the most memory that a process ever had in use.
func peakMiB(t *testing.T, pid int) int64 {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib / 1024
		}
	}
	t.Fatal("no VmHWM in the process's status")
	return 0
}

// cpuTime is how long a process has been on a processor.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// utime and stime follow the 11th field after the name, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
