package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
)

// probes answers what watches this process.
type probes struct {
	store *store.Store
	now   func() time.Time

	mu    sync.Mutex
	asked time.Time
	err   error // of the last probe
}

// healthz says that the process answers.
func (p *probes) healthz(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// readyz says whether the store takes writes. Whether drains run is in the
// metrics: a broker that is away is no reason to restart this process.
func (p *probes) readyz(c echo.Context) error {
	if err := p.probe(c.Request().Context()); err != nil {
		return parkade.Errorf(parkade.Unavailable, "The store can't be written.").Because(err)
	}
	return c.String(http.StatusOK, "ready\n")
}

// probe writes to the store, once a second at most: each write is a flush to the
// disk, which drains need too.
func (p *probes) probe(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if since := now.Sub(p.asked); since >= 0 && since < time.Second {
		return p.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	p.asked, p.err = now, p.store.Probe(ctx)
	return p.err
}
