package parkade_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parkade"
)

func TestWhatIsGivenBackIsWhatArrivedButForWhatTheBrokerOwns(t *testing.T) {
	t.Parallel()
	kept := parkade.NewTable(
		parkade.Field{Name: "x-death", Value: parkade.List{parkade.NewTable(parkade.Field{Name: "queue", Value: "work"})}},
		parkade.Field{Name: "x-first-death-queue", Value: "work"},
		parkade.Field{Name: "x-attempt", Value: int32(3)},
		parkade.Field{Name: "x-delay", Value: int32(-5000)},
		parkade.Field{Name: "x-replay-attempt", Value: int32(2)},
	)
	arrived := parkade.Content{Exchange: "orders.dlx", RoutingKey: "created"}
	arrived.Properties = parkade.Properties{MessageID: new("a"), UserID: new("guest"), Expiration: new("5"), Priority: new(uint8(3)), ReplyTo: new("amq.rabbitmq.reply-to.x")}
	arrived.Headers = kept.With("CC", parkade.List{"other"}).With("BCC", parkade.List{"other"}).With("x-delivery-count", int64(21)).
		With("x-acquired-count", int64(22)).With("x-replay-id", "of the replay before")

	got, lines := parkade.Return(arrived, "orders.parking", "stamp")
	want := parkade.Content{RoutingKey: "orders.parking", Headers: kept.With("x-replay-id", "stamp")}
	want.Properties = parkade.Properties{MessageID: new("a"), Priority: new(uint8(3)), ReplyTo: new("amq.rabbitmq.reply-to.x"), DeliveryMode: new(uint8(2))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	handled := map[string]parkade.Handling{}
	for _, l := range lines {
		handled[l.Name] = l.Handling
		if l.Handling == parkade.Stripped && l.Why == "" {
			t.Errorf("%s is stripped without a reason", l.Name)
		}
	}
	for name, want := range map[string]parkade.Handling{
		"x-death": parkade.Kept, "x-attempt": parkade.Kept, "x-delay": parkade.Kept, "message_id": parkade.Kept, "delivery_mode": parkade.Override,
		"CC": parkade.Stripped, "x-delivery-count": parkade.Stripped, "user_id": parkade.Stripped, "expiration": parkade.Stripped, "x-replay-id": parkade.Stamped,
	} {
		if handled[name] != want {
			t.Errorf("%s is %q, want %q", name, handled[name], want)
		}
	}
}
