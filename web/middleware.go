package web

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/config"
	"parkade/views"
)

// policy allows what is ours and nothing inline: payloads of strangers are shown
// on these pages.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// The bounds of the body of a request, in bytes.
const (
	maxRequest = 4 << 20
	maxEdit    = 64 << 20 // where it may hold the edited body of a message, whose bytes a form writes as three
)

// requestLimit is how long the body of a request may be.
func requestLimit(url string) int64 {
	switch path.Base(url) {
	case "edit", "preview", "versions", "operations":
		return maxEdit
	}
	return maxRequest
}

// secure sets the headers that every answer has.
func secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // with less, forms would lose their Origin
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set(echo.HeaderCacheControl, "no-store") // what holds payloads stays out of caches
		c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, requestLimit(c.Request().URL.Path))
		return next(c)
	}
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// identify gives the request an id, which answers and log lines share. A proxy's
// own is kept.
func identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(echo.HeaderXRequestID)
		if !plainID.MatchString(id) {
			id = rand.Text()
		}
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		return next(c)
	}
}

// recoverPanic makes an error of a panic.
func recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler:
				panic(r)
			default:
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}

// knownHost answers only to names that are ours. A page of a stranger can give its
// own name our address (DNS rebinding); then the browser takes it for the same
// site, and only the name in the request tells.
func knownHost(cfg func() *config.Config) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			host := c.Request().Host
			if answersTo(cfg(), hostName(host)) || tellsNothing(c.Request().URL.Path) {
				return next(c)
			}
			return parkade.Errorf(parkade.Forbidden, "This server doesn't answer under the name %s. Set public_url to the address that people use, or add the name to hosts.", hostName(host))
		}
	}
}

// tellsNothing reports whether what a path answers is no secret: for what watches
// the process, and how the page looks that says why a name isn't answered.
func tellsNothing(path string) bool {
	return path == "/healthz" || path == "/readyz" || strings.HasPrefix(path, "/static/")
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func answersTo(cfg *config.Config, name string) bool {
	ip := net.ParseIP(name)
	switch {
	case name == "localhost", ip != nil && ip.IsLoopback():
		return true
	case ip != nil && cfg.OpenListen():
		return true // an address is no name, so nobody can have rebound it
	case name == hostName(cfg.Listen):
		return true
	case cfg.PublicURL != nil && name == hostName(cfg.PublicURL.Host):
		return true
	}
	return slices.ContainsFunc(cfg.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// belowBase takes the public path off the request's, where a proxy left it on,
// and tells the views about it.
func belowBase(cfg func() *config.Config) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			base, r := cfg().Base(), c.Request()
			r = r.WithContext(views.WithBase(r.Context(), base))
			if base != "" && (r.URL.Path == base || strings.HasPrefix(r.URL.Path, base+"/")) {
				r.URL.Path, r.URL.RawPath = "/"+strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, base), "/"), ""
			}
			c.SetRequest(r) // which shares its URL with the one that the router looks at
			return next(c)
		}
	}
}

// sameOrigin refuses changes that a page of another site asks for.
func sameOrigin(cfg func() *config.Config) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			guard := http.NewCrossOriginProtection()
			if u := cfg().PublicURL; u != nil {
				// A proxy that ends TLS may change the name in Host.
				if err := guard.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
					return err
				}
			}
			if err := guard.Check(c.Request()); err != nil {
				return parkade.Errorf(parkade.Forbidden, "The request comes from a page of another site, so it was refused. Where this page is behind a proxy, public_url must be its address.").Because(err)
			}
			return next(c)
		}
	}
}
