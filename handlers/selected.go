package handlers

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/views"
)

// chosen is what a form about messages was opened with, or sent.
type chosen struct {
	views.Selection

	filter   *parkade.Filter   // nil: the ids, or what failed in the operation Retry
	outcomes []parkade.Outcome // of Retry
	with     []parkade.State   // states that were ticked besides the verb's own
	why      string
	key      string // of the operation that is made from it
}

// choose reads a form, from the query or from the body of a request.
func choose(c echo.Context) (chosen, error) {
	form, err := c.FormParams() // of a POST its body, too
	if err != nil {
		return chosen{}, parkade.Errorf(parkade.Invalid, "The form can't be read.").Because(err)
	}
	out := chosen{why: strings.TrimSpace(form.Get("why")), key: form.Get("key")}
	out.Sheet = inSheet(c)
	if out.key == "" || len(out.key) > maxKey {
		out.key = newKey()
	}
	if len(out.why) > maxReason {
		return out, parkade.Errorf(parkade.Invalid, "The reason is longer than %d bytes.", maxReason).At("why")
	}
	for _, state := range form["with"] {
		if s := parkade.State(state); s == parkade.InDoubt || s == parkade.Replayed || s == parkade.Resolved {
			out.with = append(out.with, s)
		}
	}
	if form.Has("retry") {
		return out, out.readRetry(form.Get("retry"), form["outcome"])
	}
	if form.Has("filter") {
		return out, out.readFilter(form.Get("filter"))
	}
	return out, out.readIDs(append(form["id"], strings.FieldsFunc(form.Get("ids"), func(r rune) bool { return r == ',' })...))
}

// readFilter reads a filter that is one value of a form.
func (s *chosen) readFilter(query string) error {
	q, err := url.ParseQuery(query)
	if err != nil {
		return parkade.Errorf(parkade.Invalid, "The filter can't be read.").At("filter").Because(err)
	}
	f, err := parkade.ParseFilter(q)
	s.filter, s.Filtered, s.Filter = &f, true, f.Query().Encode()
	return err
}

func (s *chosen) readIDs(ids []string) error {
	for _, text := range ids {
		n, err := parkade.ParseID(text, "id")
		if err != nil {
			return err
		}
		if id := parkade.MessageID(n); id != 0 && !slices.Contains(s.IDs, id) {
			s.IDs = append(s.IDs, id)
		}
	}
	switch {
	case len(s.IDs) == 0:
		return parkade.Errorf(parkade.Invalid, "Tick the messages first: none is selected.").At("id")
	case len(s.IDs) > maxPicked:
		return parkade.Errorf(parkade.TooLarge, "At most %d messages can be ticked at once. Use a filter for more.", maxPicked)
	}
	return nil
}

// maxPicked is how many messages a form can name.
const maxPicked = 1000

// newKey returns a key under which a form makes one operation, however often it
// is sent.
func newKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
