package broker_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

func TestSessionsThatEndOtherwiseAreLost(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	vhost := brokertest.VhostName(t, url)
	user := brokertest.User(t, b, url, brokertest.Permissions{Configure: "^$", Write: "^$", Read: "^$"})
	for _, tt := range []struct {
		name  string
		as    brokertest.Broker
		queue bool
		end   func(t *testing.T, queue string)
		kind  parkade.Kind
		want  string
	}{
		{"the queue is deleted", b, true, func(t *testing.T, queue string) {
			_, err := brokertest.Channel(t, url).QueueDelete(queue, false, false, false)
			if err != nil {
				t.Error(err)
			}
		}, parkade.Unavailable, "ended the consumer"},
		{"an operator closes the connection", b, true, func(t *testing.T, queue string) {
			brokertest.CloseConnections(t, b, url, "parkade test drain "+queue)
		}, parkade.Unavailable, "ended the session"},
		{"there is no queue", b, false, nil, parkade.NotFound, "no queue 'there is no queue'"},
		{"no permission to read", user, true, nil, parkade.Forbidden, "may not be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.queue {
				brokertest.Queue(t, url, brokertest.Classic, tt.name, nil)
			}
			in, err := open(t, tt.as).OpenIntake(t.Context(), vhost, tt.name, 1, heartbeat)
			if err != nil {
				t.Fatal(err)
			}
			var ending sync.WaitGroup
			if tt.end != nil {
				ending.Go(func() { tt.end(t, tt.name) })
			}
			defer ending.Wait()
			_, err = in.Collect(t.Context(), "s1-1", cycle(1))
			wantLost(t, err)
			if kind, sentence := parkade.Explain(err); kind != tt.kind || !strings.Contains(sentence, tt.want) {
				t.Errorf("kind %v, %q; want %v, %q", kind, sentence, tt.kind, tt.want)
			}
			wantLost(t, in.Prove(1))
		})
	}
}

func TestOnlyACarefulCycleKeepsWhatALostSessionHadInHand(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	for _, careful := range []bool{true, false} {
		t.Run("careful "+strconv.FormatBool(careful), func(t *testing.T) {
			t.Parallel()
			url := brokertest.Vhost(t, b)
			queue := brokertest.Queue(t, url, brokertest.Quorum, "orders.parking", nil)
			brokertest.Publish(t, url, "", queue, numbered(0))
			via, p := brokertest.Behind(t, b)
			in := intake(t, open(t, via), url, queue, 2)
			go func() {
				brokertest.WaitReady(t, url, queue, 0)
				p.Cut()
			}()
			batch, err := in.Collect(t.Context(), "s1-1",
				broker.Cycle{Messages: 2, Linger: time.Hour, Longest: time.Hour, Careful: careful})
			wantLost(t, err)
			if got := len(batch) == 1; got != careful {
				t.Errorf("%d messages in hand", len(batch))
			}
		})
	}
}

func TestAnUnansweredCallCutsTheConnection(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	queue := brokertest.Queue(t, url, brokertest.Quorum, "orders.parking", nil)
	via, p := brokertest.Behind(t, b)
	in := intake(t, open(t, via, func(c *broker.Config) { c.RPCTimeout = 300 * time.Millisecond }), url, queue, 1)
	p.Hold()
	began := time.Now()
	err := in.Prove(1)
	wantLost(t, err)
	if _, sentence := parkade.Explain(err); !strings.Contains(sentence, "didn't answer for 300ms") || time.Since(began) > 5*time.Second {
		t.Errorf("%q after %s", sentence, time.Since(began))
	}
}

func TestAnUndecodableMessageIsPoison(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		queue := brokertest.Queue(t, url, brokertest.Classic, "orders.parking", nil)
		brokertest.Publish(t, url, "", queue, numbered(0))
		publishOctetL(t, b, url, queue)
		br := open(t, b)
		in := intake(t, br, url, queue, 1)
		if batch := collect(t, in, 1); len(batch) != 1 || parkade.Text(batch[0].Properties.MessageID) != "0" {
			t.Fatalf("the message before it: %v", batch)
		}
		if err := errors.Join(in.Ack(), in.Prove(1)); err != nil {
			t.Fatal(err)
		}
		batch, err := in.Collect(t.Context(), "s1-2", cycle(1))
		if b.AtLeast(4, 0) { // which writes headers anew, in types that the client knows
			if n, ok := batch[0].Headers.Int("poison"); err != nil || !ok || n != 7 {
				t.Errorf("%v, %v", batch[0].Headers, err)
			}
			return
		}
		poison, ok := errors.AsType[*broker.PoisonError](err)
		if !ok || !strings.Contains(poison.Detail, "invalid field") {
			t.Errorf("%v is no poison", err)
		}
		wantLost(t, err)
	})
}

// publishOctetL publishes a message with a header of type L, which other clients
// write for large integers.
func publishOctetL(t *testing.T, b brokertest.Broker, amqpURL, queue string) {
	t.Helper()
	via, p := brokertest.Behind(t, b)
	p.Replace("\x06poisonl", "\x06poisonL")
	conn, err := amqp.DialConfig(via.AMQP, amqp.Config{Vhost: brokertest.VhostName(t, amqpURL)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	confirm, err := ch.PublishWithDeferredConfirm("", queue, true, false, amqp.Publishing{Headers: amqp.Table{"poison": int64(7)}})
	if err != nil {
		t.Fatal(err)
	}
	if acked, err := confirm.WaitContext(t.Context()); err != nil || !acked {
		t.Fatal("not published", err)
	}
}

func TestTheNetworkIsNoPoison(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	queue := brokertest.Queue(t, url, brokertest.Classic, "orders.parking", nil)
	via, p := brokertest.Behind(t, b)
	in := intake(t, open(t, via), url, queue, 1)
	time.AfterFunc(50*time.Millisecond, p.Cut)
	_, err := in.Collect(t.Context(), "s1-1", cycle(1))
	wantLost(t, err)
	if _, poison := errors.AsType[*broker.PoisonError](err); poison {
		t.Error("a cut connection is taken for poison")
	}
}
