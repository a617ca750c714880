package replays

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

const (
	work    = "orders.work"
	parking = "orders.parking"
	placed  = "order.placed"
)

// loop is a way round from a work queue through a wait queue.
type loop struct {
	exchange string // the type of the exchange that orders are published to
	work     amqp.Table
	wait     amqp.Table
	kind     string   // of the work queue
	others   []string // queues bound beside it
}

func (l loop) declare(t *testing.T, amqpURL string) {
	t.Helper()
	brokertest.Exchange(t, amqpURL, l.exchange, "orders")
	brokertest.Exchange(t, amqpURL, "direct", "orders.retry")
	brokertest.Exchange(t, amqpURL, "fanout", "orders.again")
	brokertest.Queue(t, amqpURL, l.kind, work, l.work)
	brokertest.Bind(t, amqpURL, work, placed, "orders")
	l.wait["x-message-ttl"] = int32(200)
	brokertest.Queue(t, amqpURL, l.kind, "orders.wait", l.wait)
	brokertest.Bind(t, amqpURL, "orders.wait", "retry", "orders.retry")
	brokertest.Bind(t, amqpURL, "orders.wait", "", "orders.again")
	brokertest.Queue(t, amqpURL, brokertest.Quorum, parking, amqp.Table{"x-delivery-limit": 1_000_000})
	for _, q := range l.others {
		brokertest.Queue(t, amqpURL, brokertest.Quorum, q, nil)
		brokertest.Bind(t, amqpURL, q, "order.#", "orders")
	}
}

func dlx(exchange, key string) amqp.Table {
	args := amqp.Table{"x-dead-letter-exchange": exchange}
	if key != "" {
		args["x-dead-letter-routing-key"] = key
	}
	return args
}

func TestAReplayKeepsItsWayThroughRetriesWhateverTheTopology(t *testing.T) {
	t.Parallel()
	through := parkade.Target{To: parkade.ToExchange, Exchange: "orders", RoutingKey: placed}
	straight := parkade.Target{To: parkade.ToQueue, Queue: work}
	lost := "A failure in orders.wait would be lost: nothing is bound to the exchange orders for the key orders.work."
	tests := map[string]struct {
		loop    loop
		choices []choice
		targets []parkade.Target // each is taken for a round
		back    step             // what a retry looks like
		first   string           // what the API says to a replay without a target
	}{
		"a dead-letter key on both queues": {
			loop:    loop{exchange: "direct", kind: brokertest.Quorum, work: dlx("orders.retry", "retry"), wait: dlx("orders", placed)},
			choices: []choice{{Target: through, Reaches: []string{work}, Default: true}, {Target: straight, Reaches: []string{work}}},
			targets: []parkade.Target{{To: parkade.ToAuto}, straight},
			back:    step{Exchange: "orders", Key: placed},
		},
		"back by the default exchange": {
			loop:    loop{exchange: "direct", kind: brokertest.Quorum, work: dlx("", "orders.wait"), wait: dlx("", work)},
			choices: []choice{{Target: through, Reaches: []string{work}, Default: true}, {Target: straight, Reaches: []string{work}}},
			targets: []parkade.Target{{To: parkade.ToAuto}, {To: parkade.ToQueue}},
			back:    step{Exchange: "", Key: work},
		},
		"classic queues": {
			loop:    loop{exchange: "direct", kind: brokertest.Classic, work: dlx("orders.again", ""), wait: dlx("orders", "")},
			choices: []choice{{Target: through, Reaches: []string{work}, Default: true}, {Target: straight, Reaches: []string{work}, Blocked: lost}},
			targets: []parkade.Target{{To: parkade.ToAuto}},
			back:    step{Exchange: "orders", Key: placed},
		},
		"a topic exchange that reaches two queues": {
			loop: loop{exchange: "topic", kind: brokertest.Quorum, work: dlx("orders.again", ""), wait: dlx("orders", ""), others: []string{"audit"}},
			choices: []choice{
				{Target: through, Reaches: []string{"audit", work}, Warnings: []string{"It also reaches audit, which may have handled it already."}},
				{Target: straight, Reaches: []string{work}, Blocked: lost},
			},
			targets: []parkade.Target{through},
			back:    step{Exchange: "orders", Key: placed},
			first:   "No target is safe by itself. Choose one.",
		},
	}
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := prepare(t, b)
				tt.loop.declare(t, s.amqp)
				s = s.open(parking)
				w := startWorker(t, brokertest.Channel(t, s.amqp), work, parking)
				brokertest.Publish(t, s.amqp, "orders", placed, amqp.Publishing{MessageId: "o-1", Body: []byte("{}")})
				again := step{"failed", tt.back.Exchange, tt.back.Key}
				w.takes(step{"failed", "orders", placed}, again, step{"parked", tt.back.Exchange, tt.back.Key})
				m := s.parked(parking, 1)[0]
				wantChoices(t, s.preview(m.ID, parkade.Target{To: parkade.ToAuto}), append(tt.choices, private()))
				if tt.first != "" {
					s.wantRefused(order(parkade.Target{To: parkade.ToAuto}, nil, m), tt.first)
				}
				for _, target := range append(tt.targets, private().Target) {
					if op := s.replay(target, m); op.Counts[parkade.Confirmed] != 1 {
						t.Fatalf("the replay ended with %v", op.Counts)
					}
					sent := step{"failed", "orders", placed}
					switch {
					case target.Private():
						sent = step{"failed", parkade.PrivateExchange, placed}
					case target.To == parkade.ToQueue:
						sent = step{"failed", "", work}
					}
					w.takes(sent, again, step{"parked", tt.back.Exchange, tt.back.Key})
					before := m
					m = s.parked(parking, 1)[0]
					if m.Previous != before.ID || *m.Origin != (parkade.Origin{Exchange: "orders", RoutingKey: placed, Queue: work}) {
						t.Errorf("it comes back as %+v of %+v", m, m.Origin)
					}
				}
				close(w.fixed)
				s.replay(tt.targets[0], m)
				w.takes(step{"handled", "orders", placed})
				for _, q := range tt.loop.others { // what a person chose, they get
					published, rounds := 1, len(tt.targets)+1
					brokertest.WaitReady(t, s.amqp, q, published+rounds+mostDeaths*(rounds+1)) // the private one adds its retries only
				}
			})
		}
	})
}
