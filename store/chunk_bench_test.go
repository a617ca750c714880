package store_test

import (
	"strconv"
	"strings"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// BenchmarkChunk works through messages of 1 KiB, 256 at a time, each chunk
// recording the outcomes of the one before, as an operation at full speed does.
func BenchmarkChunk(b *testing.B) {
	const chunks, at = 40, 256
	sent := 0
	for b.Loop() {
		b.StopTimer()
		s := storetest.Open(b)
		parkMany(b, s, chunks*at)
		op := create(b, s, store.NewOperation{
			Verb: parkade.Replay, Filter: &parkade.Filter{}, Target: parkade.Target{To: parkade.ToQueue, Queue: "q"},
		})
		b.StartTimer()
		var done []parkade.Result
		for {
			c, err := s.Chunk(b.Context(), op.ID, done, at, 16<<20)
			if err != nil {
				b.Fatal(err)
			}
			if len(c.Sends) == 0 {
				break
			}
			sent += len(c.Sends)
			done = results(parkade.Confirmed, c.Sends)
		}
	}
	b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "replays/s")
}

// BenchmarkCreate freezes a set of 20,000 by filter.
func BenchmarkCreate(b *testing.B) {
	const size = 20_000
	n := 0
	for b.Loop() {
		b.StopTimer()
		s := storetest.Open(b)
		parkMany(b, s, size)
		b.StartTimer()
		create(b, s, store.NewOperation{Verb: parkade.Discard, Filter: &parkade.Filter{State: parkade.Parked}})
		n += size
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}

func parkMany(b *testing.B, s *store.Store, n int) {
	b.Helper()
	body := strings.Repeat("x", 1024)
	var ds []parkade.Delivery
	for i := range n {
		if ds = append(ds, storetest.Delivery("m-"+strconv.Itoa(i), body)); len(ds) == 1000 || i == n-1 {
			storetest.Park(b, s, storetest.Queue(), ds...)
			ds = ds[:0]
		}
	}
}
