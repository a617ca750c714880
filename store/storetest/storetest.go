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
func Open(t testing.TB, opts ...store.Options) *store.Store {
	t.Helper()
	return Reopen(t, filepath.Join(t.TempDir(), "parkade.db"), opts...)
}

// Reopen opens the store at path, which lives as long as the test unless that
// closes it itself. At most one of opts counts.
func Reopen(t testing.TB, path string, opts ...store.Options) *store.Store {
	t.Helper()
	var o store.Options
	if len(opts) > 0 {
		o = opts[0]
	}
	s, err := store.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("open a store: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Queue is the parking queue that tests drain when they don't care which.
func Queue() parkade.Queue { return parkade.Queue{Broker: "main", Vhost: "/", Name: "orders.parking"} }

// Begin starts a session on q, which it describes as a classic queue of RabbitMQ
// 3.13 that gives returned messages first.
func Begin(t testing.TB, s *store.Store, q parkade.Queue) parkade.Session {
	t.Helper()
	id, err := s.Source(t.Context(), q)
	if err == nil {
		err = s.DescribeSource(t.Context(), id, "classic", "3.13.7", true)
	}
	if err != nil {
		t.Fatalf("describe %s: %v", q, err)
	}
	session, err := s.BeginSession(t.Context(), id, true, 10*time.Second)
	if err != nil {
		t.Fatalf("begin a session: %v", err)
	}
	return session
}

// Park drains deliveries from q in a session of their own, as one proven batch,
// and returns the ids of the rows that are new, oldest first.
func Park(t testing.TB, s *store.Store, q parkade.Queue, deliveries ...parkade.Delivery) []parkade.MessageID {
	t.Helper()
	session := Begin(t, s, q)
	before := newest(t, s)
	parked, err := s.Park(t.Context(), session, parkade.Batch{Deliveries: deliveries, FenceOK: true})
	if err == nil {
		err = s.Prove(t.Context(), session)
	}
	if err == nil {
		err = s.EndSession(t.Context(), session)
	}
	if err != nil {
		t.Fatalf("park: %v", err)
	}
	ids := make([]parkade.MessageID, parked.New)
	for i := range ids {
		ids[i] = before + parkade.MessageID(i) + 1
	}
	return ids
}

// newest returns the id of the newest message. Ids rise without a gap while
// nothing is swept.
func newest(t testing.TB, s *store.Store) parkade.MessageID {
	t.Helper()
	ms, _, err := s.Messages(t.Context(), parkade.Filter{}, parkade.Page{Limit: 1})
	if err != nil {
		t.Fatalf("list the newest message: %v", err)
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
