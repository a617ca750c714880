package web_test

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"parkade/store/storetest"
	"parkade/web"
)

// serve answers on a port of its own until the returned function is called, which
// returns what Serve did.
func serve(t *testing.T, s site) (address string, stop func() error) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- web.Serve(ctx, l, s, slog.New(slog.DiscardHandler)) }()
	return "http://" + l.Addr().String(), func() error { cancel(); return <-done }
}

// since is the address of the stream that a page asks for which is drawn now.
func since(t *testing.T, s site) string {
	t.Helper()
	_, rest, _ := strings.Cut(s.ask(t, "GET", "/settings", "").Body.String(), `connect="`)
	path, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatal("the page has no stream")
	}
	return path
}

// follow opens a stream and returns what waits for the name of its next event.
func follow(ctx context.Context, t *testing.T, address string) (next func() string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("got %s", got)
	}
	lines := bufio.NewScanner(res.Body)
	return func() string {
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				return name
			}
		}
		return "the end"
	}
}

func TestTheStreamBeginsWithWhatThePageHasMissed(t *testing.T) {
	t.Parallel()
	s := open(t)
	address, stop := serve(t, s)
	ctx, leave := context.WithCancel(t.Context())
	path := since(t, s)
	storetest.Park(t, s.store, storetest.Queue(), storetest.Delivery("", "x"))
	next := follow(ctx, t, address+path)
	seen := map[string]bool{}
	for range 4 {
		seen[next()] = true
	}
	for _, topic := range []string{"messages", "operations", "actions", "drains"} {
		if !seen[topic] {
			t.Errorf("nothing says that %s may have changed: %v", topic, seen)
		}
	}
	leave()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestTheStreamSaysWhatChangedAtMostTwiceASecond(t *testing.T) {
	t.Parallel()
	s := open(t)
	address, stop := serve(t, s)
	ctx, leave := context.WithCancel(t.Context())
	next := follow(ctx, t, address+since(t, s))
	if first := next(); first != "beat" {
		t.Errorf("it begins with %s", first)
	}
	started := time.Now()
	for range 20 {
		storetest.Park(t, s.store, storetest.Queue(), storetest.Delivery("", "x"))
	}
	seen := map[string]int{}
	for range 2 {
		seen[next()]++
	}
	if took := time.Since(started); seen["messages"] == 0 || took < 400*time.Millisecond {
		t.Errorf("after %s: %v", took, seen)
	}
	leave()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerInHandIsSeenThrough(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked, done, answered := make(chan struct{}), make(chan error, 1), make(chan int, 1)
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond)
		w.WriteHeader(http.StatusTeapot)
	})
	go func() { done <- web.Serve(ctx, l, slow, slog.New(slog.DiscardHandler)) }()
	go func() {
		res, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answered <- 0
			return
		}
		_ = res.Body.Close()
		answered <- res.StatusCode
	}()
	<-asked
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := <-answered; got != http.StatusTeapot {
		t.Errorf("got status %d", got)
	}
}
