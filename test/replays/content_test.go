package replays

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"
	"pgregory.net/rapid"

	"parkade"
	"parkade/broker/brokertest"
)

// number is the header by which a message is found again on its way. One message
// of a batch does without, so that it may have no header at all.
const number = "test-number"

// route is one way of the messages of these tests: parked in one queue, replayed
// to another, and consumed there.
type route struct {
	parking, target string
	consumed        <-chan amqp.Delivery
}

func (s stage) route(kind string, args amqp.Table) route {
	s.t.Helper()
	r := route{parking: kind + ".parking", target: kind + ".target"}
	brokertest.Queue(s.t, s.amqp, kind, r.parking, args)
	brokertest.Queue(s.t, s.amqp, kind, r.target, args)
	var err error
	if r.consumed, err = brokertest.Channel(s.t, s.amqp).Consume(r.target, "", true, false, false, false, nil); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestAReplayIsIdenticalButForWhatThePreviewLists(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := prepare(t, b)
		routes := []route{s.route(brokertest.Classic, nil), s.route(brokertest.Quorum, amqp.Table{"x-delivery-limit": 1_000_000})}
		s = s.open(routes[0].parking, routes[1].parking)
		login, _, _ := strings.Cut(strings.TrimPrefix(s.amqp, "amqp://"), ":")
		rapid.Check(t, func(t *rapid.T) {
			r := rapid.SampledFrom(routes).Draw(t, "route")
			batch := parked(rapid.SliceOfN(messages(login), 1, 20).Draw(t, "batch"))
			for i := range batch {
				if i > 0 || rapid.Bool().Draw(t, "numbered") {
					batch[i].Headers[number] = int32(i)
				}
			}
			s.roundTrip(t, r, batch)
		})
	})
}

// roundTrip parks a batch, replays it, and compares what its consumer gets.
func (s stage) roundTrip(t *rapid.T, r route, batch []amqp.Publishing) {
	brokertest.Publish(s.t, s.amqp, "", r.parking, batch...)
	all := s.parked(r.parking, len(batch))
	previews := make([]preview, len(batch))
	for _, m := range all {
		p := s.preview(m.ID, parkade.Target{To: parkade.ToQueue, Queue: r.target})
		if p.Publish == nil {
			s.t.Fatalf("it would not be sent: %s", p.Problem)
		}
		previews[numberOf(p.Publish.Headers)] = p
	}
	op := s.replay(parkade.Target{To: parkade.ToQueue, Queue: r.target}, all...)
	if op.Counts[parkade.Confirmed] != int64(len(batch)) {
		s.t.Fatalf("the operation ended with %v", op.Counts)
	}
	for range batch {
		select {
		case d := <-r.consumed:
			i, _ := d.Headers[number].(int32)
			wantListed(t, batch[i], d, previews[i])
		case <-time.After(patience):
			s.t.Fatal("a confirmed message never comes")
		}
	}
}

func numberOf(headers []header) int {
	for _, h := range headers {
		if h.Name == number {
			n, _ := h.Value.(float64)
			return int(n)
		}
	}
	return 0
}

// wantListed checks that what was consumed is what was parked, changed by the table
// of the preview and by nothing else.
func wantListed(t *rapid.T, parked amqp.Publishing, consumed amqp.Delivery, p preview) {
	want, stamps := parked, 0
	want.Headers = maps.Clone(parked.Headers)
	listed := map[string]bool{}
	for _, line := range p.Treatments {
		name := fmt.Sprint(line.Name, line.Header)
		if listed[name] && !strings.Contains(name, "\uFFFD") {
			t.Errorf("%s is listed twice", line.Name)
		}
		listed[name] = true
		switch {
		case line.Handling == parkade.Kept:
		case line.Handling == parkade.Stripped && line.Header:
			delete(want.Headers, line.Name)
		case line.Handling == parkade.Stripped && line.Name == "expiration":
			want.Expiration = ""
		case line.Handling == parkade.Stripped && line.Name == "user_id":
			want.UserId = ""
		case line.Handling == parkade.Override && line.Name == "delivery_mode":
			want.DeliveryMode = amqp.Persistent
		case line.Handling == parkade.Stamped && line.Header:
			want.Headers[line.Name] = consumed.Headers[line.Name]
			stamps++
		default:
			t.Errorf("the preview lists %+v", line)
		}
		if line.Handling != parkade.Kept && line.Why == "" {
			t.Errorf("%s is %s without a reason", line.Name, line.Handling)
		}
	}
	for _, name := range present(parked) {
		if !listed[inJSON(name)] {
			t.Errorf("the preview lacks %q", name)
		}
	}
	if stamp, _ := consumed.Headers[parkade.ReplayIDHeader].(string); stamps != 2 || stamp == "" || consumed.Headers[parkade.ReplayAttemptHeader] != int32(1) {
		t.Errorf("it is stamped %q and %v", stamp, consumed.Headers[parkade.ReplayAttemptHeader])
	}
	for _, name := range stripped {
		if _, there := want.Headers[name]; there {
			t.Errorf("the header %s is kept", name)
		}
	}
	if sent, got := headerNames(p), consumedNames(consumed); !slices.Equal(sent, got) {
		t.Errorf("the preview would send the headers %q, and the consumer gets %q", sent, got)
	}
	if !bytes.Equal(want.Body, consumed.Body) {
		t.Errorf("the consumer gets %d bytes, other than the %d that were parked", len(consumed.Body), len(want.Body))
	}
	want.Body, consumed.Body = nil, nil // cmp would take for ever
	if diff := cmp.Diff(want, publishing(consumed), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the consumer gets another message (-want +got):\n%s", diff)
	}
}

// present names all that a message has, as wantListed does.
func present(m amqp.Publishing) []string {
	var names []string
	for name, there := range map[string]bool{
		"content_type": m.ContentType != "", "content_encoding": m.ContentEncoding != "", "priority": m.Priority != 0,
		"correlation_id": m.CorrelationId != "", "reply_to": m.ReplyTo != "", "expiration": m.Expiration != "",
		"message_id": m.MessageId != "", "timestamp": !m.Timestamp.IsZero(), "type": m.Type != "", "user_id": m.UserId != "", "app_id": m.AppId != "",
		"delivery_mode": true,
	} {
		if there {
			names = append(names, fmt.Sprint(name, false))
		}
	}
	for name := range m.Headers {
		names = append(names, fmt.Sprint(name, true))
	}
	return names
}

func headerNames(p preview) []string {
	var names []string
	for _, h := range p.Publish.Headers {
		names = append(names, h.Name)
	}
	slices.Sort(names)
	return names
}

func consumedNames(d amqp.Delivery) []string {
	var names []string
	for name := range d.Headers {
		names = append(names, inJSON(name))
	}
	slices.Sort(names)
	return names
}

// inJSON is a name as JSON can hold it.
func inJSON(name string) string {
	b, err := json.Marshal(name)
	if err == nil {
		err = json.Unmarshal(b, &name)
	}
	if err != nil {
		panic(err)
	}
	return name
}

func publishing(d amqp.Delivery) amqp.Publishing {
	return amqp.Publishing{
		Headers: d.Headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: d.DeliveryMode, Priority: d.Priority,
		CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration, MessageId: d.MessageId, Timestamp: d.Timestamp,
		Type: d.Type, UserId: d.UserId, AppId: d.AppId, Body: d.Body,
	}
}

// The headers that a replay must not carry on, and some that it must.
//
//nolint:gochecknoglobals // constant tables
var (
	stripped = []string{
		"x-death", "x-first-death-reason", "x-first-death-queue", "x-first-death-exchange",
		"x-last-death-reason", "x-last-death-queue", "x-last-death-exchange", "x-delivery-count", "x-acquired-count",
		"CC", "x-delay", "x-stream-offset", "x-stream-filter-value",
		"x-attempt", "x-attempts", "x-retry-count", "x-retries",
	}
	kept = []string{"x-exception-message", "x-Death", "x-deaths", "cc", "X-Attempt", "x-replay", "x-original-exchange", "tenant", ""}
)
