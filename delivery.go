package parkade

import (
	"crypto/sha256"
	"encoding/binary"
)

// Queue names a queue of a broker.
type Queue struct {
	Broker string `json:"broker"`
	Vhost  string `json:"vhost"`
	Name   string `json:"queue"`
}

// String names q for a log line.
func (q Queue) String() string { return q.Broker + " " + q.Vhost + " " + q.Name }

// Content is what a message carries besides its body.
type Content struct {
	Exchange   string
	RoutingKey string
	Properties Properties
	Headers    Table
}

// Delivery is one message as RabbitMQ handed it out of a parking queue.
type Delivery struct {
	Content
	Body        []byte
	Redelivered bool
}

// Headers that RabbitMQ counts redeliveries of a quorum queue in.
const (
	DeliveryCount = "x-delivery-count" // failures on 4.3, every return before
	AcquiredCount = "x-acquired-count" // every return, 4.3 and later
)

// Encoded is a delivery in bytes, and what it is known again by.
type Encoded struct {
	Properties []byte // see Properties.AppendBinary
	Headers    []byte // see Table.AppendBinary
	BodyHash   [32]byte

	// Fingerprint is the SHA-256 of all that stays the same when the same message is
	// delivered again: everything but the redelivered flag and the two headers that
	// the broker counts in.
	Fingerprint [32]byte
}

// Encode encodes and hashes d. Where that fails, BodyHash is right all the same.
func (d Delivery) Encode() (Encoded, error) {
	e := Encoded{BodyHash: sha256.Sum256(d.Body)}
	both := make([]byte, 0, 512)
	both, err := d.Properties.AppendBinary(both)
	if err != nil {
		return e, err
	}
	n := len(both)
	if both, err = d.Headers.AppendBinary(both); err != nil {
		return e, err
	}
	e.Properties, e.Headers = both[:n:n], both[n:]
	same := e.Headers
	if still := d.Headers.Without(DeliveryCount, AcquiredCount); len(still) < len(d.Headers) {
		same, err = still.AppendBinary(nil)
	}
	b := make([]byte, 0, 1024)
	for _, part := range [][]byte{[]byte(d.Exchange), []byte(d.RoutingKey), e.Properties, same, e.BodyHash[:]} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(part))), part...)
	}
	e.Fingerprint = sha256.Sum256(b)
	return e, err
}

// BrokerCount is how often the queue has handed this message out before, as far
// as it says so; 0 on a first delivery, where the headers may be copies.
func (d Delivery) BrokerCount() int64 {
	if !d.Redelivered {
		return 0
	}
	if n, ok := d.Headers.Int(AcquiredCount); ok {
		return n
	}
	n, _ := d.Headers.Int(DeliveryCount)
	return n
}

// Identified reports whether d can be told from a message that looks the same:
// it has a message id, or the stamp of one of our replays.
func (d Delivery) Identified() bool {
	return Text(d.Properties.MessageID) != "" || d.Headers.Text(ReplayIDHeader) != ""
}
