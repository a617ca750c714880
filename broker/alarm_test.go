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
	via, wire := behind(t, node.Broker)
	p := publisher(t, open(t, via, func(c *broker.Config) { c.ConfirmTimeout = 500 * time.Millisecond }), url)
	wantResult(t, one(t, p, draft("", "orders", "x")), parkade.Confirmed, "")
	node.Ctl("set_vm_memory_high_watermark", "absolute", "1MB")
	if err := p.Send(send(2, draft("", "orders", "x"))); err != nil { // RabbitMQ blocks who publishes
		t.Fatal(err)
	}
	brokertest.Eventually(t, "that RabbitMQ blocks", func() bool { _, _, blocked := p.Blocked(); return blocked })
	since, why, _ := p.Blocked()
	if why == "" || time.Since(since) > time.Minute {
		t.Errorf("blocked since %s for %q", since, why)
	}
	if err := p.Send(send(3, draft("", "orders", "x"))); err != nil {
		t.Fatal(err)
	}
	first, timer := time.Now(), time.NewTimer(2*time.Second) // four times the timeout
	var results []parkade.Result
wait:
	for len(results) < 2 {
		select {
		case r := <-p.Results():
			results = append(results, r)
			if r.Outcome != parkade.Confirmed {
				t.Errorf("after %s of an alarm %s: %q", time.Since(first), r.Outcome, r.Why)
			}
		case <-timer.C:
			break wait
		}
	}
	if len(results) == 2 {
		t.Fatal("RabbitMQ took a message in spite of its alarm")
	}
	wire.cut()
	for r := range p.Results() {
		results = append(results, r)
		wantResult(t, r, parkade.Unknown, "lost before")
	}
	if len(results) != 2 {
		t.Errorf("%d results for 2 sends", len(results))
	}
	node.Ctl("set_vm_memory_high_watermark", "0.6")
	confirmed := 1
	for _, r := range results {
		if r.Outcome == parkade.Confirmed {
			confirmed++
		}
	}
	brokertest.Eventually(t, "the confirmed messages", func() bool { return brokertest.Ready(t, url, "orders") >= confirmed })
}
