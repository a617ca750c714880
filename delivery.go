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

// Fingerprint is the SHA-256 of all that stays the same when the same message
// is delivered again: everything but the redelivered flag and the two headers
// that the broker counts in.
func (d Delivery) Fingerprint() ([32]byte, error) {
	props, err := d.Properties.AppendBinary(nil)
	if err != nil {
		return [32]byte{}, err
	}
	headers, err := d.Headers.Without(DeliveryCount, AcquiredCount).AppendBinary(nil)
	if err != nil {
		return [32]byte{}, err
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(d.Exchange), []byte(d.RoutingKey), props, headers, d.Body} {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
		h.Write(part)
	}
	return [32]byte(h.Sum(nil)), nil
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
