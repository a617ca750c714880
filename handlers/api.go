package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/api"
)

// apiRoutes lists the JSON interface, as api/openapi.yaml describes it.
func apiRoutes(d Deps) []Route {
	messages, operations, drains := apiMessages{d}, apiOperations{d}, apiDrains{d}
	const get, post = http.MethodGet, http.MethodPost
	return []Route{
		{get, "/api/v1/openapi.yaml", Viewer, description},
		{get, "/api/v1/messages", Viewer, messages.list},
		{get, "/api/v1/messages/:id", Viewer, messages.one},
		{get, "/api/v1/messages/:id/body", Viewer, messages.body},
		{get, "/api/v1/messages/:id/versions", Viewer, messages.versions},
		{post, "/api/v1/messages/:id/versions", Operator, messages.save},
		{get, "/api/v1/messages/:id/versions/:version", Viewer, messages.version},
		{get, "/api/v1/messages/:id/versions/:version/body", Viewer, messages.versionBody},
		{post, "/api/v1/messages/:id/preview", Viewer, messages.preview},
		{post, "/api/v1/messages/:id/decide", Operator, messages.decide},
		{get, "/api/v1/operations", Viewer, operations.list},
		{post, "/api/v1/operations", Operator, operations.create},
		{get, "/api/v1/operations/:id", Viewer, operations.one},
		{get, "/api/v1/operations/:id/replays", Viewer, operations.replays},
		{get, "/api/v1/operations/:id/replays.csv", Viewer, operationPages{d}.csv},
		{post, "/api/v1/operations/:id/dismiss", Operator, operations.dismiss},
		{post, "/api/v1/operations/:id/pause", Operator, operations.pause},
		{post, "/api/v1/operations/:id/resume", Operator, operations.resume},
		{post, "/api/v1/operations/:id/cancel", Operator, operations.cancel},
		{get, "/api/v1/drains", Viewer, drains.list},
		{post, "/api/v1/drains/start", Operator, drains.start},
		{post, "/api/v1/drains/stop", Operator, drains.stop},
		{post, "/api/v1/drains/next", Operator, drains.next},
		{post, "/api/v1/drains/brake", Operator, drains.brake},
		{get, "/api/v1/queues", Viewer, drains.queues},
		{get, "/api/v1/actions", Viewer, operations.actions},
	}
}

func description(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", api.Description)
}

// readJSON reads the body of a request strictly into a *T. An empty body is the
// zero value where none is needed.
func readJSON(c echo.Context, into any, needed bool) error {
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return parkade.Errorf(parkade.TooLarge, "The request is larger than %d bytes.", e.Limit)
		}
		return parkade.Errorf(parkade.Invalid, "The request ended early.").Because(err)
	}
	if len(body) == 0 && !needed {
		return nil
	}
	kind, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil || kind != echo.MIMEApplicationJSON {
		return parkade.Errorf(parkade.Invalid, "The request must be JSON: send Content-Type: application/json.")
	}
	return strictJSON(body, into)
}

// strictJSON reads one JSON value that has nothing but what into can take.
func strictJSON(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return parkade.Errorf(parkade.Invalid, "Something follows the JSON value of the request.")
	}
	return nil
}

func badJSON(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return parkade.Errorf(parkade.Invalid, "A %s isn't possible for %s.", e.Value, e.Field).At(e.Field)
	}
	if e, ok := errors.AsType[*parkade.Error](err); ok {
		return e
	}
	return parkade.Errorf(parkade.Invalid, "The JSON of the request can't be read: %s.", err)
}

// The size of a page.
const (
	defaultLimit = 50
	maxLimit     = 500
)

func limitOf(c echo.Context) (int, error) {
	s := c.QueryParam("limit")
	if s == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxLimit {
		return 0, parkade.Errorf(parkade.Invalid, "The limit must be between 1 and %d.", maxLimit).At("limit")
	}
	return n, nil
}

// pathID reads the id in the path.
func pathID(c echo.Context) (int64, error) {
	id, err := parkade.ParseID(c.Param("id"), "id")
	if err == nil && id == 0 {
		err = parkade.Errorf(parkade.NotFound, "There is nothing with the id %s.", c.Param("id"))
	}
	return id, err
}

func queryID(c echo.Context, name string) (int64, error) {
	return parkade.ParseID(c.QueryParam(name), name)
}

// jsonID writes an id, or nothing where there is none.
func jsonID[T ~int64](id T) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(int64(id), 10)
}

// jsonTime writes a time, or nothing for the zero time.
func jsonTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// nextPage is the cursor behind the last of items, where there are more of them.
func nextPage[T any](items []T, more bool, id func(T) string) string {
	if !more || len(items) == 0 {
		return ""
	}
	return id(items[len(items)-1])
}

// each converts all, and makes an empty list of none.
func each[T, U any](all []T, convert func(T) U) []U {
	out := make([]U, len(all))
	for i, one := range all {
		out[i] = convert(one)
	}
	return out
}
