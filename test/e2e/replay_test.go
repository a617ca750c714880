package e2e

import (
	"strings"
	"testing"

	"parkade"
	"parkade/broker/brokertest"
)

// placed is a body with all that a careless reader would change.
const placed = "{ \"order\": 4711,\r\n\t\"total\" : 12.50, \"big\": 12345678901234567890, \"to\": \"Zoë ✓\" }\n"

// The main job: what failed is found, drained, looked at and sent back to where it
// failed, and its consumer gets the bytes that it got before.
func TestAFailedMessageIsFoundAndReplayed(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"with the mouse": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage(t)
			s.fail(t, "order.placed", order("o-4711", placed))
			s.fail(t, "order.cancelled", order("o-4712", "{}"), order("o-4713", "{}"))
			s.run()
			b := open(t, s.URL)
			b.script(script)

			b.visit("/")
			b.sees(parking)
			b.press("Queues")
			b.arrives("/queues")
			b.press("→ this store…")
			b.sees("What was checked just now", "this store holds the only copy")
			b.press("and what comes → this store")
			b.arrives("/queue?")
			brokertest.WaitReady(t, s.amqp, parking, 0)

			b.press("Messages")
			b.arrives("/messages")
			b.sees("3 messages")
			b.fill("Add a condition to the filter", "key:order.placed\r")
			b.arrives("/messages?")
			b.sees("1 message,", "o-4711")
			b.lacks("o-4712")
			b.press("Rejected in " + work)
			b.arrives("/messages/")
			b.sees("12345678901234567890", "Zoë ✓", "berlin", "cart-7731", "OrderPlaced", work+" rejected 1")

			b.press("Replay 1 → " + work + "…")
			b.sees("Before anything is sent", "1 from "+parking, "x-death")
			b.press("Replay 1 → " + work)
			b.arrives("/operations/")
			if !script {
				b.waits("the operation is finished", func() bool {
					b.visit(b.where())
					return strings.Contains(b.text(), "Finished")
				})
			}
			b.sees("Finished", "1 confirmed")

			got := brokertest.Take(t, s.amqp, work, 1)[0]
			if string(got.Body) != placed {
				t.Errorf("the consumer got %q, want %q", got.Body, placed)
			}
			if got.MessageId != "o-4711" || got.Exchange != "orders" && got.Exchange != "" || got.Headers["tenant"] != "berlin" || got.CorrelationId != "cart-7731" || got.AppId != "shop" {
				t.Errorf("the consumer got %+v", got)
			}
			if _, dead := got.Headers["x-death"]; dead || got.Headers[parkade.ReplayIDHeader] == nil {
				t.Errorf("it carries %v", got.Headers)
			}
		})
	}
}
