package handlers

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
)

// countLimit is where the total of a list stops being exact.
const countLimit = 10_000

type apiMessages struct{ Deps }

type jsonMessage struct {
	ID            string          `json:"id"`
	Broker        string          `json:"broker"`
	Vhost         string          `json:"vhost"`
	Queue         string          `json:"queue"`
	State         parkade.State   `json:"state"`
	Version       int64           `json:"version"`
	Sends         int64           `json:"sends"`
	Wrapper       parkade.Wrapper `json:"wrapper,omitempty"`
	Exchange      string          `json:"exchange"`
	RoutingKey    string          `json:"routing_key"`
	MessageID     string          `json:"message_id"`
	CorrelationID string          `json:"correlation_id"`
	Type          string          `json:"type"`
	ContentType   string          `json:"content_type"`
	Origin        *parkade.Origin `json:"origin"`
	Reason        string          `json:"reason"`
	Exception     string          `json:"exception"`
	Attempts      int64           `json:"attempts"`
	AttemptsFrom  string          `json:"attempts_from"`
	Size          int64           `json:"size"`
	SHA256        string          `json:"sha256"`
	PossibleCopy  bool            `json:"possible_copy"`
	CopyOf        string          `json:"copy_of,omitempty"`
	Redelivered   bool            `json:"redelivered"`
	Round         int64           `json:"round"`
	Previous      string          `json:"previous,omitempty"`
	CameFrom      string          `json:"came_from,omitempty"`
	ForeignReplay string          `json:"foreign_replay,omitempty"`
	Replays       int64           `json:"replays"`
	LastReplay    string          `json:"last_replay,omitempty"`
	LastOutcome   parkade.Outcome `json:"last_outcome,omitempty"`
	CameBack      bool            `json:"came_back"`
	Operation     string          `json:"operation,omitempty"`
	ParkedAt      time.Time       `json:"parked_at"`
	ChangedAt     time.Time       `json:"changed_at"`
	ExpiresAt     *time.Time      `json:"expires_at,omitempty"`
}

func toJSONMessage(m parkade.Message) jsonMessage {
	return jsonMessage{
		ID: jsonID(m.ID), Broker: m.Queue.Broker, Vhost: m.Queue.Vhost, Queue: m.Queue.Name, State: m.State,
		Version: m.Version, Sends: m.Sends(), Wrapper: m.Wrapper,
		Exchange: m.Exchange, RoutingKey: m.RoutingKey, MessageID: m.MessageID, CorrelationID: m.CorrelationID,
		Type: m.Type, ContentType: m.ContentType, Origin: m.Origin, Reason: m.Reason, Exception: m.Exception,
		Attempts: m.Attempts.Count, AttemptsFrom: m.Attempts.From, Size: m.Size, SHA256: hex.EncodeToString(m.BodyHash[:]),
		PossibleCopy: m.CopyOf != 0, CopyOf: jsonID(m.CopyOf), Redelivered: m.Redelivered,
		Round: m.Round, Previous: jsonID(m.Previous), CameFrom: jsonID(m.CameFrom), ForeignReplay: m.ForeignReplay,
		Replays: m.Replays, LastReplay: jsonID(m.LastReplay), LastOutcome: m.LastOutcome, CameBack: m.CameBack,
		Operation: jsonID(m.Operation),
		ParkedAt:  m.ParkedAt.UTC(), ChangedAt: m.ChangedAt.UTC(), ExpiresAt: jsonTime(m.ExpiresAt),
	}
}

func (h apiMessages) list(c echo.Context) error {
	ctx := c.Request().Context()
	query := c.QueryParams()
	if query.Get("q") != "" {
		return parkade.Errorf(parkade.Invalid, "This version can't search text yet. Filter by message_id, reason, key or state.").At("q")
	}
	filter, err := parkade.ParseFilter(query)
	if err != nil {
		return err
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	page := parkade.Page{Before: parkade.MessageID(before), Limit: limit}
	switch order := c.QueryParam("order"); order {
	case "", "newest":
	case "oldest":
		page.Oldest = true
	default:
		return parkade.Errorf(parkade.Invalid, "The order is newest or oldest.").At("order")
	}
	var (
		messages    []parkade.Message
		total       int64
		more, exact bool
	)
	err = h.Store.View(ctx, func(at store.View) error {
		if messages, more, err = at.Messages(ctx, filter, page); err != nil {
			return err
		}
		total, exact, err = at.Count(ctx, filter, countLimit)
		return err
	})
	if err != nil {
		return err
	}
	items := each(messages, toJSONMessage)
	return c.JSON(http.StatusOK, struct {
		Items      []jsonMessage `json:"items"`
		Next       string        `json:"next,omitempty"`
		Total      int64         `json:"total"`
		TotalExact bool          `json:"total_exact"`
	}{items, nextPage(items, more, func(m jsonMessage) string { return m.ID }), total, exact})
}

type jsonDeath struct {
	Queue              string    `json:"queue"`
	Reason             string    `json:"reason"`
	Count              int64     `json:"count"`
	Exchange           string    `json:"exchange"`
	RoutingKeys        []string  `json:"routing_keys"`
	FirstAt            time.Time `json:"first_at"`
	OriginalExpiration string    `json:"original_expiration,omitempty"`
}

func toJSONDeath(d parkade.Death) jsonDeath {
	at := d.At().UTC()
	if at.Year() > 9999 || at.Year() < 0 { // a header may say anything; RFC 3339 can't
		at = time.Unix(0, 0).UTC()
	}
	return jsonDeath{
		d.Queue, d.Reason, d.Count, d.Exchange, each(d.RoutingKeys, func(k string) string { return k }), at, d.OriginalExpiration,
	}
}

func (h apiMessages) one(c echo.Context) error {
	ctx := c.Request().Context()
	n, err := pathID(c)
	if err != nil {
		return err
	}
	id := parkade.MessageID(n)
	m, content, err := arrived(ctx, h.Deps, id)
	if err != nil {
		return err
	}
	rounds, err := h.Store.Rounds(ctx, id)
	if err != nil {
		return err
	}
	replays, err := h.Store.Replays(ctx, id)
	if err != nil {
		return err
	}
	actions, err := h.Store.Actions(ctx, store.ActionFilter{Message: id}, 0, maxLimit)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		jsonMessage

		Properties parkade.Properties `json:"properties"`
		Headers    []jsonHeader       `json:"headers"`
		Deaths     []jsonDeath        `json:"deaths"`
		Rounds     []jsonMessage      `json:"rounds"`
		History    []jsonReplay       `json:"replay_history"`
		Actions    []jsonAction       `json:"actions"`
	}{
		toJSONMessage(m), content.Properties, jsonHeaders(content.Headers), each(parkade.Deaths(content.Headers), toJSONDeath),
		each(rounds, toJSONMessage), each(replays, toJSONReplay), each(actions, toJSONAction),
	})
}

// body answers the bytes that arrived.
func (h apiMessages) body(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	body, err := h.Store.Body(c.Request().Context(), parkade.MessageID(id))
	if err != nil {
		return err
	}
	return h.download(c, body, jsonID(id))
}

// download answers a body under a name. It comes from strangers, so browsers are
// told to save it and to run nothing.
func (h apiMessages) download(c echo.Context, body []byte, name string) error {
	header := c.Response().Header()
	header.Set(echo.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="message-%s.bin"`, name))
	header.Set(echo.HeaderContentSecurityPolicy, "sandbox; default-src 'none'; frame-ancestors 'none'")
	// A large body over a slow line takes longer than other answers may.
	err := http.NewResponseController(c.Response()).SetWriteDeadline(h.Now().Add(time.Hour))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, body)
}
