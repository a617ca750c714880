package handlers

import (
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
)

type jsonVersion struct {
	Version    int64     `json:"version"`
	Base       int64     `json:"base"`
	By         string    `json:"by"`
	At         time.Time `json:"at"`
	Note       string    `json:"note"`
	Exchange   string    `json:"exchange"`
	RoutingKey string    `json:"routing_key"`
	MessageID  string    `json:"message_id"`
	Size       int64     `json:"size"`
	SHA256     string    `json:"sha256"`
}

func toJSONVersion(e parkade.Edit) jsonVersion {
	return jsonVersion{
		e.Version, e.Base, e.By, e.At.UTC(), e.Note, e.Draft.Exchange, e.Draft.RoutingKey, parkade.Text(e.Draft.Properties.MessageID),
		e.Size, hex.EncodeToString(e.BodyHash[:]),
	}
}

type jsonVersionDetail struct {
	jsonVersion

	Properties parkade.Properties `json:"properties"`
	Headers    []jsonHeader       `json:"headers"`
}

func toJSONVersionDetail(e parkade.Edit) jsonVersionDetail {
	return jsonVersionDetail{toJSONVersion(e), e.Draft.Properties, jsonHeaders(e.Draft.Headers)}
}

func (h apiMessages) versions(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	all, err := h.Store.Versions(c.Request().Context(), parkade.MessageID(id))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, jsonPage[jsonVersion]{Items: each(all, toJSONVersion)})
}

// pathVersion reads the version of a message that the path names.
func (h apiMessages) pathVersion(c echo.Context) (parkade.Edit, error) {
	id, err := pathID(c)
	if err != nil {
		return parkade.Edit{}, err
	}
	n, err := parkade.ParseID(c.Param("version"), "version")
	if err != nil {
		return parkade.Edit{}, err
	}
	return h.Store.Version(c.Request().Context(), parkade.MessageID(id), n)
}

func (h apiMessages) version(c echo.Context) error {
	e, err := h.pathVersion(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toJSONVersionDetail(e))
}

func (h apiMessages) versionBody(c echo.Context) error {
	e, err := h.pathVersion(c)
	if err != nil {
		return err
	}
	return h.download(c, e.Draft.Body, e.Message.String()+"-"+strconv.FormatInt(e.Version, 10))
}

// save keeps an edit, and sends nothing.
func (h apiMessages) save(c echo.Context) error {
	ctx := c.Request().Context()
	n, err := pathID(c)
	if err != nil {
		return err
	}
	var r struct {
		Seen int64    `json:"seen"`
		Edit jsonEdit `json:"edit"`
	}
	if err := readJSON(c, &r, true); err != nil {
		return err
	}
	if r.Seen < 1 {
		return noSeen()
	}
	m, err := h.Store.Message(ctx, parkade.MessageID(n))
	if err != nil {
		return err
	}
	edit, err := h.newEdit(ctx, m, r.Seen, actor(c), r.Edit)
	if err != nil {
		return err
	}
	e, err := h.Store.SaveEdit(ctx, edit)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, h.Config().Base()+"/api/v1/messages/"+m.ID.String()+"/versions/"+strconv.FormatInt(e.Version, 10))
	return c.JSON(http.StatusCreated, toJSONVersionDetail(e))
}

func noSeen() error {
	return parkade.Errorf(parkade.Invalid, "Say which version of the message was seen: its version as GET /messages/{id} answers it.").At("seen")
}
