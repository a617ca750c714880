package handlers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/store"
	"parkade/views"
)

type actionPages struct{ Deps }

func (h actionPages) list(c echo.Context) error {
	var ids [3]int64
	for i, name := range []string{"before", "operation", "message"} {
		var err error
		if ids[i], err = queryID(c, name); err != nil {
			return err
		}
	}
	page := views.Actions{
		Shell: shell(c, h.Deps), Before: ids[0], Operation: parkade.OperationID(ids[1]), Message: parkade.MessageID(ids[2]), Verb: c.QueryParam("verb"),
	}
	if page.Verb != "" && !slices.Contains(views.Verbs(), page.Verb) {
		return parkade.Errorf(parkade.Invalid, "There is no action %q. Possible are: %s.", page.Verb, strings.Join(views.Verbs(), ", ")).At("verb")
	}
	filter := store.ActionFilter{Operation: page.Operation, Message: page.Message, Verb: page.Verb}
	all, err := h.Store.Actions(c.Request().Context(), filter, page.Before, defaultLimit+1)
	if err != nil {
		return err
	}
	page.Items, page.More = all[:min(len(all), defaultLimit)], len(all) > defaultLimit
	return render(c, http.StatusOK, views.ActionsPage(page))
}
