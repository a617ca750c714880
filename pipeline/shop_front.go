package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	largestOrder = 1 << 20 // bytes of a body
	retryAfter   = 2       // seconds
)

// front takes orders over HTTP and answers for them only once the broker does.
type front struct {
	topology ShopTopology
	link     *link
	counts   *shopCounts
	log      *slog.Logger
}

// ServeHTTP takes one order.
//
//	202  {"message_id": ...}: the broker has it
//	400  the body isn't an order, and never will be
//	503  with Retry-After: nobody can say that the broker has it. It may have it
//	     all the same, where the answer got lost; then a second try is a second
//	     message, under an id of its own.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestOrder))
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "the body can't be read: it is cut off, or over 1 MiB"})
		return
	}
	if _, err := parseOrder(body); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "the body must be an order in JSON: " + err.Error()})
		return
	}
	id, err := f.place(r.Context(), body, nil)
	if err != nil {
		f.log.Warn("order not taken", "err", err)
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": "the order can't be taken now; try again later"})
		return
	}
	answer(w, http.StatusAccepted, map[string]string{"message_id": id})
}

// place publishes an order and returns its message id once the broker has it.
func (f *front) place(ctx context.Context, body []byte, headers amqp.Table) (id string, err error) {
	id = rand.Text() // set once, here: every copy of this order has the same
	err = f.link.publish(ctx, f.topology.Orders(), OrderPlaced, amqp.Publishing{
		MessageId:    id,
		Type:         OrderPlaced,
		AppId:        "shop",
		ContentType:  "application/json",
		DeliveryMode: amqp.Persistent,
		Timestamp:    time.Now(),
		Headers:      headers,
		Body:         body,
	})
	if err != nil {
		f.counts.refused.Add(1)
		return "", err
	}
	f.counts.accepted.Add(1)
	return id, nil
}

// parseOrder is what the front takes and the consumer can read.
func parseOrder(body []byte) (o Order, err error) {
	err = json.Unmarshal(body, &o)
	return o, err
}
