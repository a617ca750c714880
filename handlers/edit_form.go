package handlers

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/views"
)

// editForm is the page of an edit as it was opened, or sent.
type editForm struct {
	id         parkade.MessageID
	seen, base int64 // versions; base below 0: not said
	as         As
	whole      bool // a large body is wanted in the form, too

	sent       bool    // the fields below are what somebody typed
	body       *string // nil: not in the form
	file       []byte  // takes the place of the body
	properties map[string]string
	headers    []views.EditField

	target  replayAsked // where to, why, when, and under which key
	again   bool        // sent again though it may have arrived
	preview string      // the hash of what was shown
}

// propertyNames lists the properties that a person can edit. The others are set or
// stripped by every replay.
func propertyNames() []string {
	return []string{"content_type", "content_encoding", "message_id", "correlation_id", "type", "app_id", "reply_to", "timestamp", "priority"}
}

// readEdit reads the form from a query or from the body of a request.
func readEdit(c echo.Context) (editForm, error) {
	n, err := pathID(c)
	if err != nil {
		return editForm{}, err
	}
	f := editForm{id: parkade.MessageID(n), base: -1, as: As(c.QueryParam("as")), whole: c.QueryParam("whole") != ""}
	if c.Request().Method == http.MethodGet {
		f.target.key = newKey()
		if base := c.QueryParam("base"); base != "" {
			f.base, err = version(base, "base")
		}
		return f, err
	}
	if f.file, err = readParts(c.Request()); err != nil {
		return f, err
	}
	f.sent = true
	f.as, f.preview, f.again = As(c.FormValue("as")), c.FormValue("hash"), c.FormValue("again") == "yes"
	if f.seen, err = version(c.FormValue("seen"), "seen"); err != nil {
		return f, err
	}
	if f.base, err = version(c.FormValue("base"), "base"); err != nil {
		return f, err
	}
	f.target = replayAsked{
		chosen: chosen{why: strings.TrimSpace(c.FormValue("why")), key: c.FormValue("key")},
		to:     c.FormValue("to"), exchange: c.FormValue("exchange"), routingKey: c.FormValue("routing_key"), delay: c.FormValue("delay"),
	}
	if f.target.key == "" || len(f.target.key) > maxKey {
		f.target.key = newKey()
	}
	return f, f.readFields(c.Request().Form)
}

func version(s, field string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return -1, parkade.Errorf(parkade.Invalid, "%q is no version.", s).At(field)
	}
	return n, nil
}

// maxFields bounds the rows of headers in a form.
const maxFields = 5000

func (f *editForm) readFields(form url.Values) error {
	if form.Has("body") {
		f.body = new(strings.ReplaceAll(form.Get("body"), "\r\n", "\n"))
	}
	f.properties = map[string]string{}
	for _, name := range propertyNames() {
		if form.Has("property_" + name) {
			f.properties[name] = form.Get("property_" + name)
		}
	}
	for i := 0; form.Has("name_" + strconv.Itoa(i)); i++ {
		if i == maxFields {
			return parkade.Errorf(parkade.TooLarge, "The form has more than %d headers.", maxFields)
		}
		n := "_" + strconv.Itoa(i)
		f.headers = append(f.headers, views.EditField{
			Name: form.Get("name" + n), Type: form.Get("type" + n), Value: strings.ReplaceAll(form.Get("value"+n), "\r\n", "\n"),
			Was: form.Get("was" + n), Remove: form.Get("remove"+n) != "",
		})
	}
	return nil
}

// draft is what the form makes of the version that it starts from.
func (f *editForm) draft(base parkade.Draft) (parkade.Draft, error) {
	if !f.sent {
		return base, nil
	}
	out := base
	var err error
	for name, text := range f.properties {
		if err := typedProperty(&out.Properties, name, text); err != nil {
			return out, err
		}
	}
	switch {
	case f.file != nil:
		out.Body = f.file
	case f.body != nil:
		form := typingIn(base, f.as)
		if out.Body, err = form.typedAs(*f.body, parkade.Text(out.Properties.ContentEncoding)); err != nil {
			return out, err
		}
	}
	if out.Headers, err = typedHeaders(f.headers, base.Headers); err != nil {
		return out, err
	}
	if target, err := f.target.target(); err == nil && target.To != "" && target.To != parkade.ToAuto {
		out.Exchange, out.RoutingKey = target.Address()
	}
	return out, nil
}

// propertyText is a property as a form has it.
func propertyText(p parkade.Properties, name string) string {
	switch {
	case name == "timestamp" && p.Timestamp != nil:
		return strconv.FormatInt(int64(*p.Timestamp), 10)
	case name == "timestamp":
		return ""
	}
	_, value := property(p, name)
	return printable(value)
}

// typedProperty sets a property to what was typed, unless that is what it was.
func typedProperty(p *parkade.Properties, name, text string) error {
	if text == propertyText(*p, name) {
		return nil
	}
	raw := json.RawMessage("null")
	switch {
	case text == "":
	case name == "timestamp" || name == "priority":
		raw = json.RawMessage(strings.TrimSpace(text))
	default:
		quoted, err := json.Marshal(text)
		if err != nil {
			return err
		}
		raw = quoted
	}
	err := setProperty(p, name, raw)
	if e, ok := errors.AsType[*parkade.Error](err); ok {
		return e.At("properties." + name)
	}
	return err
}

// hash is of what is asked for, so that a key belongs to one request.
func (f *editForm) hash() [32]byte {
	text, _ := json.Marshal([]any{ // plain values
		"edit", f.id, f.seen, f.base, f.as, f.body, f.file, f.properties, f.headers, f.target.to, f.target.exchange, f.target.routingKey,
		f.target.delay, f.target.why, f.again, f.preview,
	})
	return sha256.Sum256(text)
}

// same reports whether two drafts would send the same.
func same(a, b parkade.Draft) bool {
	carries := func(d parkade.Draft) string {
		p, _ := d.Properties.AppendBinary(nil) // what can't be encoded is refused by the preview
		h, _ := d.Headers.AppendBinary(nil)
		return string(p) + "\x00" + string(h)
	}
	return bytes.Equal(a.Body, b.Body) && carries(a) == carries(b)
}

// neverSent reports whether every replay strips a header, so that a form has no
// use for it.
func neverSent(f parkade.Field) bool {
	_, lines := parkade.Prepare(parkade.Content{Headers: parkade.Table{f}}, "", "", parkade.Policy{}, parkade.Stamp{})
	return !slices.ContainsFunc(lines, func(t parkade.Treatment) bool { return t.Header && t.Name == f.Name && t.Handling == parkade.Kept })
}
