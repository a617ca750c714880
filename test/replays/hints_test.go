package replays

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/pipeline"
)

// What the reference pipeline parks at once never died: only its headers tell where
// it was published to.
func TestWhatItsConsumerParkedGoesBackWhereItsHeadersSay(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := prepare(t, b)
		billing := bill(t, b, s.amqp)
		s = s.open(billing.Parking())
		malformed, nameless := poison(t, "o-1"), poison(t, "")
		malformed.Body = []byte(`{"id": 12`)
		brokertest.Publish(t, s.amqp, billing.Orders(), pipeline.OrderPlaced, malformed, nameless)
		first := s.parked(billing.Parking(), 2)
		for _, m := range first {
			if m.Origin == nil || *m.Origin != (parkade.Origin{Exchange: "orders", RoutingKey: placed}) {
				t.Errorf("the origin of %s is %+v", m.ID, m.Origin)
			}
			if page := s.page("/messages/" + m.ID); !strings.Contains(page, "Known from the header x-original-exchange") {
				t.Errorf("the page of %s doesn't say where its origin is known from", m.ID)
			}
			wantChoices(t, s.preview(m.ID, parkade.Target{To: parkade.ToAuto}), []choice{
				{Target: parkade.Target{To: parkade.ToExchange, Exchange: "orders", RoutingKey: placed}, Reaches: []string{work}, Default: true},
			})
		}
		op := s.finish(s.replay(parkade.Target{To: parkade.ToAuto}, first...))
		if op.Counts[parkade.Confirmed] != 2 {
			t.Errorf("it ends with %v", op.Counts)
		}
		second := s.parked(billing.Parking(), 2) // they are as malformed as before
		for i, m := range second {
			if m.Round != 2 || m.Origin == nil || *m.Origin != *first[i].Origin {
				t.Errorf("%s is round %d with the origin %+v", m.ID, m.Round, m.Origin)
			}
		}
		if page := s.page("/messages/" + second[0].ID); !strings.Contains(page, "Known from") {
			t.Error("the page of the second round doesn't say where its origin is known from")
		}
	})
}

func TestAnOriginThatHeadersNameIsCheckedLikeAnyOther(t *testing.T) {
	t.Parallel()
	s := prepare(t, brokertest.Main(t))
	shop(t, s.amqp)
	s = s.open(brokertest.Queue(t, s.amqp, brokertest.Classic, parking, nil))
	with := func(name string, headers amqp.Table) amqp.Publishing {
		return amqp.Publishing{MessageId: name, Headers: headers, Body: []byte(name)}
	}
	brokertest.Publish(t, s.amqp, "", parking,
		with("gone", amqp.Table{"x-original-exchange": "no-such", "x-original-routingKey": placed}),
		with("queue", amqp.Table{"NServiceBus.FailedQ": normal.Queue}),
		with("address", amqp.Table{"MT-Fault-InputAddress": "rabbitmq://host/v/" + normal.Queue + "?durable=true"}),
		with("queue gone", amqp.Table{"rbs2-source-queue": "no-such"}))
	all := s.parked(parking, 4)
	straight := choice{Target: parkade.Target{To: parkade.ToQueue, Queue: normal.Queue}, Reaches: []string{normal.Queue}, Default: true}
	for i, want := range map[int]choice{
		0: {
			Target: parkade.Target{To: parkade.ToExchange, Exchange: "no-such", RoutingKey: placed}, Reaches: []string{},
			Blocked: "The exchange no-such doesn't exist any more.",
		},
		1: straight, 2: straight,
	} {
		wantChoices(t, s.preview(all[i].ID, parkade.Target{To: parkade.ToAuto}), []choice{want})
	}
	if p := s.preview(all[3].ID, parkade.Target{To: parkade.ToAuto}); p.Publish != nil || len(p.Choices) == 0 || p.Choices[0].Blocked == "" {
		t.Errorf("a queue that isn't there: %+v", p)
	}
	op := s.finish(s.replay(parkade.Target{To: parkade.ToAuto}, all...))
	if op.Counts[parkade.Confirmed] != 2 {
		t.Errorf("it ends with %v of %d", op.Counts, op.Total)
	}
}
