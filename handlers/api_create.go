package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/replay"
	"parkade/store"
)

// newOperation is the request that makes an operation.
type newOperation struct {
	Verb   parkade.Verb `json:"verb"`
	Select struct {
		IDs       []string          `json:"ids"`
		Filter    map[string]string `json:"filter"`
		Operation string            `json:"operation"`
		Outcomes  []parkade.Outcome `json:"outcomes"`
	} `json:"select"`
	Expect *struct {
		Count int64  `json:"count"`
		Hash  string `json:"hash"`
	} `json:"expect"`
	Target  jsonTarget      `json:"target"`
	Include []parkade.State `json:"include"`
	Copies  bool            `json:"copies"`
	Rate    *float64        `json:"rate"`
	Reason  string          `json:"reason"`
	DryRun  bool            `json:"dry_run"`
	Seen    int64           `json:"seen"`
	Version *int64          `json:"version"`
	Edit    *jsonEdit       `json:"edit"`
	Canary  any             `json:"canary"`
	Delay   string          `json:"delay"`
}

// The bounds of a request.
const (
	maxIDs    = 10_000
	maxReason = 2000
	maxKey    = 255
	maxRate   = 1e6
)

// check refuses what can't be meant, and what this version can't do yet.
func (n newOperation) check() error {
	invalid := func(field, format string, args ...any) error {
		return parkade.Errorf(parkade.Invalid, format, args...).At(field)
	}
	if n.Canary != nil {
		return invalid("canary", "This version has no canaries yet: leave canary out.")
	}
	if _, err := parseDelay(n.Delay); err != nil {
		return err
	}
	if err := n.checkOne(); err != nil {
		return err
	}
	ways := 0
	for _, given := range []bool{len(n.Select.IDs) > 0, len(n.Select.Filter) > 0, n.Select.Operation != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return invalid("select", "Select messages by ids, by a filter or by an operation: which of them is meant?")
	case ways == 0:
		return invalid("select", "Select messages by ids, by a filter that isn't empty, or by an operation.")
	case (n.Select.Operation != "") != (len(n.Select.Outcomes) > 0):
		return invalid("select.outcomes", "Of an operation those with some outcomes are selected: say the operation and the outcomes.")
	case len(n.Select.IDs) > maxIDs:
		return invalid("select.ids", "At most %d ids are possible; select more by a filter.", maxIDs)
	case n.Rate != nil && !(*n.Rate >= 0 && *n.Rate <= maxRate):
		return invalid("rate", "The rate is between 0, which is no limit, and %d messages a second.", int(maxRate))
	case len(n.Reason) > maxReason:
		return invalid("reason", "The reason is longer than %d bytes.", maxReason)
	case n.Verb != parkade.Replay && n.Target != (jsonTarget{}):
		return invalid("target", "Only a replay has a target.")
	}
	return nil
}

// parseDelay reads how long an operation waits before it starts; "" is not at all.
func parseDelay(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := parkade.ParseDuration(s)
	if err != nil || d < 0 || d > store.MaxDelay {
		return 0, parkade.Errorf(parkade.Invalid, "The delay is a time such as 0s, 10s or 5m, and at most %d hours.", int(store.MaxDelay.Hours())).At("delay")
	}
	return d, nil
}

// set returns the messages that n selects: ids, or a filter.
func (h apiOperations) set(ctx context.Context, n newOperation) ([]parkade.MessageID, *parkade.Filter, error) {
	if n.Select.Operation != "" {
		id, err := parkade.ParseID(n.Select.Operation, "select.operation")
		if err != nil {
			return nil, nil, err
		}
		ids, err := h.Store.Failed(ctx, parkade.OperationID(id), n.Select.Outcomes)
		if err == nil && len(ids) == 0 {
			err = parkade.Errorf(parkade.Conflict, "No message of operation #%d ended like that. Nothing was changed.", id)
		}
		return ids, nil, err
	}
	if len(n.Select.Filter) > 0 {
		f, err := n.filter()
		return nil, &f, err
	}
	ids := make([]parkade.MessageID, len(n.Select.IDs))
	seen := make(map[parkade.MessageID]bool, len(ids))
	for i, s := range n.Select.IDs {
		id, err := parkade.ParseID(s, "select.ids")
		if err == nil && (id == 0 || seen[parkade.MessageID(id)]) {
			err = parkade.Errorf(parkade.Invalid, "The ids hold %q, which is no id or stands twice.", s).At("select.ids")
		}
		if err != nil {
			return nil, nil, err
		}
		ids[i] = parkade.MessageID(id)
		seen[ids[i]] = true
	}
	return ids, nil, nil
}

// filter reads the filter. A key that it doesn't know would make the set wider
// than was meant, so it is refused.
func (n newOperation) filter() (parkade.Filter, error) {
	q := url.Values{}
	for name, value := range n.Select.Filter {
		q.Set(name, value)
	}
	f, err := parkade.ParseFilter(q)
	if err != nil {
		return f, err
	}
	known := f.Query()
	for name, value := range n.Select.Filter {
		if value == "" || !known.Has(name) {
			return f, parkade.Errorf(parkade.Invalid, "The filter can't say %s like this.", name).At("select.filter." + name)
		}
	}
	return f, nil
}

func (h apiOperations) create(c echo.Context) error {
	ctx := c.Request().Context()
	var n newOperation
	if err := readJSON(c, &n, true); err != nil {
		return err
	}
	if err := n.check(); err != nil {
		return err
	}
	key := c.Request().Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		return parkade.Errorf(parkade.Invalid, "The Idempotency-Key is longer than %d bytes.", maxKey)
	}
	request, err := json.Marshal(n)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(request)
	if !n.DryRun {
		op, repeated, err := h.Store.Repeated(ctx, key, hash)
		if err != nil {
			return err
		}
		if repeated {
			return h.created(c, op)
		}
	}
	draft, plan, err := h.draft(c, n)
	if err != nil {
		return err
	}
	if n.DryRun {
		return c.JSON(http.StatusOK, plan)
	}
	draft.IdempotencyKey, draft.RequestHash = key, hash
	op, _, err := h.Store.Create(ctx, draft)
	if err != nil {
		return err
	}
	return h.created(c, op)
}

func (h apiOperations) created(c echo.Context, o parkade.Operation) error {
	c.Response().Header().Set(echo.HeaderLocation, h.Config().Base()+"/api/v1/operations/"+o.ID.String())
	return c.JSON(http.StatusCreated, toJSONOperation(o))
}

// draft works out the operation that n asks for, and what a dry run says of it.
func (h apiOperations) draft(c echo.Context, n newOperation) (store.NewOperation, jsonPlan, error) {
	ctx := c.Request().Context()
	ids, filter, err := h.set(ctx, n)
	if err != nil {
		return store.NewOperation{}, jsonPlan{}, err
	}
	out := store.NewOperation{Verb: n.Verb, IDs: ids, Filter: filter, Accept: n.Include, Copies: n.Copies, By: actor(c), Reason: n.Reason}
	if out.Delay, err = parseDelay(n.Delay); err != nil {
		return out, jsonPlan{}, err
	}
	if n.Rate != nil {
		out.Rate = *n.Rate
	}
	if n.Expect != nil {
		out.Expect = &store.Expect{Count: n.Expect.Count, Hash: n.Expect.Hash}
	}
	if n.Verb != parkade.Replay {
		if !n.DryRun {
			return out, jsonPlan{}, nil
		}
		e, err := h.Store.Preview(ctx, out)
		return out, jsonPlan{DryRun: true, Verb: n.Verb, Count: e.Count, Hash: e.Hash, Skips: []jsonSkip{}, Groups: []jsonGroup{}}, err
	}
	if out.Target, err = n.Target.parse(); err != nil {
		return out, jsonPlan{}, err
	}
	if n.one() {
		err := h.exactly(ctx, n, ids[0], &out)
		return out, jsonPlan{}, err
	}
	plan, err := h.Planner.Plan(ctx, replay.Request{IDs: ids, Filter: filter, Accept: n.Include, Copies: n.Copies, Target: out.Target})
	if err != nil || n.DryRun {
		return out, h.jsonPlan(plan), err
	}
	if missing := len(ids) - len(plan.Items); len(n.Select.IDs) > 0 && missing > 0 {
		return out, jsonPlan{}, parkade.Errorf(parkade.NotFound, "%d of the selected messages are no longer here. Nothing was changed.", missing)
	}
	if plan.Send == 0 {
		return out, jsonPlan{}, nothingToSend(plan)
	}
	out.IDs, out.Filter, out.Items = nil, nil, plan.Items
	out.Policy = plan.Policy
	if n.Rate == nil {
		out.Rate = plan.Rate
	}
	return out, jsonPlan{}, nil
}

func nothingToSend(p replay.Plan) error {
	if len(p.Skips) == 0 {
		return parkade.Errorf(parkade.Conflict, "No message is selected by this. Nothing was sent.")
	}
	return parkade.Errorf(parkade.Conflict, "Nothing was sent. %s", p.Skips[0].Why)
}
