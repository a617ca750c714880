package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// watchRoutes lists the pages about what is watched and what is running.
func watchRoutes(d Deps) []Route {
	overview, operations, queues, drains := overviewPage{d}, operationPages{d}, queuePages{d}, drainForms{d}
	actions, settings := actionPages{d}, settingsPage{d}
	const get, post = http.MethodGet, http.MethodPost
	return []Route{
		{get, "/", Viewer, overview.show},
		{get, "/operations", Viewer, operations.list},
		{get, "/operations/:id", Viewer, operations.one},
		{get, "/operations/:id/replays.csv", Viewer, operations.csv},
		{post, "/operations/:id/dismiss", Operator, operations.dismiss},
		{post, "/operations/:id/pause", Operator, operations.pause},
		{post, "/operations/:id/resume", Operator, operations.resume},
		{get, "/operations/:id/cancel", Viewer, operations.askCancel},
		{post, "/operations/:id/cancel", Operator, operations.cancel},
		{get, "/queues", Viewer, queues.list},
		{get, "/queue", Viewer, queues.one},
		{get, "/drains/start", Viewer, drains.askStart},
		{post, "/drains/start", Operator, drains.start},
		{get, "/drains/next", Viewer, drains.askNext},
		{post, "/drains/next", Operator, drains.next},
		{get, "/drains/stop", Viewer, drains.askStop},
		{post, "/drains/stop", Operator, drains.stop},
		{get, "/drains/brake", Viewer, drains.askBrake},
		{post, "/drains/brake", Operator, drains.brake},
		{get, "/actions", Viewer, actions.list},
		{get, "/settings", Viewer, settings.show},
	}
}

// inSheet reports whether the answer goes into a page that is open, and not into
// a window of its own.
func inSheet(c echo.Context) bool {
	return c.Request().Header.Get("HX-Request") == "true" && !isRefresh(c)
}

// goTo leads on from a form that did its work, to a path below the public address.
func goTo(c echo.Context, path string) error {
	if inSheet(c) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusOK)
	}
	return c.Redirect(http.StatusSeeOther, path)
}
