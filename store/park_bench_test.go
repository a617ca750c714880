package store_test

import (
	"strconv"
	"strings"
	"testing"

	"parkade"
	"parkade/store/storetest"
)

// BenchmarkPark stores batches of 500 messages of 1 KiB, each in a durable
// transaction, as a drain at full speed does.
func BenchmarkPark(b *testing.B) {
	const batch, size = 500, 1024
	s := storetest.Open(b)
	session := storetest.Begin(b, s, storetest.Queue())
	ds := make([]parkade.Delivery, batch)
	for i := range ds {
		ds[i] = storetest.Delivery("", strings.Repeat("x", size))
	}
	n := 0
	for b.Loop() {
		for i := range ds {
			n++
			ds[i].Properties.MessageID = new("message-" + strconv.Itoa(n))
		}
		if _, err := s.Park(b.Context(), session, parkade.Batch{Deliveries: ds, FenceOK: true}); err != nil {
			b.Fatal(err)
		}
		if err := s.Prove(b.Context(), session); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
