package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"parkade"
)

// decide records what a person knows about the unknown replay of a message.
func (h apiMessages) decide(c echo.Context) error {
	ctx := c.Request().Context()
	n, err := pathID(c)
	if err != nil {
		return err
	}
	var r struct {
		Arrived *bool  `json:"arrived"`
		Reason  string `json:"reason"`
	}
	if err := readJSON(c, &r, true); err != nil {
		return err
	}
	if r.Arrived == nil {
		return parkade.Errorf(parkade.Invalid, "Say whether it arrived.").At("arrived")
	}
	if len(r.Reason) > maxReason {
		return parkade.Errorf(parkade.Invalid, "The reason is longer than %d bytes.", maxReason).At("reason")
	}
	id := parkade.MessageID(n)
	if err := h.Store.Settle(ctx, id, *r.Arrived, actor(c), r.Reason); err != nil {
		return err
	}
	m, err := h.Store.Message(ctx, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toJSONMessage(m))
}
