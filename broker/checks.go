package broker

import (
	"fmt"
	"math"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// Limits are what a message has to fit into.
type Limits struct {
	Frame int64 // bytes of a frame, which properties and headers share
	Body  int64 // bytes of a body; 0: not known
	Taken int64 // bytes of the longest body that it took from us
}

const (
	defaultFrame = 131072
	harmlessBody = 64 << 10 // bytes that no limit in use forbids
	frameMargin  = 1024     // for what RabbitMQ may add

	maxNesting = 32   // of what the client library reads again
	maxEntries = 8192 // in one table or array

	longestExpiration = 315_360_000_000 // ten years in ms, RabbitMQ's bound
)

// Limits returns what is known of the broker's limits: after the first connection
// they are its own, before it RabbitMQ's smallest defaults.
func (b *Broker) Limits() Limits {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := Limits{Frame: defaultFrame, Body: b.cfg.MaxMessageSize, Taken: b.sizes.taken}
	if b.frame > 0 {
		l.Frame = b.frame
	}
	if l.Body == 0 {
		l.Body = defaultMaxMessage(b.version)
	}
	if told := b.sizes.told(time.Now()); told > 0 {
		l.Body = told
	}
	return l
}

// MaxMessageSize returns the longest body that the broker takes, in bytes.
// RabbitMQ tells only when it refuses one, so it is what that said a moment ago,
// else configured, else the default of the version.
func (b *Broker) MaxMessageSize() int64 { return b.Limits().Body }

// KnownVersion is the version that the last connection told, or "".
func (b *Broker) KnownVersion() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}

func defaultMaxMessage(version string) int64 {
	if parkade.AtLeast(version, 4, 0) {
		return 16 << 20
	}
	return 128 << 20
}

// Check reports why d can't be sent, as a sentence, or nil. One bad message costs
// every neighbour on its channel its outcome, and some end the whole connection,
// so all that can be known beforehand is looked at here.
func Check(d parkade.Draft, l Limits) error {
	if err := checkAddress(d); err != nil {
		return err
	}
	if err := checkProperties(d.Properties); err != nil {
		return err
	}
	if err := checkHeaders(d.Headers); err != nil {
		return err
	}
	size, err := headerSize(d)
	if err != nil {
		return parkade.Errorf(parkade.Invalid, "The headers can't be written: %s.", err).At("headers").Because(err)
	}
	if l.Frame > 0 && size > l.Frame-frameMargin {
		return parkade.Errorf(parkade.TooLarge, "Properties and headers are %d bytes together; RabbitMQ takes at most %d.", size, l.Frame-frameMargin).At("headers")
	}
	if n := int64(len(d.Body)); l.Body > 0 && n > l.Body {
		return parkade.Errorf(parkade.TooLarge, "The body is %d bytes; this RabbitMQ takes at most %d.", n, l.Body).At("body")
	}
	return nil
}

// Risky reports whether RabbitMQ may refuse d for what is in it, so that it is
// better sent alone: a refusal is certain then, and hurts no other.
func Risky(d parkade.Draft, l Limits) bool {
	_, cc := d.Headers.Get("CC")
	_, bcc := d.Headers.Get("BCC")
	return cc || bcc || d.Properties.UserID != nil || d.Properties.Expiration != nil ||
		int64(len(d.Body)) > max(l.Taken, harmlessBody)
}

// checkAddress looks at lengths only: names and keys that aren't UTF-8 hurt nobody
// (measured on 3.10, 4.0 and 4.3).
func checkAddress(d parkade.Draft) error {
	for _, s := range []struct{ field, name, value string }{
		{"exchange", "exchange", d.Exchange},
		{"routing_key", "routing key", d.RoutingKey},
	} {
		if len(s.value) > math.MaxUint8 {
			return parkade.Errorf(parkade.Invalid, "The %s has %d bytes; at most 255 are possible.", s.name, len(s.value)).At(s.field)
		}
	}
	return nil
}

func checkProperties(p parkade.Properties) error {
	for _, s := range []struct {
		name  string
		value *string
	}{
		{"content_type", p.ContentType},
		{"content_encoding", p.ContentEncoding},
		{"correlation_id", p.CorrelationID},
		{"reply_to", p.ReplyTo},
		{"expiration", p.Expiration},
		{"message_id", p.MessageID},
		{"type", p.Type},
		{"user_id", p.UserID},
		{"app_id", p.AppID},
	} {
		if n := len(parkade.Text(s.value)); n > math.MaxUint8 {
			return parkade.Errorf(parkade.Invalid, "The property %s has %d bytes; at most 255 are possible.", s.name, n).At(s.name)
		}
	}
	if p.Expiration == nil {
		return nil
	}
	if ms, err := strconv.ParseUint(*p.Expiration, 10, 64); err != nil || ms > longestExpiration {
		return parkade.Errorf(parkade.Invalid, "The expiration %q isn't possible: it is a whole number of milliseconds from 0 to %d.", *p.Expiration, int64(longestExpiration)).At("expiration")
	}
	return nil
}

func checkHeaders(t parkade.Table) error {
	for _, f := range t {
		if f.Name != "CC" && f.Name != "BCC" {
			continue
		}
		list, ok := f.Value.(parkade.List)
		for _, key := range list {
			if _, text := key.(string); !text {
				ok = false
			}
		}
		if !ok {
			return parkade.Errorf(parkade.Invalid, "The header %s has to be an array of routing keys.", f.Name).At("headers")
		}
	}
	if err := checkNesting(t, 0); err != nil {
		return parkade.Errorf(parkade.Invalid, "The headers can't be sent: %s.", err).At("headers")
	}
	return nil
}

// checkNesting holds headers to what the client library can read, or nobody who
// uses it could ever take the message out of its queue.
func checkNesting(v any, depth int) error {
	var entries []any
	switch v := v.(type) {
	case parkade.Table:
		for _, f := range v {
			entries = append(entries, f.Value)
		}
	case parkade.List:
		entries = v
	case float32:
		return checkFloat(float64(v))
	case float64:
		return checkFloat(v)
	default:
		return nil
	}
	if depth > maxNesting {
		return fmt.Errorf("they nest deeper than %d levels", maxNesting)
	}
	if len(entries) > maxEntries {
		return fmt.Errorf("a table or an array has %d entries, and %d are possible", len(entries), maxEntries)
	}
	for _, e := range entries {
		if err := checkNesting(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkFloat refuses what RabbitMQ can't read: it ends the whole connection over
// one (measured on 3.10, 4.0 and 4.3).
func checkFloat(v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("they hold the float %v, over which RabbitMQ ends the connection", v)
	}
	return nil
}

// headerSize is how long the frame with properties and headers becomes.
func headerSize(d parkade.Draft) (int64, error) {
	const fixed = 8 + 14 // frame, and class, weight, body size and flags
	b, err := d.Properties.AppendBinary(nil)
	if err != nil {
		return 0, err
	}
	if b, err = d.Headers.AppendBinary(b); err != nil {
		return 0, err
	}
	return int64(len(b)) + fixed, nil
}

// learn keeps what a connection told of the broker.
func (b *Broker) learn(conn *amqp.Connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frame = int64(conn.Config.FrameSize)
	if v, ok := conn.Properties["version"].(string); ok {
		if v != b.version {
			b.sizes = sizes{}
		}
		b.version = v
	}
}
