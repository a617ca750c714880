package parkade

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// easyProperties reads the basic properties that .NET writes: each with a flag
// that says whether it was present, or, without flags, null or 0 where it wasn't.
func easyProperties(o jsonObject, c *Content) bool {
	names := map[string]string{
		"content_type": "ContentType", "content_encoding": "ContentEncoding", "delivery_mode": "DeliveryMode", "priority": "Priority",
		"correlation_id": "CorrelationId", "reply_to": "ReplyTo", "expiration": "Expiration", "message_id": "MessageId",
		"timestamp": "Timestamp", "type": "Type", "user_id": "UserId", "app_id": "AppId",
	}
	plain := jsonObject{}
	for name, theirs := range names {
		if raw, ok := o[theirs]; ok && string(o[theirs+"Present"]) != "false" {
			if string(raw) == "0" && string(o[theirs+"Present"]) != "true" {
				continue
			}
			plain[name] = raw
		}
	}
	if raw, ok := o["Headers"]; ok {
		plain["headers"] = raw
	}
	return bunnyProperties(plain, c)
}

// bunnyProperties reads properties under the names of AMQP, as Ruby writes them.
// Null is absent. An expiration or a time that isn't a number is left out: a
// replay strips the one, and the other can't be had exactly.
func bunnyProperties(o jsonObject, c *Content) bool {
	p, ok := &c.Properties, true
	text := func(name string) *string {
		raw, there := o[name]
		if !there || string(raw) == "null" {
			return nil
		}
		s, good := o.text(name)
		ok = ok && good && short(s)
		return &s
	}
	number := func(name string, most int64) *int64 {
		raw, there := o[name]
		if !there || string(raw) == "null" {
			return nil
		}
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n < 0 || n > most {
			ok = ok && name == "timestamp"
			return nil
		}
		return &n
	}
	octet := func(name string) *uint8 {
		if n := number(name, math.MaxUint8); n != nil {
			return new(uint8(*n)) //nolint:gosec // bounded above
		}
		return nil
	}
	p.ContentType, p.ContentEncoding = text("content_type"), text("content_encoding")
	p.DeliveryMode, p.Priority = octet("delivery_mode"), octet("priority")
	p.CorrelationID, p.ReplyTo, p.MessageID = text("correlation_id"), text("reply_to"), text("message_id")
	p.Type, p.UserID, p.AppID = text("type"), text("user_id"), text("app_id")
	if raw := strings.Trim(string(o["expiration"]), `"`); raw != "" {
		if _, err := strconv.ParseUint(raw, 10, 32); err == nil {
			p.Expiration = &raw
		}
	}
	if n := number("timestamp", math.MaxInt64); n != nil {
		p.Timestamp = new(Timestamp(*n))
	}
	if raw, there := o["headers"]; ok && there && string(raw) != "null" {
		if len(raw) > maxWrappedHeaders {
			return false
		}
		c.Headers, ok = jsonTable(raw, 0)
	}
	return ok
}

const (
	maxWrappedDepth   = 32      // how deep the client library lets tables nest
	maxWrappedHeaders = 1 << 20 // no frame holds that many bytes
)

// jsonTable reads headers that went through JSON, which keeps no AMQP types:
// whole numbers become 64 bits wide, as the frameworks' own tools send them again.
func jsonTable(raw json.RawMessage, depth int) (Table, bool) {
	o := object(raw)
	if o == nil || depth > maxWrappedDepth {
		return nil, false
	}
	t := make(Table, 0, len(o))
	for name := range o {
		if name == "$type" {
			continue
		}
		v, ok := jsonField(o[name], depth)
		if !ok || !short(name) {
			return nil, false
		}
		t = append(t, Field{name, v})
	}
	slices.SortFunc(t, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return t, true
}

func jsonField(raw json.RawMessage, depth int) (any, bool) {
	switch s := string(raw); {
	case s == "null":
		return nil, true
	case s == "true", s == "false":
		return s == "true", true
	case raw[0] == '"':
		return jsonObject{"": raw}.text("")
	case raw[0] == '[':
		return jsonList(raw, depth+1)
	case raw[0] == '{':
		return dotNet(raw, depth+1)
	case strings.ContainsAny(s, ".eE"):
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	default:
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	}
}

func jsonList(raw json.RawMessage, depth int) (any, bool) {
	var all []json.RawMessage
	if depth > maxWrappedDepth || json.Unmarshal(raw, &all) != nil {
		return nil, false
	}
	list := make(List, len(all))
	for i, e := range all {
		v, ok := jsonField(e, depth)
		if !ok {
			return nil, false
		}
		list[i] = v
	}
	return list, true
}

// dotNet reads an object, which Newtonsoft's TypeNameHandling may have made of
// something that isn't one: the bytes of a text, a list, or a time.
func dotNet(raw json.RawMessage, depth int) (any, bool) {
	o := object(raw)
	kind, _ := o.text("$type")
	switch {
	case strings.HasPrefix(kind, "System.Byte[]") && o.has("$value"):
		encoded, ok := o.text("$value")
		b, err := base64.StdEncoding.DecodeString(encoded)
		return string(b), ok && err == nil
	case o.has("$values"):
		return jsonList(o["$values"], depth)
	case strings.HasPrefix(kind, "RabbitMQ.Client.AmqpTimestamp") && o.has("UnixTime"):
		n, err := strconv.ParseInt(string(o["UnixTime"]), 10, 64)
		return Timestamp(n), err == nil
	}
	return jsonTable(raw, depth)
}
