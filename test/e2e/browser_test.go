// Package e2e uses the real dashboard as people do: in a real browser, beside a
// real RabbitMQ.
package e2e

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"parkade/test/dashtest"
)

// chromium is the one browser that all tests have their tabs in.
//
//nolint:gochecknoglobals // one browser for a whole test program
var chromium struct {
	once    sync.Once
	ctx     context.Context
	profile string
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.ctx != nil {
		_ = chromedp.Cancel(chromium.ctx) // which waits until it has gone
		os.RemoveAll(chromium.profile)
	}
	dashtest.Cleanup()
	os.Exit(code)
}

// started starts the browser once and returns its context.
func started(t *testing.T) context.Context {
	t.Helper()
	chromium.once.Do(func() {
		if chromium.profile, chromium.err = os.MkdirTemp("", "parkade-chromium-"); chromium.err != nil { //nolint:usetesting // outlives the test that starts it
			return
		}
		options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(executable(t)), chromedp.UserDataDir(chromium.profile)}
		// Without these, it asks the world for things that nobody needs here.
		for _, flag := range []string{
			"no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
		} {
			options = append(options, chromedp.Flag(flag, true))
		}
		options = append(options, chromedp.Flag("host-resolver-rules", "MAP stranger.example 127.0.0.1"))
		chromium.ctx, _ = chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
		chromium.err = chromedp.Do(chromium.ctx)
	})
	if chromium.err != nil {
		t.Fatalf("start Chromium: %v", chromium.err)
	}
	if chromium.ctx == nil {
		t.Skip("Chromium is missing")
	}
	return chromium.ctx
}

// executable finds the browser. Without one, a test is left out; in CI it fails.
func executable(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("Chromium is missing: dev/install brings it")
	}
	t.Skip("left out, because Chromium is missing: dev/install brings it")
	return ""
}

// A tab is one tab of the browser. Tabs of different tests know nothing of each
// other: each test has cookies and storage of its own.
type tab struct {
	t    *testing.T
	ctx  context.Context
	site string

	mu        sync.Mutex
	complains []string // what the page wrote to the console that it shouldn't have
	tolerated []string
}

// open opens a tab on a site. When the test ends, everything that the page has
// complained about in the console fails it.
func open(t *testing.T, site string) *tab {
	t.Helper()
	return newTab(started(t), t, site, chromedp.WithNewBrowserContext())
}

// another opens a second tab of the same person.
func (b *tab) another() *tab {
	b.t.Helper()
	return newTab(b.ctx, b.t, b.site)
}

func newTab(parent context.Context, t *testing.T, site string, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, site: site}
	if err := chromedp.Do(ctx); err != nil { // without a deadline, which would be the tab's
		t.Fatalf("open a tab: %v", err)
	}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.size(desk, false)
	t.Cleanup(b.checkConsole)
	return b
}

// listen keeps complaints of the page, such as violations of the content security
// policy, exceptions, and what couldn't be loaded.
func (b *tab) listen(event any) {
	what := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		what = e.ExceptionDetails.Text
		if o := e.ExceptionDetails.Exception; o != nil {
			what += " " + o.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.ConsoleAPICalledTypeError && e.Type != runtime.ConsoleAPICalledTypeWarning {
			return
		}
		words := make([]string, len(e.Args))
		for i, o := range e.Args {
			words[i] = string(o.Value) + o.Description
		}
		what = strings.Join(words, " ")
	case *log.EventEntryAdded:
		if e.Entry.Level != log.EntryLevelError && e.Entry.Level != log.EntryLevelWarning {
			return
		}
		what = string(e.Entry.Source) + ": " + e.Entry.Text + " " + e.Entry.URL
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complains = append(b.complains, what)
}

// tolerate says what the page may complain about in this test.
func (b *tab) tolerate(texts ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tolerated = append(b.tolerated, texts...)
}

func (b *tab) checkConsole() {
	b.text() // all that was written before it is answered has been heard
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.complains {
		if !slices.ContainsFunc(b.tolerated, func(s string) bool { return contains(complaint, s) }) {
			b.t.Errorf("the console of the page has: %s", complaint)
		}
	}
}

// script switches JavaScript on or off, from the next page on.
func (b *tab) script(on bool) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
		b.t.Fatal(err)
	}
}
