package broker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// readTable turns a table of the client library into one of ours. Types survive;
// AMQP timestamps are seconds.
func readTable(t amqp.Table) parkade.Table {
	out := make(parkade.Table, 0, len(t))
	for name, v := range t {
		out = append(out, parkade.Field{Name: name, Value: readValue(v)})
	}
	slices.SortFunc(out, func(a, b parkade.Field) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func readValue(v any) any {
	switch v := v.(type) {
	case amqp.Table:
		return readTable(v)
	case []any:
		list := make(parkade.List, len(v))
		for i, e := range v {
			list[i] = readValue(e)
		}
		return list
	case time.Time:
		return parkade.Timestamp(v.Unix())
	case amqp.Decimal:
		return parkade.Decimal{Scale: v.Scale, Value: v.Value}
	}
	return v
}

// writeTable is the inverse of readTable. A nil table is what an empty one is on
// the wire of a message: absent.
func writeTable(t parkade.Table) amqp.Table {
	if len(t) == 0 {
		return nil
	}
	return writeFields(t)
}

func writeFields(t parkade.Table) amqp.Table {
	out := make(amqp.Table, len(t))
	for _, f := range t {
		out[f.Name] = writeValue(f.Value)
	}
	return out
}

func writeValue(v any) any {
	switch v := v.(type) {
	case parkade.Table:
		return writeFields(v)
	case parkade.List:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = writeValue(e)
		}
		return list
	case parkade.Timestamp:
		return time.Unix(int64(v), 0)
	case parkade.Decimal:
		return amqp.Decimal{Scale: v.Scale, Value: v.Value}
	}
	return v
}

// readDelivery turns what the client library received into one of ours.
func readDelivery(d amqp.Delivery) parkade.Delivery {
	p := parkade.Properties{
		ContentType: text(d.ContentType), ContentEncoding: text(d.ContentEncoding),
		DeliveryMode: octet(d.DeliveryMode), Priority: octet(d.Priority),
		CorrelationID: text(d.CorrelationId), ReplyTo: text(d.ReplyTo), Expiration: text(d.Expiration),
		MessageID: text(d.MessageId), Type: text(d.Type), UserID: text(d.UserId), AppID: text(d.AppId),
	}
	if !d.Timestamp.IsZero() {
		p.Timestamp = new(parkade.Timestamp(d.Timestamp.Unix()))
	}
	return parkade.Delivery{
		Content:     parkade.Content{Exchange: d.Exchange, RoutingKey: d.RoutingKey, Properties: p, Headers: readTable(d.Headers)},
		Body:        d.Body,
		Redelivered: d.Redelivered,
	}
}

// The client library shows an absent property as its zero value.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func octet(n uint8) *uint8 {
	if n == 0 {
		return nil
	}
	return &n
}

// writeMessage turns a draft into what the client library publishes.
func writeMessage(d parkade.Draft) amqp.Publishing {
	p := d.Properties
	m := amqp.Publishing{
		Headers: writeTable(d.Headers), Body: d.Body,
		ContentType: parkade.Text(p.ContentType), ContentEncoding: parkade.Text(p.ContentEncoding),
		CorrelationId: parkade.Text(p.CorrelationID), ReplyTo: parkade.Text(p.ReplyTo),
		Expiration: parkade.Text(p.Expiration), MessageId: parkade.Text(p.MessageID),
		Type: parkade.Text(p.Type), UserId: parkade.Text(p.UserID), AppId: parkade.Text(p.AppID),
	}
	if p.DeliveryMode != nil {
		m.DeliveryMode = *p.DeliveryMode
	}
	if p.Priority != nil {
		m.Priority = *p.Priority
	}
	if p.Timestamp != nil {
		m.Timestamp = time.Unix(int64(*p.Timestamp), 0)
	}
	return m
}

// sizeOf estimates what a delivery holds in memory: bodies and texts, and a
// little for each field.
func sizeOf(d amqp.Delivery) int64 {
	return int64(len(d.Body)) + valueSize(d.Headers) + 256
}

func valueSize(v any) int64 {
	const field = 32
	switch v := v.(type) {
	case string:
		return field + int64(len(v))
	case []byte:
		return field + int64(len(v))
	case []any:
		n := int64(field)
		for _, e := range v {
			n += valueSize(e)
		}
		return n
	case amqp.Table:
		n := int64(field)
		for name, e := range v {
			n += int64(len(name)) + valueSize(e)
		}
		return n
	}
	return field
}

// valueOf turns a value of JSON, as the management API writes arguments, into a
// table's. Whole numbers are int64.
func valueOf(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
		return v
	case map[string]any:
		return tableOf(v)
	case []any:
		list := make(parkade.List, len(v))
		for i, e := range v {
			list[i] = valueOf(e)
		}
		return list
	case string, bool, nil:
		return v
	}
	return fmt.Sprint(v)
}

func tableOf(m map[string]any) parkade.Table {
	t := make(parkade.Table, 0, len(m))
	for name, v := range m {
		t = append(t, parkade.Field{Name: name, Value: valueOf(v)})
	}
	slices.SortFunc(t, func(a, b parkade.Field) int { return cmp.Compare(a.Name, b.Name) })
	return t
}
