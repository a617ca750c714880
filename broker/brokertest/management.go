package brokertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// API makes one call to the management API and returns its status. The path is
// what follows /api/, its parts escaped ("queues/%2F/orders"). in is sent as JSON
// unless nil; the answer is decoded into out unless nil. A status of 500 and more,
// or no answer, fails the test.
func (b Broker) API(tb testing.TB, method, path string, in, out any) int {
	tb.Helper()
	status, err := b.call(tb.Context(), method, path, in, out)
	if err != nil {
		tb.Fatal(err)
	}
	return status
}

func (b Broker) call(ctx context.Context, method, path string, in, out any) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(b.Management, "/")+"/api/"+path, body)
	if err != nil {
		return 0, err
	}
	if user := req.URL.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s %s: %w", method, path, err)
	case res.StatusCode >= http.StatusInternalServerError:
		return 0, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	case out != nil && res.StatusCode < http.StatusMultipleChoices:
		if err := json.Unmarshal(answer, out); err != nil {
			return 0, fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	return res.StatusCode, nil
}

// must makes a call that has to succeed.
func (b Broker) must(tb testing.TB, method, path string, in, out any) {
	tb.Helper()
	if status := b.API(tb, method, path, in, out); status >= http.StatusMultipleChoices {
		tb.Fatalf("%s %s: status %d", method, path, status)
	}
}

// forget deletes what a test made, when the test ends. It is no fault where that
// went with its node or was deleted by the test.
func (b Broker) forget(tb testing.TB, path string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	tb.Cleanup(func() {
		if _, err := b.call(ctx, http.MethodDelete, path, nil, nil); err != nil {
			tb.Logf("clean up: %v", err)
		}
	})
}

func (b Broker) askVersion(tb testing.TB) string {
	tb.Helper()
	var overview struct {
		Version string `json:"rabbitmq_version"`
	}
	b.must(tb, http.MethodGet, "overview", nil, &overview)
	var major, minor int
	if _, err := scanVersion(overview.Version, &major, &minor); err != nil {
		tb.Fatalf("RabbitMQ calls its version %q", overview.Version)
	}
	return fmt.Sprintf("%d.%d", major, minor)
}

func scanVersion(version string, major, minor *int) (int, error) {
	return fmt.Sscanf(version, "%d.%d", major, minor)
}

// Queue asks the management API for one queue of the vhost in amqpURL, decoded
// into out, and reports whether the queue is there. Figures are up to 2 s old.
func (b Broker) Queue(tb testing.TB, amqpURL, queue string, out any) bool {
	tb.Helper()
	path := "queues/" + url.PathEscape(VhostName(tb, amqpURL)) + "/" + url.PathEscape(queue)
	return b.API(tb, http.MethodGet, path, nil, out) == http.StatusOK
}
