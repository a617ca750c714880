package handlers

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"parkade/store"
)

const (
	beat = 10 * time.Second       // without which a page says that it is no longer live
	pace = 500 * time.Millisecond // between two events of one stream, at least
)

type events struct{ Deps }

//nolint:gochecknoglobals // tells this process from the one before it
var process = rand.Text()

// seen names the changes that what is read from now on contains.
func seen(d Deps) string {
	return process + "-" + strconv.FormatUint(d.Store.Revision()+d.Drains.Revision(), 10)
}

// stream says which part of the data changed, until the browser leaves or the
// server stops. What changes meanwhile shares the next event. A page that was drawn
// before the last change, or by another process, is told at once.
func (h events) stream(c echo.Context) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	defer context.AfterFunc(h.Closing, cancel)()

	follow := func(t store.Topic) (<-chan struct{}, func()) { return h.Store.Subscribe(t) }
	messages, stop := follow(store.Messages)
	defer stop()
	operations, stop := follow(store.Operations)
	defer stop()
	actions, stop := follow(store.Actions)
	defer stop()
	drains, stop := h.Drains.Subscribe()
	defer stop()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()

	w, err := openStream(c)
	if err != nil {
		return err
	}
	if c.QueryParam("since") != seen(h.Deps) {
		for _, topic := range []string{"messages", "operations", "actions", "drains"} {
			if err := w.send(topic); err != nil {
				return nil // the browser left: there is nobody to tell
			}
		}
	}
	for say := "beat"; ; {
		if err := w.send(say); err != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-messages:
			say = "messages"
		case <-operations:
			say = "operations"
		case <-actions:
			say = "actions"
		case <-drains:
			say = "drains"
		case <-ticker.C:
			say = "beat"
			continue // a beat waits for nothing, so that it is never late
		}
		if !sleep(ctx, pace) {
			return nil
		}
	}
}

// stream is an open event stream.
type stream struct {
	out  io.Writer
	ctrl *http.ResponseController
}

func openStream(c echo.Context) (stream, error) {
	s := stream{c.Response(), http.NewResponseController(c.Response())}
	// The server's time limits are for answers that end.
	if err := errors.Join(s.ctrl.SetReadDeadline(time.Time{}), s.ctrl.SetWriteDeadline(time.Time{})); err != nil {
		return stream{}, err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	c.Response().WriteHeader(http.StatusOK)
	return s, nil
}

// send sends one event. It has data only because clients drop events without.
// A browser that takes nothing for a beat is gone.
func (s stream) send(name string) error {
	if err := s.ctrl.SetWriteDeadline(time.Now().Add(beat)); err != nil {
		return err
	}
	if _, err := io.Copy(s.out, strings.NewReader("event: "+name+"\ndata: {}\n\n")); err != nil {
		return err
	}
	return s.ctrl.Flush()
}

// sleep waits for d, and reports false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
