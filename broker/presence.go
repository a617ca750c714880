package broker

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"parkade"
)

// The client library can neither tell nor say that a property is there and empty:
// a text of no bytes, priority 0. Spring sends every message with priority 0, which
// on a quorum queue of 4.3 is low, and none is normal. So both are read off the
// wire, and put on it, here: the frames that pass are followed, and those with the
// properties of a message (AMQP 0-9-1, 4.2.6) are looked into.

// presence is a set of properties that are there and empty, by their flags in the
// content header.
type presence uint16

// The flags, in the order of the wire.
const (
	hasContentType presence = 1 << (15 - iota)
	hasContentEncoding
	hasHeaders
	hasDeliveryMode
	hasPriority
	hasCorrelationID
	hasReplyTo
	hasExpiration
	hasMessageID
	hasTimestamp
	hasType
	hasUserID
	hasAppID
	hasClusterID

	octets = hasDeliveryMode | hasPriority
)

// noTime is the one timestamp that Go's zero time is taken for.
var noTime = time.Time{}.Unix() //nolint:gochecknoglobals // a constant

// flagged is a property that is a text, with its flag.
type flagged struct {
	flag presence
	text **string
}

func texts(p *parkade.Properties) [9]flagged {
	return [...]flagged{
		{hasContentType, &p.ContentType},
		{hasContentEncoding, &p.ContentEncoding},
		{hasCorrelationID, &p.CorrelationID},
		{hasReplyTo, &p.ReplyTo},
		{hasExpiration, &p.Expiration},
		{hasMessageID, &p.MessageID},
		{hasType, &p.Type},
		{hasUserID, &p.UserID},
		{hasAppID, &p.AppID},
	}
}

// emptyIn returns which properties of p are there and empty.
func emptyIn(p parkade.Properties) (empty presence) {
	for _, t := range texts(&p) {
		if *t.text != nil && **t.text == "" {
			empty |= t.flag
		}
	}
	if p.DeliveryMode != nil && *p.DeliveryMode == 0 {
		empty |= hasDeliveryMode
	}
	if p.Priority != nil && *p.Priority == 0 {
		empty |= hasPriority
	}
	if p.Timestamp != nil && int64(*p.Timestamp) == noTime {
		empty |= hasTimestamp
	}
	return empty
}

// addTo gives p the empty properties that the client library left out.
func (e presence) addTo(p *parkade.Properties) {
	if e == 0 {
		return
	}
	for _, t := range texts(p) {
		if e&t.flag != 0 {
			*t.text = new("")
		}
	}
	if e&hasDeliveryMode != 0 {
		p.DeliveryMode = new(uint8(0))
	}
	if e&hasPriority != 0 {
		p.Priority = new(uint8(0))
	}
	if e&hasTimestamp != 0 {
		p.Timestamp = new(parkade.Timestamp(noTime))
	}
}

// wire is the socket of a connection that carries the messages of one channel.
type wire struct {
	net.Conn

	mu       sync.Mutex
	in, out  frames
	arrived  []presence // of each message since forget, in order
	outgoing presence   // what the next message that is written has empty
}

func newWire(socket net.Conn) *wire {
	return &wire{Conn: socket, out: frames{skip: len("AMQP") + 4}} // a client begins with no frame
}

// forget begins anew with what arrives.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrived = nil
}

// take returns which properties of the first n messages since forget were empty.
func (w *wire) take(n int) []presence {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.arrived) < n { // can't be: without a word on any, none is wrong
		return make([]presence, n)
	}
	return w.arrived[:n]
}

// say tells what the message that is written next has empty.
func (w *wire) say(e presence) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outgoing = e
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.in.follow(b[:n], func(_, header []byte) {
		if header != nil {
			_, empty := walk(header, 0)
			w.arrived = append(w.arrived, empty)
		}
	})
	return n, err
}

// Write writes b with what say told. Its count is of b, also where more was written;
// the last bytes may have to wait for the rest of their frame.
func (w *wire) Write(b []byte) (int, error) {
	if _, err := w.Conn.Write(w.filled(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (w *wire) filled(b []byte) (all []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outgoing == 0 && len(w.out.begun) == 0 {
		w.out.follow(b, func([]byte, []byte) {})
		return b[:len(b)-len(w.out.begun)]
	}
	w.out.follow(b, func(passing, header []byte) {
		if header != nil {
			passing, _ = walk(header, w.outgoing)
			w.outgoing = 0
		}
		all = append(all, passing...)
	})
	return all
}

const (
	frameStart  = 7 // type, channel, size
	frameHeader = 2 // the type of a content header
	beforeFlags = 2 + 2 + 8
)

// frames follows the frames of one direction.
type frames struct {
	skip   int    // bytes that pass before the next frame begins
	begun  []byte // of a frame whose start or header isn't complete yet
	needed int    // bytes of begun until it is
}

// follow goes through the next bytes of the stream. It calls pass with what is of no
// interest, and with each whole content header, as its second argument.
func (f *frames) follow(b []byte, pass func(passing, header []byte)) {
	for len(b) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(b))
			pass(b[:n], nil)
			f.skip -= n
			b = b[n:]
			continue
		}
		if f.needed == 0 {
			f.needed = frameStart
		}
		n := min(f.needed-len(f.begun), len(b))
		f.begun = append(f.begun, b[:n]...)
		b = b[n:]
		if len(f.begun) < f.needed {
			return
		}
		size := int(binary.BigEndian.Uint32(f.begun[3:])) + 1 // and its end
		switch {
		case f.needed > frameStart:
			pass(nil, f.begun)
			f.begun, f.needed = nil, 0
		case f.begun[0] == frameHeader:
			f.needed = frameStart + size
		default:
			pass(f.begun, nil)
			f.begun, f.needed, f.skip = nil, 0, size
		}
	}
}

// walk goes through the frame of a content header. It returns the frame with the
// properties of add besides, empty, and which ones are empty in it as it is.
func walk(frame []byte, add presence) (filled []byte, empty presence) {
	const start = frameStart + beforeFlags + 2
	if len(frame) < start+1 {
		return frame, 0
	}
	flags := presence(binary.BigEndian.Uint16(frame[start-2:]))
	filled = append(filled, frame[:start]...)
	rest := frame[start : len(frame)-1]
	for flag := hasContentType; flag >= hasClusterID; flag >>= 1 {
		switch {
		case flags&flag != 0:
			n, zero := property(flag, rest)
			if n > len(rest) {
				return frame, empty // malformed: let the other side say so
			}
			if zero {
				empty |= flag
			}
			filled, rest = append(filled, rest[:n]...), rest[n:]
		case add&flag == 0:
		case flag == hasTimestamp:
			filled = binary.BigEndian.AppendUint64(filled, uint64(noTime)) //nolint:gosec // same bits
		default:
			filled = append(filled, 0) // the length of a text, or an octet
		}
	}
	filled = append(append(filled, rest...), frame[len(frame)-1])
	binary.BigEndian.PutUint32(filled[3:], uint32(len(filled)-frameStart-1)) //nolint:gosec // bounded by the frame size
	binary.BigEndian.PutUint16(filled[start-2:], uint16(flags|add))
	return filled, empty
}

// property returns the length of the property at the head of b, and whether it is
// empty. A length beyond b is malformed.
func property(flag presence, b []byte) (n int, zero bool) {
	switch {
	case flag == hasTimestamp:
		return 8, len(b) >= 8 && int64(binary.BigEndian.Uint64(b)) == noTime //nolint:gosec // same bits
	case flag == hasHeaders && len(b) < 4:
		return 4, false
	case flag == hasHeaders:
		return 4 + int(binary.BigEndian.Uint32(b)), false
	case len(b) == 0:
		return 1, false
	case flag&octets != 0:
		return 1, b[0] == 0
	}
	return 1 + int(b[0]), b[0] == 0
}
