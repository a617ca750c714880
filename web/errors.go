package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/handlers"
	"parkade/views"
)

// problem is a failure as it is answered, whatever the form (RFC 9457).
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Field     string `json:"field,omitempty"`
	RequestID string `json:"request_id,omitempty"`
}

// slot is where a page shows a problem: inside of an open dialog, so that nothing
// typed into it is lost, else on the page.
const slot = "dialog[open] [data-problem], body:not(:has(dialog[open])) [data-problem]"

// answerErrors is the one place where an error becomes an answer and a log line.
func answerErrors(d handlers.Deps, log *slog.Logger) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		r := c.Request()
		if c.Response().Committed || r.Context().Err() != nil {
			return // too late, or nobody is left to tell
		}
		p := explain(err)
		p.RequestID = c.Response().Header().Get(echo.HeaderXRequestID)
		if p.Status >= http.StatusInternalServerError {
			log.ErrorContext(r.Context(), "request failed", "method", r.Method, "route", c.Path(), "request_id", p.RequestID, "status", p.Status, "err", err)
		}
		if err := p.answer(c, d); err != nil {
			log.ErrorContext(r.Context(), "answering a failed request", "request_id", p.RequestID, "err", err)
		}
	}
}

// explain says what a person may learn about err.
func explain(err error) problem {
	if e, ok := errors.AsType[*parkade.Error](err); ok {
		status := statusOf(e.Kind)
		return problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.Message, Field: e.Field}
	}
	status, detail := http.StatusInternalServerError, ""
	if e, ok := errors.AsType[*echo.HTTPError](err); ok { // the router's own
		status = e.Code
	}
	switch {
	case status == http.StatusNotFound:
		detail = "There is nothing at this address."
	case status == http.StatusMethodNotAllowed:
		detail = "This address can't be used like that."
	case status < http.StatusInternalServerError:
		detail = http.StatusText(status) + "."
	case errors.Is(err, context.DeadlineExceeded):
		status, detail = http.StatusServiceUnavailable, "That took too long. Try again."
	default:
		_, detail = parkade.Explain(err)
	}
	return problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

func statusOf(kind parkade.Kind) int {
	switch kind {
	case parkade.Invalid:
		return http.StatusUnprocessableEntity
	case parkade.NotFound:
		return http.StatusNotFound
	case parkade.Conflict:
		return http.StatusConflict
	case parkade.Forbidden:
		return http.StatusForbidden
	case parkade.TooLarge:
		return http.StatusRequestEntityTooLarge
	case parkade.Unavailable:
		return http.StatusServiceUnavailable
	case parkade.Internal:
	}
	return http.StatusInternalServerError
}

// answer writes p in the form that whoever asked understands.
func (p problem) answer(c echo.Context, d handlers.Deps) error {
	r, h := c.Request(), c.Response().Header()
	// What the handler that failed set for its own answer.
	h.Del(echo.HeaderContentDisposition)
	h.Set(echo.HeaderCacheControl, "no-store")
	switch {
	case r.Method == http.MethodHead:
		return c.NoContent(p.Status)
	case strings.HasPrefix(r.URL.Path, "/api/"):
		body, err := json.Marshal(p)
		if err != nil {
			return err
		}
		return c.Blob(p.Status, "application/problem+json", body)
	case r.Header.Get("HX-Request") != "":
		h.Set("HX-Retarget", slot)
		h.Set("HX-Reswap", "innerHTML")
		return handlers.RenderProblemPart(c, p.failure())
	}
	return handlers.RenderProblem(c, d, p.failure())
}

// failure is p as a page shows it. Only a fault of ours is worth looking up in the
// log.
func (p problem) failure() views.Failure {
	f := views.Failure{Status: p.Status, Title: p.Title, Detail: p.Detail}
	if p.Status == http.StatusInternalServerError {
		f.RequestID = p.RequestID
	}
	return f
}
