package replays

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/pipeline"
)

func TestAReplayIsHandledAgainByAConsumerThatCountsItself(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := prepare(t, b)
		topology := pipeline.ShopTopology{Delay: 500 * time.Millisecond}
		p, err := pipeline.NewShop(pipeline.ShopOptions{AMQP: s.amqp, Topology: topology}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := topology.Declare(brokertest.Connection(t, s.amqp)); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Errorf("the shop ended with %v", err)
			}
		})
		reaches := func(want pipeline.ShopCounts) {
			t.Helper()
			want.Accepted = 1
			var got pipeline.ShopCounts
			for deadline := time.Now().Add(patience); got != want; time.Sleep(20 * time.Millisecond) {
				if got = p.Counts(); time.Now().After(deadline) {
					t.Fatalf("the shop counts %+v, want %+v", got, want)
				}
			}
		}
		s = s.open(topology.DeadLetters())
		w := httptest.NewRecorder()
		p.Front().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", strings.NewReader(`{"order_id": 1}`)))
		if w.Code != http.StatusAccepted {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		first := s.parked(topology.DeadLetters(), 1)[0]
		reaches(pipeline.ShopCounts{Failed: 4, Dead: 1})
		// It died as the copy that came back from the retry queue, by the default exchange.
		if got := s.preview(first.ID, parkade.Target{To: parkade.ToAuto}).Publish; got == nil || got.Exchange != "" || got.RoutingKey != topology.Main() {
			t.Errorf("a replay would send %+v", got)
		}

		// Not dead at once, but after four more attempts.
		s.replay(parkade.Target{To: parkade.ToAuto}, first)
		second := s.parked(topology.DeadLetters(), 1)[0]
		reaches(pipeline.ShopCounts{Failed: 8, Dead: 2})
		s.wantRounds(first.ID, second.ID)

		p.Deploy(true)
		op := s.replay(parkade.Target{To: parkade.ToAuto}, second)
		reaches(pipeline.ShopCounts{Failed: 8, Dead: 2, Handled: 1})
		if op.Counts[parkade.Confirmed] != 1 {
			t.Errorf("the last operation counts %v", op.Counts)
		}
	})
}
