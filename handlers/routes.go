// Package handlers answers requests: each reads its input, calls what does the
// work, and picks a view or an answer in JSON. Errors are returned; package web
// answers them.
package handlers

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"parkade/config"
	"parkade/drain"
	"parkade/replay"
	"parkade/store"
)

// Deps is what handlers work with.
type Deps struct {
	Store   *store.Store
	Drains  *drain.Supervisor
	Planner *replay.Planner
	Runner  *replay.Runner
	Config  func() *config.Config // the one in force: a reload replaces it
	Now     func() time.Time
	Version string
	Closing context.Context // ends when the server stops, before its requests do
}

// Role is what somebody has to be allowed to do.
type Role string

// The roles, each of which includes the ones before it. Without a sign-in,
// everybody has all of them.
const (
	Viewer   Role = "viewer"   // look
	Operator Role = "operator" // replay, discard, drain
)

// Route is one line of the table of everything that is answered.
type Route struct {
	Method  string
	Path    string // below the public path; ids stand in it, names never do
	Role    Role
	Handler echo.HandlerFunc
}

// Routes lists everything that is answered besides static files and what is for
// machines that watch this process.
func Routes(d Deps) []Route {
	return slices.Concat(
		pageRoutes(d),
		apiRoutes(d),
		[]Route{{http.MethodGet, "/events", Viewer, events{d}.stream}},
	)
}
