package handlers

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/views"
)

// pageRoutes lists the pages.
func pageRoutes(d Deps) []Route { return append(messageRoutes(d), watchRoutes(d)...) }

// messageRoutes lists the pages about messages and what is done with them.
func messageRoutes(d Deps) []Route {
	list, sends, mends := messages{d}, replays{d}, edits{d}
	const get, post = http.MethodGet, http.MethodPost
	all := []Route{
		{get, "/rail", Viewer, pages{d}.rail},
		{get, "/messages", Viewer, list.list},
		{get, "/messages/:id", Viewer, list.one},
		{get, "/messages/:id/body", Viewer, apiMessages{d}.body},
		{post, "/messages/:id/decide", Operator, list.decide},
		{get, "/messages/:id/edit", Viewer, mends.ask},
		{post, "/messages/:id/edit", Operator, mends.do},
		{get, "/replay", Viewer, sends.ask},
		{post, "/replay", Operator, sends.create},
	}
	for _, verb := range []parkade.Verb{parkade.Discard, parkade.Restore, parkade.Resolve, parkade.GiveBack} {
		h := decisions{d, verb}
		all = append(all, Route{get, "/" + string(verb), Viewer, h.ask}, Route{post, "/" + string(verb), Operator, h.do})
	}
	return all
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
