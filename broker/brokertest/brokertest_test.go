package brokertest_test

import (
	"strconv"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade/broker/brokertest"
)

func TestVhostIsEmptyAndItsMessagesComeBackInOrder(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		for _, kind := range []string{brokertest.Classic, brokertest.Quorum} {
			queue := brokertest.Queue(t, url, kind, "orders/"+kind, nil)
			brokertest.PublishN(t, url, "", queue, 600, func(i int) amqp.Publishing {
				return amqp.Publishing{MessageId: strconv.Itoa(i), DeliveryMode: amqp.Persistent}
			})
			brokertest.WaitReady(t, url, queue, 600)
			for i, d := range brokertest.Take(t, url, queue, 600) {
				if d.MessageId != strconv.Itoa(i) {
					t.Fatalf("message %d of %s is %s", i, kind, d.MessageId)
				}
			}
			brokertest.WaitReady(t, url, queue, 0)
			var seen struct{ Type string }
			if !b.Queue(t, url, queue, &seen) || seen.Type != kind {
				t.Errorf("the management API calls %s a %q queue", queue, seen.Type)
			}
		}
	})
}

func TestUserHasOnlyItsPermissions(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	brokertest.Queue(t, url, brokertest.Quorum, "allowed", nil)
	brokertest.Queue(t, url, brokertest.Quorum, "forbidden", nil)
	user := brokertest.User(t, b, url, brokertest.Permissions{Configure: "^$", Write: "^$", Read: "^allowed$"})
	brokertest.Take(t, user.AMQP, "allowed", 0)
	_, err := brokertest.Channel(t, user.AMQP).Consume("forbidden", "", false, false, false, false, nil)
	if err == nil {
		t.Error("a user without permission may consume")
	}
}

func TestCloseConnectionsIsSeenByTheClient(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		conn, err := amqp.DialConfig(url, amqp.Config{Properties: amqp.Table{"connection_name": "parkade drain"}})
		if err != nil {
			t.Fatal(err)
		}
		closed := conn.NotifyClose(make(chan *amqp.Error, 1))
		if n := brokertest.CloseConnections(t, b, url, "drain"); n != 1 {
			t.Errorf("%d connections were closed, want 1", n)
		}
		if reason := <-closed; reason == nil || reason.Code != amqp.ConnectionForced {
			t.Errorf("the client was told %v", reason)
		}
	})
}

func TestNodeKeepsConfirmedMessagesOverAKill(t *testing.T) {
	t.Parallel()
	node := brokertest.Node(t, "4.3")
	url := brokertest.Vhost(t, node.Broker)
	queue := brokertest.Queue(t, url, brokertest.Quorum, "orders", nil)
	node.Stop() // see Kill9
	node.Start()
	brokertest.Publish(t, url, "", queue, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("kept")})
	node.Kill9()
	if _, err := amqp.Dial(url); err == nil {
		t.Fatal("a killed node answers")
	}
	node.Start()
	brokertest.WaitReady(t, url, queue, 1)
	if node.Ctl("list_vhosts", "--silent") == "" {
		t.Error("rabbitmqctl prints nothing")
	}
}
