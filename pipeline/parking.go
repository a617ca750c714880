package pipeline

import (
	"maps"
	"strings"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"
)

// The headers that a copy has besides its own.
const (
	// Why it failed. Equal failures have equal ones, so they can be grouped.
	HeaderExceptionType    = "x-exception-type"
	HeaderExceptionMessage = "x-exception-message"

	// Where it was published to. The copy itself has the parking queue's name as
	// its key, and a message that never died has no x-death that would know better.
	HeaderOriginalExchange   = "x-original-exchange"
	HeaderOriginalRoutingKey = "x-original-routingKey"

	// What the message had, but a copy can't have, see copyOf.
	HeaderOriginalUserID     = "x-original-user-id"
	HeaderOriginalExpiration = "x-original-expiration"
	HeaderOriginalCC         = "x-original-cc"
)

// longestException bounds the text of a failure, in bytes: all headers must fit
// into one frame, and the message may have come with a frame that is nearly full.
const longestException = 300

// copyOf is d as the given user publishes it again, after it failed: with every
// property and header that it had, and the headers above. Three things would undo
// that, so they are moved to headers:
//   - a user id that isn't ours: the broker refuses the publish and closes the
//     channel, at every attempt, for ever
//   - an expiration: the copy would vanish from the parking queue
//   - CC: the broker would deliver a further copy to each queue named
func copyOf(d amqp.Delivery, user string, why *failure) amqp.Publishing {
	headers := maps.Clone(d.Headers)
	if headers == nil {
		headers = amqp.Table{}
	}
	headers[HeaderExceptionType] = why.kind
	headers[HeaderExceptionMessage] = shorten(why.message, longestException)
	if _, again := headers[HeaderOriginalExchange]; !again { // else it was replayed, perhaps by another way
		headers[HeaderOriginalExchange] = d.Exchange
		headers[HeaderOriginalRoutingKey] = d.RoutingKey
	}
	if cc, there := headers["CC"]; there {
		headers[HeaderOriginalCC] = cc
		delete(headers, "CC")
	}
	userID := d.UserId
	if userID != "" && userID != user {
		headers[HeaderOriginalUserID] = userID
		userID = ""
	}
	if d.Expiration != "" {
		headers[HeaderOriginalExpiration] = d.Expiration
	}
	return amqp.Publishing{
		Headers:         headers,
		ContentType:     d.ContentType,
		ContentEncoding: d.ContentEncoding,
		DeliveryMode:    amqp.Persistent, // whatever it was: from here on it must outlive the broker
		Priority:        d.Priority,
		CorrelationId:   d.CorrelationId,
		ReplyTo:         d.ReplyTo,
		MessageId:       d.MessageId,
		Timestamp:       d.Timestamp,
		Type:            d.Type,
		UserId:          userID,
		AppId:           d.AppId,
		Body:            d.Body,
	}
}

// shorten cuts s to at most limit bytes, between two characters.
func shorten(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
