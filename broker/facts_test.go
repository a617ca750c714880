package broker_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

func pathEscape(s string) string { return url.PathEscape(s) }

func policy(t *testing.T, b brokertest.Broker, amqpURL, name, pattern, applyTo string, definition map[string]any) {
	t.Helper()
	path := "policies/" + pathEscape(brokertest.VhostName(t, amqpURL)) + "/" + pathEscape(name)
	if s := b.API(t, http.MethodPut, path, map[string]any{"pattern": pattern, "definition": definition, "apply-to": applyTo}, nil); s >= 300 {
		t.Fatalf("policy %s: status %d", name, s)
	}
}

func facts(t *testing.T, br *broker.Broker, url, queue string) parkade.QueueFacts {
	t.Helper()
	f, err := br.Facts(t.Context(), brokertest.VhostName(t, url), queue)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFactsComeFromArgumentsAndPolicies(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		br := open(t, b)
		version, err := br.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		policy(t, b, url, "by policy", `^by policy$`, "queues", map[string]any{
			"delivery-limit": 5, "dead-letter-exchange": "dlx", "message-ttl": 1000, "expires": 60000, "max-length": 10,
		})
		brokertest.Exchange(t, url, "fanout", "dlx")
		brokertest.Queue(t, url, brokertest.Quorum, "by policy", amqp.Table{"x-delivery-limit": 7})
		brokertest.Queue(t, url, brokertest.Quorum, "safe", amqp.Table{"x-delivery-limit": 1000000})
		brokertest.Queue(t, url, brokertest.Classic, "arguments", amqp.Table{
			"x-max-priority": 5, "x-single-active-consumer": true, "x-max-length-bytes": 100, "x-overflow": "reject-publish",
		})
		for queue, want := range map[string]parkade.QueueFacts{
			"by policy": {
				Known: true, Version: version, Type: "quorum", Durable: true, DeliveryLimit: new(int64(5)),
				DeadLetters: true, Expires: true, TTL: true, DropsHead: true,
			},
			"safe":      {Known: true, Version: version, Type: "quorum", Durable: true, DeliveryLimit: new(int64(1000000))},
			"arguments": {Known: true, Version: version, Type: "classic", Durable: true, SingleActive: true, Priorities: true},
			"not there": {Known: true, Version: version, Missing: true},
		} {
			brokertest.Eventually(t, "figures of "+queue, func() bool { return queue == "not there" || facts(t, br, url, queue).OtherConsumers == 0 })
			if diff := cmp.Diff(want, facts(t, br, url, queue), cmpopts.IgnoreFields(parkade.QueueFacts{}, "UpSince")); diff != "" {
				t.Errorf("%s: %s", queue, diff)
			}
		}
		brokertest.Queue(t, url, brokertest.Classic, "parking", nil)
		brokertest.Bind(t, url, "parking", "", "dlx")
		if !facts(t, br, url, "by policy").DeadLettersReach {
			t.Error("a dead-letter exchange with a queue behind it reaches none")
		}
	})
}

func TestWhereADefaultLimitAppliesItIsKnownOrAssumed(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		br := open(t, b)
		brokertest.Queue(t, url, brokertest.Quorum, "q", nil)
		if got, want := facts(t, br, url, "q").Unlimited(), !b.AtLeast(4, 0); got != want {
			t.Errorf("without a limit of its own it is unlimited: %t, want %t", got, want)
		}
		brokertest.Queue(t, url, brokertest.Quorum, "minus one", amqp.Table{"x-delivery-limit": -1})
		if got, want := facts(t, br, url, "minus one").Unlimited(), b.AtLeast(4, 0); got != want {
			t.Errorf("with a limit of -1 it is unlimited: %t, want %t", got, want)
		}
	})
}

func TestAutoDeleteAndOtherConsumersAreSeen(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		br := open(t, b, func(c *broker.Config) { c.Store = "mystore" })
		ch := brokertest.Channel(t, url)
		if _, err := ch.QueueDeclare("q", true, true, false, false, nil); err != nil {
			t.Fatal(err)
		}
		for _, tag := range []string{"parkade-mystore-s1-1", "parkade-another-s1-1", "somebody else"} {
			if _, err := ch.Consume("q", tag, false, false, false, false, nil); err != nil {
				t.Fatal(err)
			}
		}
		brokertest.Eventually(t, "the other two consumers", func() bool {
			f := facts(t, br, url, "q")
			return f.AutoDelete && f.OtherConsumers == 2
		})
	})
}

func TestUpSinceNeedsTheTagMonitoring(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		may := brokertest.Permissions{Configure: "^$", Write: "^$", Read: ".*"}
		for _, kind := range []string{brokertest.Classic, brokertest.Quorum} {
			brokertest.Queue(t, url, kind, kind, nil)
			f := facts(t, open(t, brokertest.User(t, b, url, may, "monitoring")), url, kind)
			if up := time.Since(f.UpSince); up < 0 || up > 30*24*time.Hour {
				t.Errorf("%s: up since %s", kind, f.UpSince)
			}
			if f := facts(t, open(t, brokertest.User(t, b, url, may, "management")), url, kind); !f.Known || !f.UpSince.IsZero() {
				t.Errorf("%s, without the tag: %+v", kind, f)
			}
		}
	})
}

func TestDeadLettersReachOnlyWhereThatIsCertain(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	br := open(t, b)
	brokertest.Queue(t, url, brokertest.Classic, "parking", nil)
	for _, kind := range []string{"direct", "fanout", "topic"} {
		brokertest.Exchange(t, url, kind, kind)
		brokertest.Bind(t, url, "parking", "k", kind)
	}
	brokertest.Exchange(t, url, "topic", "all")
	brokertest.Bind(t, url, "parking", "#", "all")
	for name, tt := range map[string]struct {
		exchange, key string
		want          bool
	}{
		"fanout":                        {"fanout", "", true},
		"topic that takes all":          {"all", "", true},
		"topic that takes one key":      {"topic", "", false},
		"direct, own key":               {"direct", "", false},
		"direct, bound key":             {"direct", "k", true},
		"direct, unbound key":           {"direct", "other", false},
		"no such exchange":              {"gone", "k", false},
		"default exchange, a queue":     {"", "parking", true},
		"default exchange, no queue":    {"", "gone", false},
		"default exchange, itself":      {"", "default exchange, itself", false},
		"default exchange, its own key": {"", "", false},
	} {
		args := amqp.Table{"x-dead-letter-exchange": tt.exchange}
		if tt.key != "" {
			args["x-dead-letter-routing-key"] = tt.key
		}
		brokertest.Queue(t, url, brokertest.Classic, name, args)
		if f := facts(t, br, url, name); !f.DeadLetters || f.DeadLettersReach != tt.want {
			t.Errorf("%s: dead-letters %t and reaches %t, want %t", name, f.DeadLetters, f.DeadLettersReach, tt.want)
		}
	}
}
