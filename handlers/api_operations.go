package handlers

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
)

type apiOperations struct{ Deps }

type jsonOperation struct {
	ID        string                    `json:"id"`
	Verb      parkade.Verb              `json:"verb"`
	State     parkade.OperationState    `json:"state"`
	Why       string                    `json:"why"`
	By        string                    `json:"by"`
	Reason    string                    `json:"reason"`
	Filter    string                    `json:"filter,omitempty"`
	Target    parkade.Target            `json:"target"`
	Rate      float64                   `json:"rate"`
	Total     int64                     `json:"total"`
	Skipped   int64                     `json:"skipped"`
	Left      int64                     `json:"left"`
	Counts    map[parkade.Outcome]int64 `json:"counts"`
	CameBack  int64                     `json:"came_back"`
	Waiting   *jsonWait                 `json:"waiting,omitempty"`
	CreatedAt time.Time                 `json:"created_at"`
	DueAt     *time.Time                `json:"due_at,omitempty"`
	StartedAt *time.Time                `json:"started_at,omitempty"`
	EndedAt   *time.Time                `json:"ended_at,omitempty"`
	Dismissed *time.Time                `json:"dismissed_at,omitempty"`
}

// jsonWait is why an operation that is at work doesn't get on now.
type jsonWait struct {
	Why   string     `json:"why"`
	Until *time.Time `json:"until,omitempty"`
}

// toJSON is toJSONOperation with what is in its way.
func (h apiOperations) toJSON(o parkade.Operation) jsonOperation {
	out := toJSONOperation(o)
	if wait := h.Runner.Waiting(o.ID); wait.Why != "" {
		out.Waiting = &jsonWait{wait.Why, jsonTime(wait.Until)}
	}
	return out
}

func toJSONOperation(o parkade.Operation) jsonOperation {
	counts := map[parkade.Outcome]int64{}
	for _, outcome := range parkade.Outcomes() {
		counts[outcome] = o.Counts[outcome]
	}
	if o.Target.To == "" {
		o.Target.To = parkade.ToAuto
	}
	return jsonOperation{
		ID: jsonID(o.ID), Verb: o.Verb, State: o.State, Why: o.Why, By: o.By, Reason: o.Reason, Filter: o.Filter,
		Target: o.Target, Rate: o.Rate, Total: o.Total, Skipped: o.Skipped, Left: o.Left, Counts: counts, CameBack: o.CameBack,
		CreatedAt: o.CreatedAt.UTC(), DueAt: jsonTime(o.DueAt), StartedAt: jsonTime(o.StartedAt), EndedAt: jsonTime(o.EndedAt),
		Dismissed: jsonTime(o.Dismissed),
	}
}

// jsonPage is a page of anything.
type jsonPage[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// fullPage takes items that were asked for with one more than the limit.
func fullPage[T any](items []T, limit int, id func(T) string) jsonPage[T] {
	more := len(items) > limit
	items = items[:min(len(items), limit)]
	return jsonPage[T]{items, nextPage(items, more, id)}
}

func (h apiOperations) list(c echo.Context) error {
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	all, err := h.Store.Operations(c.Request().Context(), parkade.OperationID(before), limit+1)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, fullPage(each(all, h.toJSON), limit, func(o jsonOperation) string { return o.ID }))
}

func (h apiOperations) one(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	return h.answer(c, http.StatusOK, parkade.OperationID(id))
}

// answer answers the operation as it is now.
func (h apiOperations) answer(c echo.Context, status int, id parkade.OperationID) error {
	o, err := h.Store.Operation(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(status, h.toJSON(o))
}

func (h apiOperations) pause(c echo.Context) error   { return h.steer(c, h.Store.Pause) }
func (h apiOperations) resume(c echo.Context) error  { return h.steer(c, h.Store.Resume) }
func (h apiOperations) cancel(c echo.Context) error  { return h.steer(c, h.Store.Cancel) }
func (h apiOperations) dismiss(c echo.Context) error { return h.steer(c, h.Store.Dismiss) }

func (h apiOperations) steer(c echo.Context, to func(context.Context, parkade.OperationID, string) error) error {
	n, err := pathID(c)
	if err != nil {
		return err
	}
	id := parkade.OperationID(n)
	if err := to(c.Request().Context(), id, actor(c)); err != nil {
		return err
	}
	return h.answer(c, http.StatusOK, id)
}

type jsonReplay struct {
	ID         string          `json:"id"`
	Operation  string          `json:"operation"`
	Message    string          `json:"message"`
	Version    int64           `json:"version"`
	Stamp      string          `json:"stamp"`
	Exchange   string          `json:"exchange"`
	RoutingKey string          `json:"routing_key"`
	Outcome    parkade.Outcome `json:"outcome"`
	Why        string          `json:"why"`
	CameBack   bool            `json:"came_back"`
	ReturnedAs string          `json:"returned_as,omitempty"`
	SentAt     time.Time       `json:"sent_at"`
	EndedAt    *time.Time      `json:"ended_at,omitempty"`
	SHA256     string          `json:"sha256"`
	DecidedBy  string          `json:"decided_by,omitempty"`
	DecidedAs  string          `json:"decided_as,omitempty"`
}

func toJSONReplay(r parkade.ReplayRecord) jsonReplay {
	return jsonReplay{
		jsonID(r.ID), jsonID(r.Operation), jsonID(r.Message), r.Version, r.Stamp, r.Exchange, r.RoutingKey, r.Outcome, r.Why,
		r.CameBack, jsonID(r.ReturnedAs), r.SentAt.UTC(), jsonTime(r.EndedAt), hex.EncodeToString(r.SentHash[:]), r.DecidedBy, r.DecidedAs,
	}
}

type jsonPlace struct {
	Position string      `json:"position"`
	Message  string      `json:"message"`
	Skipped  string      `json:"skipped"`
	Replay   *jsonReplay `json:"replay,omitempty"`
}

func toJSONPlace(i parkade.Item) jsonPlace {
	p := jsonPlace{Position: jsonID(i.Position), Message: jsonID(i.Message), Skipped: i.Skipped}
	if i.Replay != nil {
		p.Replay = new(toJSONReplay(*i.Replay))
	}
	return p
}

func (h apiOperations) replays(c echo.Context) error {
	ctx := c.Request().Context()
	n, err := pathID(c)
	if err != nil {
		return err
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	after, err := queryID(c, "after")
	if err != nil {
		return err
	}
	id := parkade.OperationID(n)
	if _, err := h.Store.Operation(ctx, id); err != nil {
		return err
	}
	items, err := h.Store.Items(ctx, id, c.QueryParam("outcome"), after, limit+1)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, fullPage(each(items, toJSONPlace), limit, func(p jsonPlace) string { return p.Position }))
}

type jsonAction struct {
	ID        string    `json:"id"`
	At        time.Time `json:"at"`
	By        string    `json:"by"`
	Verb      string    `json:"verb"`
	Broker    string    `json:"broker,omitempty"`
	Vhost     string    `json:"vhost,omitempty"`
	Queue     string    `json:"queue,omitempty"`
	Operation string    `json:"operation,omitempty"`
	Message   string    `json:"message,omitempty"`
	Count     int64     `json:"count"`
	Reason    string    `json:"reason"`
	Detail    string    `json:"detail"`
}

func toJSONAction(a parkade.Action) jsonAction {
	out := jsonAction{
		ID: strconv.FormatInt(a.ID, 10), At: a.At.UTC(), By: a.By, Verb: a.Verb, Operation: jsonID(a.Operation), Message: jsonID(a.Message),
		Count: a.Count, Reason: a.Reason, Detail: a.Detail,
	}
	if a.Queue != nil {
		out.Broker, out.Vhost, out.Queue = a.Queue.Broker, a.Queue.Vhost, a.Queue.Name
	}
	return out
}

func (h apiOperations) actions(c echo.Context) error {
	var ids [3]int64
	for i, name := range []string{"message", "operation", "before"} {
		var err error
		if ids[i], err = queryID(c, name); err != nil {
			return err
		}
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	filter := store.ActionFilter{Message: parkade.MessageID(ids[0]), Operation: parkade.OperationID(ids[1])}
	all, err := h.Store.Actions(c.Request().Context(), filter, ids[2], limit+1)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, fullPage(each(all, toJSONAction), limit, func(a jsonAction) string { return a.ID }))
}
