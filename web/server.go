// Package web is the HTTP server: what every request goes through, the one answer
// to every error, and what is for machines that watch this process. It mounts
// what package handlers lists.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"parkade/config"
	"parkade/handlers"
	"parkade/static"
)

// New returns the site: everything that is answered.
func New(d handlers.Deps, log *slog.Logger) http.Handler {
	e := echo.New()
	e.IPExtractor = clientIP(d.Config)
	e.HTTPErrorHandler = answerErrors(d, log)
	e.Pre(identify, secure, recoverPanic, belowBase(d.Config), knownHost(d.Config), sameOrigin(d.Config))
	for _, r := range handlers.Routes(d) {
		e.Add(r.Method, r.Path, r.Handler)
	}
	probes := &probes{store: d.Store, now: d.Now}
	look := []string{http.MethodGet, http.MethodHead} // which load balancers ask by
	e.Match(look, "/healthz", probes.healthz)
	e.Match(look, "/readyz", probes.readyz)
	e.GET("/metrics", echo.WrapHandler(metrics(d, log)))
	e.Match(look, "/static/*", echo.WrapHandler(static.Handler()))
	return e
}

// clientIP finds the address that a request came from. A header that names it
// counts only where a public_url says that there is a proxy, and only from a
// private or loopback address: anybody else could write anything into it.
func clientIP(cfg func() *config.Config) echo.IPExtractor {
	direct, proxied := echo.ExtractIPDirect(), echo.ExtractIPFromXFFHeader()
	return func(r *http.Request) string {
		if cfg().PublicURL != nil {
			return proxied(r)
		}
		return direct(r)
	}
}

// The time limits of one request. Event streams lift them, and each of their
// writes has one of its own.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	writeTimeout  = 2 * time.Minute
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 10 * time.Second // for requests that are being answered
)

// Serve answers requests on l until ctx ends; then it sees the ones in hand
// through, for 10 seconds at most, and closes l. Event streams have to end by
// themselves: they follow Deps.Closing.
func Serve(ctx context.Context, l net.Listener, site http.Handler, log *slog.Logger) error {
	s := &http.Server{
		Handler: site, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 64 << 10,
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		stopped <- s.Shutdown(timed)
	})
	err := s.Serve(l)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err // it failed before it was told to stop
	}
	if err := <-stopped; err != nil {
		log.Warn("requests were cut off", "err", err)
		return s.Close()
	}
	return nil
}
