// Package storetest gives tests a real store on a file of their own.
package storetest

import (
	"path/filepath"
	"testing"
	"time"

	"parkade"
	"parkade/store"
)

// Open opens a new store that lives as long as the test.
func Open(tb testing.TB, opts ...store.Options) *store.Store {
	tb.Helper()
	return Reopen(tb, filepath.Join(tb.TempDir(), "parkade.db"), opts...)
}

// Reopen opens the store at path, which lives as long as the test unless that
// closes it itself. At most one of opts counts.
func Reopen(tb testing.TB, path string, opts ...store.Options) *store.Store {
	tb.Helper()
	var o store.Options
	if len(opts) > 0 {
		o = opts[0]
	}
	s, err := store.Open(tb.Context(), path, o)
	if err != nil {
		tb.Fatalf("open a store: %v", err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// Queue is the parking queue that tests drain when they don't care which.
func Queue() parkade.Queue { return parkade.Queue{Broker: "main", Vhost: "/", Name: "orders.parking"} }

// Begin starts a session on q, which it describes as a classic queue of RabbitMQ
// 3.13 that gives returned messages first.
func Begin(tb testing.TB, s *store.Store, q parkade.Queue) parkade.Session {
	tb.Helper()
	id, err := s.Source(tb.Context(), q)
	if err == nil {
		err = s.DescribeSource(tb.Context(), id, "classic", "3.13.7", true)
	}
	if err != nil {
		tb.Fatalf("describe %s: %v", q, err)
	}
	session, err := s.BeginSession(tb.Context(), id, true, 10*time.Second)
	if err != nil {
		tb.Fatalf("begin a session: %v", err)
	}
	return session
}

// Park drains deliveries from q in a session of their own, as one proven batch,
// and returns the ids of the rows that are new, oldest first.
func Park(tb testing.TB, s *store.Store, q parkade.Queue, deliveries ...parkade.Delivery) []parkade.MessageID {
	tb.Helper()
	session := Begin(tb, s, q)
	before := newest(tb, s)
	parked, err := s.Park(tb.Context(), session, parkade.Batch{Deliveries: deliveries, FenceOK: true})
	if err == nil {
		err = s.Prove(tb.Context(), session)
	}
	if err == nil {
		err = s.EndSession(tb.Context(), session)
	}
	if err != nil {
		tb.Fatalf("park: %v", err)
	}
	ids := make([]parkade.MessageID, parked.New)
	for i := range ids {
		ids[i] = before + parkade.MessageID(i) + 1
	}
	return ids
}

// newest returns the id of the newest message. Ids rise without a gap while
// nothing is swept.
func newest(tb testing.TB, s *store.Store) parkade.MessageID {
	tb.Helper()
	ms, _, err := s.Messages(tb.Context(), parkade.Filter{}, parkade.Page{Limit: 1})
	if err != nil {
		tb.Fatalf("list the newest message: %v", err)
	}
	if len(ms) == 0 {
		return 0
	}
	return ms[0].ID
}

// Delivery returns a rejected message with that id and body, as it arrives in
// Queue: published to the exchange orders with the key created, and failed by the
// queue orders.work.
func Delivery(messageID, body string) parkade.Delivery {
	d := parkade.Delivery{Body: []byte(body)}
	d.Exchange, d.RoutingKey = "orders.dlx", "orders.parking"
	d.Properties = parkade.Properties{ContentType: new("application/json"), DeliveryMode: new(uint8(2))}
	if messageID != "" {
		d.Properties.MessageID = &messageID
	}
	d.Headers = parkade.NewTable(parkade.Field{Name: "x-death", Value: parkade.List{parkade.NewTable(
		parkade.Field{Name: "queue", Value: "orders.work"}, parkade.Field{Name: "reason", Value: parkade.Rejected},
		parkade.Field{Name: "exchange", Value: "orders"}, parkade.Field{Name: "routing-keys", Value: parkade.List{"created"}},
		parkade.Field{Name: "count", Value: int64(3)}, parkade.Field{Name: "time", Value: parkade.Timestamp(1_790_000_000)},
	)}})
	return d
}
