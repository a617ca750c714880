package replays

import (
	"testing"

	"parkade"
	"parkade/broker/brokertest"
)

func TestWhatBreaksMidFlightLosesAndClaimsNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		breaks func(t *testing.T, s stage, p *brokertest.Proxy, confirmed int)
		ends   []parkade.Outcome // that messages may have besides confirmed
		some   parkade.Outcome   // that at least one has
		rate   int
	}{
		"the exchange is deleted": {
			breaks: func(t *testing.T, s stage, _ *brokertest.Proxy, _ int) {
				t.Helper()
				if err := brokertest.Channel(t, s.amqp).ExchangeDelete("orders", false, false); err != nil {
					t.Fatal(err)
				}
			},
			ends: []parkade.Outcome{parkade.Refused, parkade.Unknown}, some: parkade.Refused, rate: 10,
		},
		"the network dies with confirms on it": {
			breaks: func(t *testing.T, s stage, p *brokertest.Proxy, confirmed int) {
				t.Helper()
				p.HoldAnswers()
				brokertest.Eventually(t, "arrivals without a confirm", func() bool {
					return brokertest.Ready(t, s.amqp, normal.Queue) >= confirmed+5
				})
				p.Cut()
				p.Thaw()
			},
			ends: []parkade.Outcome{parkade.Unknown}, some: parkade.Unknown, rate: 10,
		},
		"the network dies with messages on it": {
			breaks: func(t *testing.T, _ stage, p *brokertest.Proxy, _ int) {
				t.Helper()
				p.Hold()
				before := p.Held()
				brokertest.Eventually(t, "messages on the dead network", func() bool { return p.Held() > before })
				p.Cut()
				p.Thaw()
			},
			ends: []parkade.Outcome{parkade.Unknown}, some: parkade.Unknown, rate: 10,
		},
		"somebody closes the connection": {
			breaks: func(t *testing.T, s stage, _ *brokertest.Proxy, _ int) {
				t.Helper()
				brokertest.CloseConnections(t, s.admin, s.amqp, " replay ")
			},
			ends: []parkade.Outcome{parkade.Unknown}, rate: 2, // the management API shows a connection after some seconds
		},
	}
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := prepare(t, b)
				shop(t, s.amqp)
				var p *brokertest.Proxy
				s.broker, p = brokertest.Behind(t, s.broker)
				brokertest.Queue(t, s.amqp, brokertest.Classic, parking, nil)
				s = s.open(parking)
				all := s.park(parking, died(theOne, normal))
				op := s.begin(order(parkade.Target{To: parkade.ToAuto}, map[string]any{"rate": tt.rate}, all...))
				s.Eventually("the first confirms", patience, func() bool {
					op = s.operation(op.ID)
					return op.Counts[parkade.Confirmed] >= 3
				})
				tt.breaks(t, s, p, int(op.Counts[parkade.Confirmed]))
				op = s.finish(op)
				s.wantTrue(op, all, s.arrivals(normal.Queue))
				rest := op.Counts[parkade.Confirmed]
				for _, o := range tt.ends {
					rest += op.Counts[o]
				}
				if rest != op.Total || op.Counts[parkade.Confirmed] < 3 || tt.some != "" && op.Counts[tt.some] == 0 {
					t.Errorf("it ends with %v", op.Counts)
				}
			})
		}
	})
}
