package handlers

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
	"parkade/views"
)

// listed is how many messages a page has.
const listed = 50

// maxFacet is how many values of one kind stand beside a list.
const maxFacet = 12

type messages struct{ Deps }

// list answers the page of messages that match the filter of its address.
func (h messages) list(c echo.Context) error {
	query := c.QueryParams()
	if q := strings.TrimSpace(query.Get("q")); q != "" {
		return h.find(c, q)
	}
	page := views.MessagesPage{Shell: shell(c, h.Deps), Oldest: query.Get("order") == "oldest"}
	if typed := strings.TrimSpace(query.Get("add")); typed != "" {
		added, err := addCondition(query, typed)
		if err == nil {
			return c.Redirect(http.StatusSeeOther, at(c, "/messages", added))
		}
		query = added
		page.Typed = typed
		_, page.Wrong = parkade.Explain(err)
	}
	f, err := parkade.ParseFilter(query)
	if err != nil && page.Wrong == "" {
		_, page.Wrong = parkade.Explain(err)
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	page.Filter = f
	ctx := c.Request().Context()
	err = h.Store.View(ctx, func(at store.View) error {
		if page.Wrong == "" {
			if err := fill(ctx, at, &page, parkade.MessageID(before)); err != nil {
				return err
			}
		}
		return countStates(ctx, at, &page)
	})
	if err == nil {
		err = h.facets(ctx, &page)
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if page.Wrong != "" {
		status = http.StatusUnprocessableEntity
	}
	return render(c, status, views.Messages(page))
}

// fill reads one page of the list, and where the ones beside it begin.
func fill(ctx context.Context, at store.View, page *views.MessagesPage, before parkade.MessageID) error {
	here := parkade.Page{Before: before, Limit: listed, Oldest: page.Oldest}
	all, more, err := at.Messages(ctx, page.Filter, here)
	if err != nil {
		return err
	}
	page.All, page.First = all, before == 0
	if more {
		page.Older = all[len(all)-1].ID
	}
	if before != 0 && len(all) > 0 {
		back := parkade.Page{Before: all[0].ID, Limit: listed + 1, Oldest: !page.Oldest}
		newer, _, err := at.Messages(ctx, page.Filter, back)
		if err != nil {
			return err
		}
		if len(newer) > listed { // the page before this one isn't the first
			page.Newer = newer[listed].ID
		}
	}
	if len(all) > 0 && page.First {
		page.Newest = all[0].ParkedAt
	}
	if page.Total, page.Exact, err = at.Count(ctx, page.Filter, countLimit); err != nil {
		return err
	}
	page.Takes = page.Total
	if f := page.Filter; f.State == "" {
		f.State = parkade.Parked
		page.Takes, _, err = at.Count(ctx, f, countLimit)
	} else if f.State != parkade.Parked && f.State != parkade.Discarded {
		page.Takes = 0
	}
	return err
}

// facets reads what the list can be narrowed down by.
func (h messages) facets(ctx context.Context, page *views.MessagesPage) error {
	known, err := h.Store.Facets(ctx)
	if err != nil {
		return err
	}
	page.Queues = head(known.Queues)
	if page.Filter.Reason != "" && !slices.Contains(head(known.Reasons), page.Filter.Reason) {
		known.Reasons = slices.Insert(known.Reasons, 0, page.Filter.Reason)
	}
	err = h.Store.View(ctx, func(at store.View) error {
		return countFacets(ctx, at, page, known)
	})
	if err != nil {
		return err
	}
	if len(page.All) == 0 {
		for _, d := range h.Drains.Drains() {
			if d.Phase == parkade.Offered {
				page.Drains = append(page.Drains, d)
			}
		}
	}
	return nil
}

// facetLimit is where the count of one value stops being exact: there are many
// values, and each is counted whenever the page is drawn.
const facetLimit = 100

// countFacets counts what the list would have with each value of a condition.
func countFacets(ctx context.Context, at store.View, page *views.MessagesPage, known store.Facets) error {
	counters, err := at.Counters(ctx)
	if err != nil {
		return err
	}
	page.PerQueue = map[parkade.Queue]int64{}
	vhosts := map[string]int64{}
	for _, c := range counters {
		if page.Filter.State == "" || page.Filter.State == c.State {
			page.PerQueue[c.Queue] += c.Messages
			vhosts[c.Queue.Vhost] += c.Messages
		}
	}
	for _, q := range known.Queues {
		vhosts[q.Vhost] += 0
	}
	for _, v := range slices.Sorted(maps.Keys(vhosts)) {
		page.Vhosts = append(page.Vhosts, views.ValueFacet{Value: v, Count: vhosts[v], Exact: true})
	}
	page.Reasons, err = counted(ctx, at, head(known.Reasons), func(v string) parkade.Filter {
		f := page.Filter
		f.Reason, f.NoReason = v, false
		return f
	})
	if err != nil {
		return err
	}
	page.Keys, err = counted(ctx, at, head(known.Keys), func(v string) parkade.Filter {
		f := page.Filter
		f.RoutingKey = v
		return f
	})
	return err
}

func counted(ctx context.Context, at store.View, values []string, with func(string) parkade.Filter) ([]views.ValueFacet, error) {
	all := make([]views.ValueFacet, len(values))
	for i, v := range values {
		n, exact, err := at.Count(ctx, with(v), facetLimit)
		if err != nil {
			return nil, err
		}
		all[i] = views.ValueFacet{Value: v, Count: n, Exact: exact}
	}
	return all, nil
}

// countStates counts the messages of the list's queues by their state.
func countStates(ctx context.Context, at store.View, page *views.MessagesPage) error {
	counters, err := at.Counters(ctx)
	for _, s := range parkade.States() {
		n := views.StateFacet{State: s}
		for _, c := range counters {
			if c.State == s && within(page.Filter, c.Queue) {
				n.Count += c.Messages
			}
		}
		page.States = append(page.States, n)
	}
	return err
}

func within(f parkade.Filter, q parkade.Queue) bool {
	same := func(want, have string) bool { return want == "" || want == have }
	return same(f.Broker, q.Broker) && same(f.Vhost, q.Vhost) && same(f.Queue, q.Name)
}

func head[T any](all []T) []T { return all[:min(len(all), maxFacet)] }

// find goes to the message that somebody looks for: by its message id, or by the
// number that it has here.
func (h messages) find(c echo.Context, q string) error {
	ctx := c.Request().Context()
	number, numbered := strings.CutPrefix(q, "#")
	byID := url.Values{"message_id": {q}}
	if !numbered {
		n, _, err := h.Store.Count(ctx, parkade.Filter{MessageID: q}, 2)
		if err != nil {
			return err
		}
		if n > 0 {
			return c.Redirect(http.StatusSeeOther, at(c, "/messages", byID))
		}
	}
	if id, err := parkade.ParseID(number, "q"); err == nil && id != 0 {
		m := parkade.MessageID(id)
		if _, err := h.Store.Message(ctx, m); err == nil || numbered {
			return c.Redirect(http.StatusSeeOther, at(c, "/messages/"+m.String(), nil))
		}
	}
	return c.Redirect(http.StatusSeeOther, at(c, "/messages", byID))
}

// addCondition adds what somebody typed, such as "key:order.placed older:2h", to
// the filter of a query. What has no name is a message id.
func addCondition(query url.Values, typed string) (url.Values, error) {
	out := url.Values{}
	for _, name := range append(views.FilterNames(), "order") {
		if v := query.Get(name); v != "" {
			out.Set(name, v)
		}
	}
	last := ""
	added := url.Values{}
	for word := range strings.FieldsSeq(typed) {
		name, value, named := strings.Cut(word, ":")
		switch {
		case named && slices.Contains(views.FilterNames(), name):
			last = name
			added.Set(name, value)
		case last != "": // a value with a space in it, such as "in doubt"
			added.Set(last, strings.TrimSpace(added.Get(last)+" "+word))
		default:
			last = "message_id"
			added.Set(last, word)
		}
	}
	both := url.Values{}
	for name := range out {
		both.Set(name, out.Get(name))
	}
	for name := range added {
		both.Set(name, added.Get(name))
	}
	if _, err := parkade.ParseFilter(both); err != nil {
		return out, err
	}
	return both, nil
}
