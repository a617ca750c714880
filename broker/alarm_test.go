package broker_test

import (
	"testing"
	"time"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

func TestAnAlarmIsSaidAndWaitedFor(t *testing.T) {
	t.Parallel()
	node := brokertest.Node(t, "4.3")
	url := brokertest.Vhost(t, node.Broker)
	brokertest.Queue(t, url, brokertest.Classic, "orders", nil)
	via, wire := brokertest.Behind(t, node.Broker)
	p := publisher(t, open(t, via, func(c *broker.Config) { c.ConfirmTimeout = 500 * time.Millisecond }), url)
	node.Ctl("set_vm_memory_high_watermark", "absolute", "1MB")
	sent := 0
	more := func() {
		if err := p.Send(send(sent, draft("", "orders", "x"))); err != nil {
			t.Fatal(err)
		}
		sent++
	}
	brokertest.Eventually(t, "that RabbitMQ blocks", func() bool {
		_, _, blocked := p.Blocked()
		if !blocked {
			more() // only who publishes during an alarm is told
		}
		return blocked
	})
	since, why, _ := p.Blocked()
	if why == "" || time.Since(since) > time.Minute {
		t.Errorf("blocked since %s for %q", since, why)
	}
	more()
	confirmed := 0
	for patience := time.After(2 * time.Second); patience != nil; { // four times the timeout
		select {
		case r := <-p.Results():
			wantResult(t, r, parkade.Confirmed, "")
			confirmed++
		case <-patience:
			patience = nil
		}
	}
	if confirmed == sent {
		t.Fatal("RabbitMQ took all messages in spite of its alarm")
	}
	wire.Cut()
	unknown := 0
	for r := range p.Results() {
		wantResult(t, r, parkade.Unknown, "lost before")
		unknown++
	}
	if confirmed+unknown != sent {
		t.Errorf("%d confirmed and %d unknown of %d", confirmed, unknown, sent)
	}
	node.Ctl("set_vm_memory_high_watermark", "0.6")
	if at := brokertest.Ready(t, url, "orders"); at < confirmed {
		t.Errorf("%d arrived, and %d are confirmed", at, confirmed)
	}
}
