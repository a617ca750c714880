package parkade

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Properties are the basic properties of a message. A nil field is absent, which
// is not the same as empty: a quorum queue of 4.3 takes priority 0 for low, and no
// priority for normal.
type Properties struct {
	ContentType     *string    `json:"content_type,omitempty"`
	ContentEncoding *string    `json:"content_encoding,omitempty"`
	DeliveryMode    *uint8     `json:"delivery_mode,omitempty"`
	Priority        *uint8     `json:"priority,omitempty"`
	CorrelationID   *string    `json:"correlation_id,omitempty"`
	ReplyTo         *string    `json:"reply_to,omitempty"`
	Expiration      *string    `json:"expiration,omitempty"`
	MessageID       *string    `json:"message_id,omitempty"`
	Timestamp       *Timestamp `json:"timestamp,omitempty"`
	Type            *string    `json:"type,omitempty"`
	UserID          *string    `json:"user_id,omitempty"`
	AppID           *string    `json:"app_id,omitempty"`
}

// Text returns *s, and "" for an absent property.
func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// The presence bits of the AMQP content header, in the order of the wire.
// Headers are a table of their own here.
const (
	flagContentType     = 1 << 15
	flagContentEncoding = 1 << 14
	flagDeliveryMode    = 1 << 12
	flagPriority        = 1 << 11
	flagCorrelationID   = 1 << 10
	flagReplyTo         = 1 << 9
	flagExpiration      = 1 << 8
	flagMessageID       = 1 << 7
	flagTimestamp       = 1 << 6
	flagType            = 1 << 5
	flagUserID          = 1 << 4
	flagAppID           = 1 << 3
)

// AppendBinary appends p as AMQP writes it: the presence bits, then what is
// present. It fails on a string of more than 255 bytes.
func (p Properties) AppendBinary(b []byte) ([]byte, error) {
	at, flags := len(b), uint16(0)
	b = append(b, 0, 0)
	var err error
	text := func(flag uint16, name string, s *string) {
		if s == nil {
			return
		}
		if len(*s) > math.MaxUint8 && err == nil {
			err = fmt.Errorf("property %s has %d bytes: at most 255 are possible", name, len(*s))
			return
		}
		flags |= flag
		b = append(append(b, byte(len(*s))), *s...) //nolint:gosec // an error if it is longer
	}
	octet := func(flag uint16, o *uint8) {
		if o != nil {
			flags |= flag
			b = append(b, *o)
		}
	}
	text(flagContentType, "content_type", p.ContentType)
	text(flagContentEncoding, "content_encoding", p.ContentEncoding)
	octet(flagDeliveryMode, p.DeliveryMode)
	octet(flagPriority, p.Priority)
	text(flagCorrelationID, "correlation_id", p.CorrelationID)
	text(flagReplyTo, "reply_to", p.ReplyTo)
	text(flagExpiration, "expiration", p.Expiration)
	text(flagMessageID, "message_id", p.MessageID)
	if p.Timestamp != nil {
		flags |= flagTimestamp
		b = binary.BigEndian.AppendUint64(b, uint64(*p.Timestamp)) //nolint:gosec // same bits
	}
	text(flagType, "type", p.Type)
	text(flagUserID, "user_id", p.UserID)
	text(flagAppID, "app_id", p.AppID)
	binary.BigEndian.PutUint16(b[at:], flags)
	return b, err
}

// ParseProperties is the inverse of AppendBinary.
func ParseProperties(b []byte) (Properties, error) {
	r := wire{b: b}
	flags := r.u16()
	text := func(flag uint16) *string {
		if flags&flag == 0 {
			return nil
		}
		return new(r.short())
	}
	octet := func(flag uint16) *uint8 {
		if flags&flag == 0 {
			return nil
		}
		return new(r.u8())
	}
	p := Properties{
		ContentType:     text(flagContentType),
		ContentEncoding: text(flagContentEncoding),
		DeliveryMode:    octet(flagDeliveryMode),
		Priority:        octet(flagPriority),
		CorrelationID:   text(flagCorrelationID),
		ReplyTo:         text(flagReplyTo),
		Expiration:      text(flagExpiration),
		MessageID:       text(flagMessageID),
	}
	if flags&flagTimestamp != 0 {
		p.Timestamp = new(Timestamp(r.u64())) //nolint:gosec // same bits
	}
	p.Type, p.UserID, p.AppID = text(flagType), text(flagUserID), text(flagAppID)
	if r.err != nil || len(r.b) > 0 {
		return Properties{}, errors.New("malformed properties")
	}
	return p, nil
}
