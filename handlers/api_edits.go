package handlers

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"

	"parkade"
	"parkade/store"
)

// jsonEdit is what somebody makes of a version of a message. What is absent stays
// as it is there.
type jsonEdit struct {
	Base       *int64                     `json:"base,omitempty"` // nil: the version that would be sent
	Body       json.RawMessage            `json:"body,omitempty"` // text
	BodyBase64 *string                    `json:"body_base64,omitempty"`
	Exchange   *string                    `json:"exchange,omitempty"`
	RoutingKey *string                    `json:"routing_key,omitempty"`
	Properties map[string]json.RawMessage `json:"properties,omitempty"` // null takes one away
	Headers    json.RawMessage            `json:"headers,omitempty"`    // all of them
	Note       string                     `json:"note,omitempty"`
}

// newEdit makes an edit of m, seen in a version, out of e.
func (d Deps) newEdit(ctx context.Context, m parkade.Message, seen int64, by string, e jsonEdit) (store.NewEdit, error) {
	n := store.NewEdit{Message: m.ID, Seen: seen, Base: m.Sends(), By: by, Note: e.Note}
	if e.Base != nil {
		n.Base = *e.Base
	}
	if len(e.Note) > maxReason {
		return n, parkade.Errorf(parkade.Invalid, "The note is longer than %d bytes.", maxReason).At("edit.note")
	}
	base, err := d.Store.Version(ctx, m.ID, n.Base)
	if err != nil {
		if kind, sentence := parkade.Explain(err); kind == parkade.NotFound {
			err = parkade.Errorf(parkade.Invalid, "%s", sentence).At("edit.base")
		}
		return n, err
	}
	n.Draft = base.Draft
	return n, e.apply(&n.Draft)
}

// apply changes a draft as e says.
func (e jsonEdit) apply(d *parkade.Draft) error {
	if err := e.body(d); err != nil {
		return err
	}
	if e.Exchange != nil {
		d.Exchange = *e.Exchange
	}
	if e.RoutingKey != nil {
		d.RoutingKey = *e.RoutingKey
	}
	for name, raw := range e.Properties {
		if err := setProperty(&d.Properties, name, raw); err != nil {
			return err
		}
	}
	if len(e.Headers) == 0 {
		return nil
	}
	headers, err := readHeaders(e.Headers, "edit.headers")
	d.Headers = headers
	return err
}

func (e jsonEdit) body(d *parkade.Draft) error {
	switch {
	case len(e.Body) > 0 && e.BodyBase64 != nil:
		return parkade.Errorf(parkade.Invalid, "A body is text or base64: which of them is meant?").At("edit.body")
	case len(e.Body) > 0:
		text, ok := exactText(e.Body)
		if !ok {
			return parkade.Errorf(parkade.Invalid, "The body is no text that JSON can hold exactly. Send it as body_base64.").At("edit.body")
		}
		d.Body = []byte(text)
	case e.BodyBase64 != nil:
		b, err := base64.StdEncoding.DecodeString(*e.BodyBase64)
		if err != nil {
			return parkade.Errorf(parkade.Invalid, "The body isn't base64: %s.", err).At("edit.body_base64")
		}
		d.Body = b
	}
	return nil
}

// setProperty sets one property, or takes it away.
func setProperty(p *parkade.Properties, name string, raw json.RawMessage) error {
	field := "edit.properties." + name
	if to := textProperty(p, name); to != nil {
		if string(raw) == "null" {
			*to = nil
			return nil
		}
		s, ok := exactText(raw)
		if !ok || len(s) > math.MaxUint8 {
			return parkade.Errorf(parkade.Invalid, "The property %s is a text of at most 255 bytes.", name).At(field)
		}
		*to = &s
		return nil
	}
	switch name {
	case "delivery_mode":
		return setOctet(&p.DeliveryMode, raw, field)
	case "priority":
		return setOctet(&p.Priority, raw, field)
	case "timestamp":
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if p.Timestamp = nil; string(raw) == "null" {
			return nil
		}
		p.Timestamp = new(parkade.Timestamp(n))
		if err != nil {
			return parkade.Errorf(parkade.Invalid, "The timestamp is a whole number of seconds since 1970.").At(field)
		}
		return nil
	}
	return parkade.Errorf(parkade.Invalid, "There is no property %q.", name).At(field)
}

func setOctet(to **uint8, raw json.RawMessage, field string) error {
	if *to = nil; string(raw) == "null" {
		return nil
	}
	n, err := strconv.ParseUint(string(raw), 10, 8)
	if err != nil {
		return parkade.Errorf(parkade.Invalid, "This is a whole number from 0 to 255.").At(field)
	}
	*to = new(uint8(n))
	return nil
}

// textProperty returns where the text property called name stands, or nil.
func textProperty(p *parkade.Properties, name string) **string {
	return map[string]**string{
		"content_type": &p.ContentType, "content_encoding": &p.ContentEncoding, "correlation_id": &p.CorrelationID, "reply_to": &p.ReplyTo,
		"expiration": &p.Expiration, "message_id": &p.MessageID, "type": &p.Type, "user_id": &p.UserID, "app_id": &p.AppID,
	}[name]
}
