package handlers

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parkade"
)

// property returns the AMQP type of a property and what it says.
func property(p parkade.Properties, name string) (kind, value string) {
	text := func(s *string) (string, string) {
		if s == nil {
			return "", ""
		}
		return "shortstr", *s
	}
	octet := func(o *uint8) (string, string) {
		if o == nil {
			return "", ""
		}
		return "octet", strconv.Itoa(int(*o))
	}
	switch name {
	case "content_type":
		return text(p.ContentType)
	case "content_encoding":
		return text(p.ContentEncoding)
	case "delivery_mode":
		kind, value = octet(p.DeliveryMode)
		switch value {
		case "1":
			value = "1 (transient)"
		case "2":
			value = "2 (persistent)"
		}
		return kind, value
	case "priority":
		return octet(p.Priority)
	case "correlation_id":
		return text(p.CorrelationID)
	case "reply_to":
		return text(p.ReplyTo)
	case "expiration":
		return text(p.Expiration)
	case "message_id":
		return text(p.MessageID)
	case "timestamp":
		if p.Timestamp == nil {
			return "", ""
		}
		return "timestamp", timestamp(*p.Timestamp)
	case "type":
		return text(p.Type)
	case "user_id":
		return text(p.UserID)
	case "app_id":
		return text(p.AppID)
	}
	return "", ""
}

// typeName names the type of a header; of an array or table it says how large.
func typeName(v any) string {
	switch v := v.(type) {
	case parkade.List:
		return fmt.Sprintf("array of %d", len(v))
	case parkade.Table:
		return fmt.Sprintf("table of %d", len(v))
	}
	t, _ := parkade.TypeOf(v)
	return t.String()
}

// headerText writes the value of a header for a person. Digits stay as they are.
func headerText(v any) string {
	var b strings.Builder
	writeValue(&b, v, "\n")
	return b.String()
}

// writeValue writes a value whose further lines begin with indent.
func writeValue(b *strings.Builder, v any, indent string) {
	deeper := indent + "  "
	switch v := v.(type) {
	case nil:
		b.WriteString("(void)")
	case string:
		b.WriteString(v)
	case []byte:
		b.WriteString("0x" + hex.EncodeToString(v))
	case float32:
		b.WriteString(strconv.FormatFloat(float64(v), 'g', -1, 32))
	case float64:
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case parkade.Decimal:
		b.WriteString(decimal(v))
	case parkade.Timestamp:
		b.WriteString(timestamp(v))
	case parkade.List:
		for i, one := range v {
			b.WriteString(lead(b, indent) + strconv.Itoa(i+1) + ". ")
			writeValue(b, one, deeper)
		}
	case parkade.Table:
		for _, f := range v {
			b.WriteString(lead(b, indent) + f.Name + ": ")
			writeValue(b, f.Value, deeper)
		}
	default:
		fmt.Fprint(b, v)
	}
}

// lead is what stands before an item: nothing at the very beginning.
func lead(b *strings.Builder, indent string) string {
	if b.Len() == 0 {
		return ""
	}
	return indent
}

// timestamp writes an AMQP timestamp as the number that it is, with the moment
// that it means where that is one of this age: applications put milliseconds there.
func timestamp(t parkade.Timestamp) string {
	number := strconv.FormatInt(int64(t), 10)
	switch {
	case t > 0 && t < 1e10:
		return number + " (" + time.Unix(int64(t), 0).UTC().Format("2006-01-02 15:04:05") + " UTC)"
	case t >= 1e12 && t < 1e13:
		return number + " (as milliseconds " + time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04:05") + " UTC)"
	}
	return number
}
