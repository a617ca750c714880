package handlers

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
	"parkade/views"
)

// The bounds of what a page tells of the past of a message.
const (
	roundsWithReplays = 20
	recentActions     = 20
)

// one answers the page about a message. The filter in its address is the list that
// one came from, in which previous and next are found.
func (h messages) one(c echo.Context) error {
	ctx := c.Request().Context()
	n, err := pathID(c)
	if err != nil {
		return err
	}
	m, content, err := arrived(ctx, h.Deps, parkade.MessageID(n))
	if err != nil {
		return err
	}
	page := views.MessagePage{Shell: shell(c, h.Deps), Message: m, Kept: h.Config().Retention.Discarded}
	page.Shell.Path = "/messages"
	page.Deaths = parkade.Deaths(content.Headers)
	page.OriginFrom = parkade.OriginFrom(m, content.Headers)
	page.Carried = carried(content, h.policy(m.Queue), m)
	if page.Payload, err = h.payload(ctx, m, content, views.Mode(c.QueryParam("as"))); err != nil {
		return err
	}
	if err = h.history(ctx, &page); err == nil {
		err = h.neighbours(c, &page)
	}
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.Message(page))
}

// arrived reads a message and what it carries besides its body.
func arrived(ctx context.Context, d Deps, id parkade.MessageID) (parkade.Message, parkade.Content, error) {
	m, err := d.Store.Message(ctx, id)
	if err != nil {
		return parkade.Message{}, parkade.Content{}, err
	}
	content, err := d.Store.Content(ctx, id)
	return m, content, err
}

func (h messages) payload(ctx context.Context, m parkade.Message, content parkade.Content, as views.Mode) (views.Payload, error) {
	head, err := h.Store.BodyHead(ctx, m.ID, shownBytes)
	p := payload(body{
		head: head, size: m.Size, kind: m.ContentType, encoding: parkade.Text(content.Properties.ContentEncoding),
	}, as)
	p.ID, p.SHA256 = m.ID.String(), hex.EncodeToString(m.BodyHash[:])
	return p, err
}

// history reads the rounds of a message, the replays of the newest of them, and
// what people did with it.
func (h messages) history(ctx context.Context, page *views.MessagePage) error {
	rounds, err := h.Store.Rounds(ctx, page.Message.ID)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(rounds) {
		r := views.Round{Message: m}
		if len(page.Rounds) < roundsWithReplays || r.Message.ID == page.Message.ID {
			if r.Replays, err = h.Store.Replays(ctx, r.Message.ID); err != nil {
				return err
			}
		}
		page.Rounds = append(page.Rounds, r)
	}
	if page.Edits, err = h.Store.Versions(ctx, page.Message.ID); err != nil {
		return err
	}
	page.Actions, err = h.Store.Actions(ctx, store.ActionFilter{Message: page.Message.ID}, 0, recentActions)
	return err
}

// neighbours finds the messages beside this one in the list that one came from.
func (h messages) neighbours(c echo.Context, page *views.MessagePage) error {
	query := c.QueryParams()
	f, err := parkade.ParseFilter(query)
	if err != nil {
		return err
	}
	oldest := query.Get("order") == "oldest"
	list := f.Query()
	if oldest {
		list.Set("order", "oldest")
	}
	if len(list) > 0 {
		page.Back = "?" + list.Encode()
	}
	page.Prev, page.Next, err = h.Store.Neighbours(c.Request().Context(), f, oldest, page.Message.ID)
	return err
}

func (d Deps) policy(q parkade.Queue) parkade.Policy {
	p, _ := d.Config().Parking(q)
	return parkade.Policy{ResetHeaders: p.Replay.ResetHeaders}
}

// carried lists what a message carries and what a replay does with each.
func carried(c parkade.Content, policy parkade.Policy, m parkade.Message) []views.Carried {
	stamp := parkade.Stamp{ID: "a new one", Attempt: int32(min(m.Replays+1, math.MaxInt32))} //nolint:gosec // bounded
	out, treatments := parkade.Prepare(c, c.Exchange, c.RoutingKey, policy, stamp)
	all := make([]views.Carried, 0, len(treatments))
	for _, t := range treatments {
		one := views.Carried{Name: t.Name, Header: t.Header, Fate: t.Handling, Why: t.Why}
		if t.Header {
			if v, there := c.Headers.Get(t.Name); there {
				one.Type, one.Value = typeName(v), headerText(v)
				if t.Name == "x-death" {
					one.Short = deathsInShort(parkade.Deaths(c.Headers))
				}
			}
			if v, there := out.Headers.Get(t.Name); there && t.Handling == parkade.Stamped {
				one.After = headerText(v)
			}
		} else {
			one.Type, one.Value = property(c.Properties, t.Name)
			if t.Handling == parkade.Override {
				_, one.After = property(out.Properties, t.Name)
			}
		}
		all = append(all, one)
	}
	return all
}

// deathsInShort says where a message died and how often, newest first.
func deathsInShort(all []parkade.Death) string {
	parts := make([]string, 0, len(all))
	for _, d := range all {
		parts = append(parts, fmt.Sprintf("%s %s %d", d.Queue, d.Reason, d.Count))
	}
	return strings.Join(parts, ", ")
}

// decide records what somebody knows about the unknown replay of a message.
func (h messages) decide(c echo.Context) error {
	n, err := pathID(c)
	if err != nil {
		return err
	}
	arrived, why := c.FormValue("arrived"), c.FormValue("why")
	if arrived != "yes" && arrived != "no" {
		return parkade.Errorf(parkade.Invalid, "Say whether it arrived.").At("arrived")
	}
	if len(why) > maxReason {
		return parkade.Errorf(parkade.Invalid, "The reason is longer than %d bytes.", maxReason).At("why")
	}
	id := parkade.MessageID(n)
	if err := h.Store.Settle(c.Request().Context(), id, arrived == "yes", actor(c), why); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, at(c, "/messages/"+id.String(), nil))
}
