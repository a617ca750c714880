package broker_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

const heartbeat = 10 * time.Second

func intake(t *testing.T, br *broker.Broker, url, queue string, prefetch int) *broker.Intake {
	t.Helper()
	in, err := br.OpenIntake(t.Context(), brokertest.VhostName(t, url), queue, prefetch, heartbeat)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(time.Now().Add(time.Second)) })
	return in
}

func cycle(n int) broker.Cycle {
	return broker.Cycle{Messages: n, Linger: 5 * time.Millisecond, Longest: 50 * time.Millisecond}
}

func numbered(i int) amqp.Publishing {
	return amqp.Publishing{DeliveryMode: amqp.Persistent, MessageId: strconv.Itoa(i), Body: []byte("body " + strconv.Itoa(i))}
}

func TestIntakeTakesEachMessageOnceAndInOrder(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		for _, kind := range []string{brokertest.Classic, brokertest.Quorum} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				const total = 2500
				url := brokertest.Vhost(t, b)
				queue := brokertest.Queue(t, url, kind, "orders.parking", nil)
				brokertest.PublishN(t, url, "", queue, total, numbered)
				in := intake(t, open(t, b), url, queue, 7)
				taken, p := 0, 7
				for n := 0; taken < total; n++ {
					batch, err := in.Collect(t.Context(), "s1-"+strconv.Itoa(n), cycle(p))
					if err != nil {
						t.Fatal(err)
					}
					if len(batch) > p {
						t.Fatalf("%d messages with a prefetch of %d", len(batch), p)
					}
					for _, d := range batch {
						if got := parkade.Text(d.Properties.MessageID); got != strconv.Itoa(taken) || d.Redelivered {
							t.Fatalf("message %d is %s, redelivered %t", taken, got, d.Redelivered)
						}
						taken++
					}
					if err := in.Ack(); err != nil {
						t.Fatal(err)
					}
					p = min(2*p, 1000)
					if err := in.Prove(p); err != nil {
						t.Fatal(err)
					}
				}
				if p != 1000 {
					t.Errorf("small messages end with a prefetch of %d, want the most possible", p)
				}
				brokertest.WaitReady(t, url, queue, 0)
			})
		}
	})
}

func TestWhatIsNotAcknowledgedComesBackAndWhatIsProvenDoesNot(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		queue := brokertest.Queue(t, url, brokertest.Quorum, "orders.parking", amqp.Table{"x-delivery-limit": 1000000})
		brokertest.PublishN(t, url, "", queue, 20, numbered)
		via, p := brokertest.Behind(t, b)
		in := intake(t, open(t, via), url, queue, 10)
		collect(t, in, 10)
		if err := errors.Join(in.Ack(), in.Prove(10)); err != nil {
			t.Fatal(err)
		}
		collect(t, in, 10)
		p.Cut()
		wantLost(t, in.Prove(10))
		again := collect(t, intake(t, open(t, b), url, queue, 100), 100)
		if len(again) != 10 || parkade.Text(again[0].Properties.MessageID) != "10" || !again[0].Redelivered {
			t.Errorf("%d messages came back, the first %+v", len(again), again[0].Properties.MessageID)
		}
	})
}

func collect(t *testing.T, in *broker.Intake, n int) []parkade.Delivery {
	t.Helper()
	batch, err := in.Collect(t.Context(), "s2-"+strconv.FormatInt(time.Now().UnixNano(), 36),
		broker.Cycle{Messages: n, Linger: 300 * time.Millisecond, Longest: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func TestIntakeEndsWaitingWithItsContextAndGoesOn(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	queue := brokertest.Queue(t, url, brokertest.Quorum, "orders.parking", nil)
	in := intake(t, open(t, b), url, queue, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	batch, err := in.Collect(ctx, "s1-1", cycle(10))
	if err != nil || len(batch) != 0 {
		t.Fatalf("an empty queue gave %d messages and %v", len(batch), err)
	}
	if err := errors.Join(in.Ack(), in.Prove(10)); err != nil {
		t.Fatal(err)
	}
	brokertest.Publish(t, url, "", queue, numbered(0))
	if batch := collect(t, in, 10); len(batch) != 1 {
		t.Errorf("%d messages, want 1", len(batch))
	}
}

func TestALimitOfBytesEndsACycle(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	queue := brokertest.Queue(t, url, brokertest.Classic, "orders.parking", nil)
	brokertest.PublishN(t, url, "", queue, 4, func(int) amqp.Publishing { return amqp.Publishing{Body: make([]byte, 1<<20)} })
	in := intake(t, open(t, b), url, queue, 4)
	limits := cycle(4)
	limits.Bytes, limits.Linger, limits.Longest = 1, time.Hour, time.Hour
	if batch, err := in.Collect(t.Context(), "s1-1", limits); err != nil || len(batch) == 0 {
		t.Errorf("%d messages, %v", len(batch), err)
	}
}

func TestABodyOverTheLimitEndsTheSession(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	queue := brokertest.Queue(t, url, brokertest.Classic, "orders.parking", nil)
	brokertest.Publish(t, url, "", queue, amqp.Publishing{Body: make([]byte, 101)})
	in := intake(t, open(t, b), url, queue, 1)
	limits := cycle(1)
	limits.MaxBody = 100
	batch, err := in.Collect(t.Context(), "s1-1", limits)
	big, ok := errors.AsType[*broker.TooBigError](err)
	if !ok || big.Bytes != 101 || batch != nil {
		t.Errorf("%v with %d messages", err, len(batch))
	}
	wantLost(t, err)
	brokertest.WaitReady(t, url, queue, 1)
}
