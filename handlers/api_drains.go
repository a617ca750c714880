package handlers

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
)

type apiDrains struct{ Deps }

type jsonReading struct {
	Value int64     `json:"value"`
	At    time.Time `json:"at"`
	Error string    `json:"error,omitempty"`
}

// toJSONReading returns nil for what was never measured, which is not zero.
func toJSONReading(r parkade.Reading) *jsonReading {
	if !r.Known() {
		return nil
	}
	return &jsonReading{r.Value, r.At.UTC(), r.Err}
}

type jsonFinding struct {
	Verdict parkade.Verdict `json:"verdict"`
	Code    string          `json:"code"`
	Text    string          `json:"text"`
	Remedy  string          `json:"remedy,omitempty"`
}

type jsonDrain struct {
	Broker    string          `json:"broker"`
	Vhost     string          `json:"vhost"`
	Queue     string          `json:"queue"`
	Consent   parkade.Consent `json:"consent"`
	Phase     parkade.Phase   `json:"phase"`
	Running   bool            `json:"running"`
	Why       string          `json:"why"`
	Remedy    string          `json:"remedy"`
	Until     *time.Time      `json:"until,omitempty"`
	Since     *time.Time      `json:"since,omitempty"`
	Left      *int64          `json:"left,omitempty"`
	Holding   int64           `json:"holding"`
	Drained   int64           `json:"drained"`
	PerSecond float64         `json:"per_second"`
	Last      *time.Time      `json:"last,omitempty"`
	Ready     *jsonReading    `json:"ready"`
	Findings  []jsonFinding   `json:"findings"`
	Careful   bool            `json:"careful"`
	Missing   bool            `json:"missing"`
}

func toJSONDrain(d parkade.Drain) jsonDrain {
	out := jsonDrain{
		Broker: d.Queue.Broker, Vhost: d.Queue.Vhost, Queue: d.Queue.Name, Consent: d.Consent, Phase: d.Phase, Running: d.Running(),
		Why: d.Why, Remedy: d.Remedy, Until: jsonTime(d.Until), Since: jsonTime(d.Since), Holding: d.Holding, Drained: d.Drained,
		PerSecond: d.PerSecond, Last: jsonTime(d.Last), Ready: toJSONReading(d.Ready), Careful: d.Careful, Missing: d.Missing,
		Findings: each(d.Findings, func(f parkade.Finding) jsonFinding { return jsonFinding(f) }),
	}
	if d.Left >= 0 {
		out.Left = &d.Left
	}
	return out
}

type jsonBrake struct {
	On     bool       `json:"on"`
	By     string     `json:"by"`
	Reason string     `json:"reason"`
	Since  *time.Time `json:"since,omitempty"`
}

func (h apiDrains) brakeNow(ctx context.Context) (jsonBrake, error) {
	b, err := h.Store.Brake(ctx)
	return jsonBrake{b.On, b.By, b.Why, jsonTime(b.Since)}, err
}

func (h apiDrains) list(c echo.Context) error {
	b, err := h.brakeNow(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		Items []jsonDrain `json:"items"`
		Brake jsonBrake   `json:"brake"`
	}{each(h.Drains.Drains(), toJSONDrain), b})
}

// drainRequest names a queue and what to do with its drain.
type drainRequest struct {
	Broker string `json:"broker"`
	Vhost  string `json:"vhost"`
	Queue  string `json:"queue"`
	Accept bool   `json:"accept"`
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

func (h apiDrains) read(c echo.Context) (drainRequest, parkade.Queue, error) {
	var r drainRequest
	if err := readJSON(c, &r, true); err != nil {
		return r, parkade.Queue{}, err
	}
	for _, f := range [][2]string{{"broker", r.Broker}, {"vhost", r.Vhost}, {"queue", r.Queue}} {
		if f[1] == "" {
			return r, parkade.Queue{}, parkade.Errorf(parkade.Invalid, "Name the %s.", f[0]).At(f[0])
		}
	}
	if len(r.Reason) > maxReason {
		return r, parkade.Queue{}, parkade.Errorf(parkade.Invalid, "The reason is longer than %d bytes.", maxReason).At("reason")
	}
	return r, parkade.Queue{Broker: r.Broker, Vhost: r.Vhost, Name: r.Queue}, nil
}

func (h apiDrains) start(c echo.Context) error {
	r, q, err := h.read(c)
	if err != nil {
		return err
	}
	if err := h.Drains.Start(c.Request().Context(), q, r.Accept, actor(c), r.Reason); err != nil {
		return err
	}
	return h.answer(c, q)
}

func (h apiDrains) stop(c echo.Context) error {
	r, q, err := h.read(c)
	if err != nil {
		return err
	}
	if err := h.Drains.Stop(c.Request().Context(), q, actor(c), r.Reason); err != nil {
		return err
	}
	return h.answer(c, q)
}

func (h apiDrains) next(c echo.Context) error {
	const most = 1_000_000
	r, q, err := h.read(c)
	if err != nil {
		return err
	}
	if r.Count < 1 || r.Count > most {
		return parkade.Errorf(parkade.Invalid, "The count must be between 1 and %d.", most).At("count")
	}
	if err := h.Drains.Next(c.Request().Context(), q, r.Count, r.Accept, actor(c)); err != nil {
		return err
	}
	return h.answer(c, q)
}

// answer answers the drain of q as it is now.
func (h apiDrains) answer(c echo.Context, q parkade.Queue) error {
	all := h.Drains.Drains()
	i := slices.IndexFunc(all, func(d parkade.Drain) bool { return d.Queue == q })
	if i < 0 {
		return parkade.Errorf(parkade.NotFound, "There is no drain of the queue %s.", q.Name)
	}
	return c.JSON(http.StatusOK, toJSONDrain(all[i]))
}

func (h apiDrains) brake(c echo.Context) error {
	ctx := c.Request().Context()
	var r struct {
		On     *bool  `json:"on"`
		Reason string `json:"reason"`
	}
	if err := readJSON(c, &r, true); err != nil {
		return err
	}
	if r.On == nil {
		return parkade.Errorf(parkade.Invalid, "Say whether the brake is to be on.").At("on")
	}
	if err := h.Drains.Brake(ctx, *r.On, actor(c), r.Reason); err != nil {
		return err
	}
	b, err := h.brakeNow(ctx)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, b)
}

type jsonQueue struct {
	Broker   string                  `json:"broker"`
	Vhost    string                  `json:"vhost"`
	Queue    string                  `json:"queue"`
	Role     string                  `json:"role"`
	Phase    parkade.Phase           `json:"phase"`
	Ready    *jsonReading            `json:"ready"`
	Stored   map[parkade.State]int64 `json:"stored"`
	Parked   int64                   `json:"parked"`
	Bytes    int64                   `json:"parked_bytes"`
	OldestAt *time.Time              `json:"oldest_parked_at,omitempty"`
}

// queues lists every queue that is, was or could be drained.
func (h apiDrains) queues(c echo.Context) error {
	ctx := c.Request().Context()
	counters, err := h.Store.Counters(ctx)
	if err != nil {
		return err
	}
	oldest, err := h.Store.Oldest(ctx)
	if err != nil {
		return err
	}
	all := map[parkade.Queue]*jsonQueue{}
	at := func(q parkade.Queue) *jsonQueue {
		if all[q] == nil {
			all[q] = &jsonQueue{
				Broker: q.Broker, Vhost: q.Vhost, Queue: q.Name, Role: "parking", Stored: map[parkade.State]int64{}, OldestAt: jsonTime(oldest[q]),
			}
		}
		return all[q]
	}
	for _, d := range h.Drains.Drains() {
		q := at(d.Queue)
		q.Phase, q.Ready = d.Phase, toJSONReading(d.Ready)
	}
	for _, n := range counters {
		at(n.Queue).add(n)
	}
	items := make([]jsonQueue, 0, len(all))
	for _, q := range all {
		items = append(items, *q)
	}
	slices.SortFunc(items, func(a, b jsonQueue) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Vhost, b.Vhost), cmp.Compare(a.Queue, b.Queue))
	})
	return c.JSON(http.StatusOK, jsonPage[jsonQueue]{Items: items})
}

func (q *jsonQueue) add(n store.Counter) {
	if n.Messages == 0 {
		return
	}
	q.Stored[n.State] = n.Messages
	if n.State.Undecided() {
		q.Parked += n.Messages
		q.Bytes += n.Bytes
	}
}
