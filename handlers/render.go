package handlers

import (
	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"parkade/views"
)

// render renders before it answers, so that a view that fails is an error page
// and not half a page.
func render(c echo.Context, status int, view templ.Component) error {
	buf := templ.GetBuffer()
	defer templ.ReleaseBuffer(buf)
	if err := view.Render(c.Request().Context(), buf); err != nil {
		return err
	}
	return c.HTMLBlob(status, buf.Bytes())
}

// RenderProblem answers a request that failed with a page.
func RenderProblem(c echo.Context, d Deps, f views.Failure) error {
	return render(c, f.Status, views.Problem(shell(c, d), f))
}

// RenderProblemPart answers a request that failed with what a page shows in its
// place for problems.
func RenderProblemPart(c echo.Context, f views.Failure) error {
	return render(c, f.Status, views.ProblemPart(f))
}

// isRefresh reports whether the browser wants only the part of the page that
// changed.
func isRefresh(c echo.Context) bool { return c.Request().Header.Get("Parkade-Refresh") != "" }

// actor names who acts, for the audit trail. Without a sign-in, all that is known
// is the address that the request came from.
func actor(c echo.Context) string { return "somebody at " + c.RealIP() }
