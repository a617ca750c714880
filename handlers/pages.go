package handlers

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"parkade/views"
)

// pageRoutes lists the pages.
func pageRoutes(d Deps) []Route { return append(messageRoutes(d), watchRoutes(d)...) }

// messageRoutes lists the pages about messages and what is done with them.
func messageRoutes(d Deps) []Route {
	return []Route{
		{http.MethodGet, "/rail", Viewer, pages{d}.rail},
		{http.MethodGet, "/messages", Viewer, messages{d}.list},
		{http.MethodGet, "/messages/:id", Viewer, messages{d}.one},
		{http.MethodGet, "/messages/:id/body", Viewer, apiMessages{d}.body},
		{http.MethodPost, "/messages/:id/decide", Operator, messages{d}.decide},
	}
}

type pages struct{ Deps }

// rail answers with the part of every page that changes wherever one is; at is the
// path of the page that stands beside it.
func (h pages) rail(c echo.Context) error {
	s := shell(c, h.Deps)
	s.Path = c.QueryParam("at")
	return render(c, http.StatusOK, views.Rail(s))
}

// at returns a path of ours with a query, below the public address.
func at(c echo.Context, path string, q url.Values) string {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return views.At(c.Request().Context(), path)
}
