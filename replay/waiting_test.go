package replay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/replay"
	"parkade/store"
)

func TestBrokerThatIsAwayIsWaitedForWithAReason(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	target := brokertest.Queue(t, p.url, brokertest.Classic, "orders.work", nil)
	id := p.replay(t, p.park(t, 50), target, 0)
	b := wired(t, p.broker)
	var there atomic.Bool
	dial := b.OpenPublisher
	b.OpenPublisher = func(ctx context.Context, vhost, purpose string) (replay.Publisher, error) {
		if !there.Load() {
			return replay.Publisher{}, parkade.Errorf(parkade.Unavailable, "RabbitMQ refuses the login.").Because(errors.New("403"))
		}
		return dial(ctx, vhost, purpose)
	}
	r, _ := p.run(t, b)
	told, stop := p.store.Subscribe(store.Operations)
	t.Cleanup(stop)
	brokertest.Eventually(t, "a reason and a time", func() bool {
		<-told
		wait := r.Waiting(id)
		return wait.Why == "RabbitMQ refuses the login." && wait.Until.After(time.Now())
	})
	if op := p.operation(t, id); op.State != parkade.Running || op.Counts[parkade.Intent] > 1 {
		t.Errorf("meanwhile it is %s with %v", op.State, op.Counts)
	}
	there.Store(true)
	if op := p.await(t, id, parkade.Finished); op.Counts[parkade.Confirmed] != 50 {
		t.Errorf("finished with %v", op.Counts)
	}
	if wait := r.Waiting(id); wait != (replay.Wait{}) {
		t.Errorf("when it is over it waits for %v", wait)
	}
}

func TestConnectingForLongIsAReasonToo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.replay(t, p.park(t, 1), "orders.work", 0)
	r, _ := p.run(t, replay.Broker{OpenPublisher: func(ctx context.Context, _, _ string) (replay.Publisher, error) {
		<-ctx.Done()
		return replay.Publisher{}, ctx.Err()
	}})
	brokertest.Eventually(t, "a reason", func() bool { return r.Waiting(id).Why == "It is still connecting to RabbitMQ main." })
	if err := p.store.Cancel(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	p.await(t, id, parkade.Cancelled)
}

func TestPauseIsSeenWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.replay(t, p.park(t, 5), "orders.work", 0)
	r, _ := p.run(t, replay.Broker{OpenPublisher: func(context.Context, string, string) (replay.Publisher, error) {
		return replay.Publisher{}, parkade.Errorf(parkade.Unavailable, "It is away.")
	}})
	brokertest.Eventually(t, "a reason", func() bool { return r.Waiting(id).Why == "It is away." })
	if err := p.store.Pause(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	op := p.await(t, id, parkade.Paused)
	want := map[parkade.Outcome]int64{}
	for _, o := range parkade.Outcomes() {
		want[o] = 0
	}
	if diff := cmp.Diff(want, op.Counts); diff != "" || op.Left != 5 {
		t.Errorf("paused with %d left and counts (-want +got):\n%s", op.Left, diff)
	}
}
