package parkade_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parkade"
)

func TestAReplayKeepsStripsAndStamps(t *testing.T) {
	t.Parallel()
	field := func(name string, v any) parkade.Field { return parkade.Field{Name: name, Value: v} }
	arrived := parkade.Content{
		Exchange: "orders.dead", RoutingKey: "orders.parking",
		Properties: parkade.Properties{
			MessageID: new("m-1"), DeliveryMode: new(uint8(1)), Expiration: new("60000"), UserID: new("app"),
			ReplyTo: new("amq.rabbitmq.reply-to.abc"), Timestamp: new(parkade.Timestamp(5)),
		},
		Headers: parkade.NewTable(
			field("x-death", parkade.List{}), field("x-first-death-queue", "q"), field("x-last-death-reason", "rejected"),
			field("x-delivery-count", int64(3)), field("x-acquired-count", int64(4)),
			field("CC", parkade.List{"a"}), field("x-delay", int32(5)), field("x-stream-offset", int64(9)),
			field("x-attempt", int32(4)), field("x-retries", int32(4)), field("x-try", int32(1)),
			field("x-replay-id", "old-1"), field("x-replay-attempt", int32(1)),
			field("traceparent", "00-1"), field("n", uint16(7)),
		),
	}
	before, err := arrived.Headers.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, lines := parkade.Prepare(arrived, "orders", "order.placed", parkade.Policy{ResetHeaders: []string{"x-try"}}, parkade.Stamp{ID: "new-2", Attempt: 2})
	want := parkade.Content{
		Exchange: "orders", RoutingKey: "order.placed",
		Properties: parkade.Properties{
			MessageID: new("m-1"), DeliveryMode: new(uint8(2)), ReplyTo: new("amq.rabbitmq.reply-to.abc"), Timestamp: new(parkade.Timestamp(5)),
		},
		Headers: parkade.NewTable(field("n", uint16(7)), field("traceparent", "00-1"), field("x-replay-attempt", int32(2)), field("x-replay-id", "new-2")),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	handling := map[string]parkade.Handling{}
	for _, l := range lines {
		if handling[l.Name] != "" {
			t.Errorf("two lines for %s", l.Name)
		}
		if handling[l.Name] = l.Handling; l.Handling != parkade.Kept && l.Why == "" {
			t.Errorf("%s is %s without a reason", l.Name, l.Handling)
		}
	}
	for name, want := range map[string]parkade.Handling{
		"message_id": parkade.Kept, "reply_to": parkade.Kept, "timestamp": parkade.Kept, "delivery_mode": parkade.Override,
		"expiration": parkade.Stripped, "user_id": parkade.Stripped, "x-death": parkade.Stripped, "x-first-death-queue": parkade.Stripped,
		"x-last-death-reason": parkade.Stripped, "x-delivery-count": parkade.Stripped, "x-acquired-count": parkade.Stripped,
		"CC": parkade.Stripped, "x-delay": parkade.Stripped, "x-stream-offset": parkade.Stripped, "x-attempt": parkade.Stripped,
		"x-retries": parkade.Stripped, "x-try": parkade.Stripped, "traceparent": parkade.Kept, "n": parkade.Kept,
		"x-replay-id": parkade.Stamped, "x-replay-attempt": parkade.Stamped,
	} {
		if handling[name] != want {
			t.Errorf("%s is %q, want %s", name, handling[name], want)
		}
	}
	if len(handling) != 21 {
		t.Errorf("%d lines", len(handling))
	}
	after, err := arrived.Headers.AppendBinary(nil)
	if err != nil || string(after) != string(before) || *arrived.Properties.DeliveryMode != 1 {
		t.Error("what arrived has changed")
	}
}

func TestWithoutADeliveryModeAReplayIsPersistentAndSaysSo(t *testing.T) {
	t.Parallel()
	got, lines := parkade.Prepare(parkade.Content{}, "", "q", parkade.Policy{}, parkade.Stamp{ID: "a-1", Attempt: 1})
	if got.Properties.DeliveryMode == nil || *got.Properties.DeliveryMode != 2 {
		t.Error("not persistent")
	}
	if lines[0].Name != "delivery_mode" || lines[0].Handling != parkade.Override {
		t.Errorf("%+v", lines[0])
	}
}

func TestWhatIsThereAndEmptyIsKept(t *testing.T) {
	t.Parallel()
	arrived := parkade.Content{Properties: parkade.Properties{
		MessageID: new(""), Type: new(""), ReplyTo: new("r"), Priority: new(uint8(0)), DeliveryMode: new(uint8(0)), Expiration: new(""), UserID: new(""),
	}}
	got, lines := parkade.Prepare(arrived, "", "q", parkade.Policy{}, parkade.Stamp{ID: "a-1", Attempt: 1})
	want := parkade.Properties{MessageID: new(""), Type: new(""), ReplyTo: new("r"), Priority: new(uint8(0)), DeliveryMode: new(uint8(2))}
	if diff := cmp.Diff(want, got.Properties); diff != "" {
		t.Error(diff)
	}
	handled := map[string]parkade.Handling{}
	for _, l := range lines {
		if !l.Header {
			handled[l.Name] = l.Handling
		}
	}
	if diff := cmp.Diff(map[string]parkade.Handling{
		"message_id": parkade.Kept, "type": parkade.Kept, "reply_to": parkade.Kept, "priority": parkade.Kept,
		"delivery_mode": parkade.Override, "expiration": parkade.Stripped, "user_id": parkade.Stripped,
	}, handled); diff != "" {
		t.Error(diff)
	}
}
