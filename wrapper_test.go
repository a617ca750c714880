package parkade_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parkade"
)

// easy is what EasyNetQ 7 writes, with one of its headers as .NET holds a text.
const easy = `{
	"RoutingKey": "order.placed", "Exchange": "orders", "Queue": "billing",
	"Exception": "System.InvalidOperationException: no rate for GB\n   at Billing.Handle()",
	"Message": "{\"order\":9007199254740993,\"total\":1.10,\"note\":\"größe\"}\r\n",
	"DateTime": "2026-08-09T14:23:08.0690627Z",
	"BasicProperties": {
		"ContentType": null, "ContentEncoding": null, "DeliveryMode": 2, "Priority": 0, "CorrelationId": "c-1", "ReplyTo": "", "Expiration": null,
		"MessageId": "m-1", "Timestamp": 0, "Type": "Orders.Placed, Orders", "UserId": null, "AppId": null, "ClusterId": null,
		"Headers": {
			"tenant": {"$type": "System.Byte[], System.Private.CoreLib", "$value": "Z3LDtsOfZQ=="}, "plain": "text", "n": 7, "on": true, "none": null, "half": 0.5,
			"many": {"$type": "System.Collections.Generic.List` + "`" + `1[[System.Object]], mscorlib", "$values": [1, "a"]},
			"deep": {"$type": "System.Collections.Generic.Dictionary, mscorlib", "inner": [2]},
			"at": {"$type": "RabbitMQ.Client.AmqpTimestamp, RabbitMQ.Client", "UnixTime": 1660054988}
		},
		"ContentTypePresent": false, "ContentEncodingPresent": false, "HeadersPresent": true, "DeliveryModePresent": true, "PriorityPresent": true,
		"CorrelationIdPresent": true, "ReplyToPresent": false, "ExpirationPresent": false, "MessageIdPresent": true, "TimestampPresent": false,
		"TypePresent": true, "UserIdPresent": false, "AppIdPresent": false, "ClusterIdPresent": false
	}
}`

// sneaker is what Sneakers 2 writes for a payload.
func sneaker(payload []byte) string {
	return `{"error":"Billing::NoRate","num_attempts":6,"failed_at":"2026-08-09T14:23:08+02:00","payload":` + encode64(payload) +
		`,"error_class":"Billing::NoRate","error_message":"no rate for GB","backtrace":["a.rb:1"]}`
}

// encode64 is Ruby's Base64.encode64, which breaks lines, in JSON.
func encode64(b []byte) string {
	text := base64.StdEncoding.EncodeToString(b)
	var out strings.Builder
	for len(text) > 60 {
		out.WriteString(text[:60] + "\n")
		text = text[60:]
	}
	quoted, err := json.Marshal(out.String() + text + "\n")
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

func field(name string, v any) parkade.Field { return parkade.Field{Name: name, Value: v} }

func TestAMessageComesOutOfItsWrapperAsItWentIn(t *testing.T) {
	t.Parallel()
	binary := make([]byte, 300)
	for i := range binary {
		binary[i] = byte(i)
	}
	kick := `{"error":"reject","num_attempts":6,"failed_at":"2026-08-09T14:23:08+02:00","properties":{"content_type":"text/plain","delivery_mode":2,
		"priority":0,"message_id":"m-1","timestamp":"2026-08-09 14:23:08 +0200","headers":{"tenant":"größe","n":3}}}`
	errored := parkade.Content{Exchange: "billing-error", RoutingKey: "order.placed"}
	tests := []struct {
		name    string
		content parkade.Content
		body    string
		want    parkade.Wrapped
	}{
		{"EasyNetQ", parkade.Content{Exchange: "ErrorExchange_order.placed"}, easy, parkade.Wrapped{
			Wrapper: parkade.EasyNetQ, Exception: "System.InvalidOperationException: no rate for GB",
			Origin: &parkade.Origin{Exchange: "orders", RoutingKey: "order.placed", Queue: "billing"},
			Draft: parkade.Draft{
				Body: []byte("{\"order\":9007199254740993,\"total\":1.10,\"note\":\"größe\"}\r\n"),
				Content: parkade.Content{
					Exchange: "orders", RoutingKey: "order.placed",
					Properties: parkade.Properties{
						DeliveryMode: new(uint8(2)), Priority: new(uint8(0)), CorrelationID: new("c-1"), MessageID: new("m-1"), Type: new("Orders.Placed, Orders"),
					},
					Headers: parkade.NewTable(
						field("tenant", "größe"), field("plain", "text"), field("n", int64(7)), field("on", true), field("none", nil), field("half", 0.5),
						field("many", parkade.List{int64(1), "a"}), field("deep", parkade.NewTable(field("inner", parkade.List{int64(2)}))),
						field("at", parkade.Timestamp(1660054988))),
				},
			},
		}},
		{
			"EasyNetQ without flags, queue and headers",
			parkade.Content{},
			`{"RoutingKey":"k","Exchange":"","Exception":"x","Message":"","DateTime":"2026","BasicProperties":{"Priority":0,"DeliveryMode":1,"Type":null,"Expiration":"60000","Timestamp":5}}`,
			parkade.Wrapped{Wrapper: parkade.EasyNetQ, Exception: "x", Draft: parkade.Draft{
				Body: []byte{}, Content: parkade.Content{RoutingKey: "k", Properties: parkade.Properties{
					DeliveryMode: new(uint8(1)), Expiration: new("60000"), Timestamp: new(parkade.Timestamp(5)),
				}},
			}},
		},
		{"Sneakers", errored, sneaker(binary), parkade.Wrapped{
			Wrapper: parkade.Sneakers, Exception: "Billing::NoRate: no rate for GB", Origin: &parkade.Origin{RoutingKey: "billing", Queue: "billing"},
			Draft: parkade.Draft{Body: binary, Content: parkade.Content{RoutingKey: "billing"}},
		}},
		{
			"Sneakers in an exchange of another name, with properties",
			parkade.Content{Exchange: "errors", RoutingKey: "k"},
			`{"error":"reject","num_attempts":6,"failed_at":"x","payload":"YQ==","properties":{"type":"t","headers":{"n":1}}}`,
			parkade.Wrapped{Wrapper: parkade.Sneakers, Exception: "reject", Draft: parkade.Draft{
				Body: []byte("a"), Content: parkade.Content{RoutingKey: "k", Properties: parkade.Properties{Type: new("t")}, Headers: parkade.NewTable(field("n", int64(1)))},
			}},
		},
		{"Kicks", with(errored, kick), "\x00any\xff", parkade.Wrapped{
			Wrapper: parkade.Kicks, Exception: "reject", Origin: &parkade.Origin{RoutingKey: "billing", Queue: "billing"},
			Draft: parkade.Draft{Body: []byte("\x00any\xff"), Content: parkade.Content{
				RoutingKey: "billing",
				Properties: parkade.Properties{ContentType: new("text/plain"), DeliveryMode: new(uint8(2)), Priority: new(uint8(0)), MessageID: new("m-1")},
				Headers:    parkade.NewTable(field("tenant", "größe"), field("n", int64(3))),
			}},
		}},
		{"Kicks that failed before", with(errored, `[{"error":"second","num_attempts":6,"failed_at":"x","properties":{}},`+kick+`]`), "b", parkade.Wrapped{
			Wrapper: parkade.Kicks, Exception: "second", Origin: &parkade.Origin{RoutingKey: "billing", Queue: "billing"},
			Draft: parkade.Draft{Body: []byte("b"), Content: parkade.Content{RoutingKey: "billing"}},
		}},
	}
	for _, tt := range tests {
		got, ok := parkade.Unwrap(tt.content, []byte(tt.body))
		if diff := cmp.Diff(tt.want, got); diff != "" || !ok {
			t.Errorf("%s: %v %s", tt.name, ok, diff)
		}
	}
}

func with(c parkade.Content, info string) parkade.Content {
	c.Headers = parkade.NewTable(field("retry_info", info))
	return c
}

// TestWhatIsNoWholeWrapperIsSentAsItArrived : a payload that only looks like one, or
// one that lost bytes in JSON.
func TestWhatIsNoWholeWrapperIsSentAsItArrived(t *testing.T) {
	t.Parallel()
	in := func(old, changed string) string {
		if !strings.Contains(easy, old) {
			t.Fatalf("there is no %s", old)
		}
		return strings.Replace(easy, old, changed, 1)
	}
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for name, body := range map[string]string{
		"nothing":                       "",
		"text":                          "BasicProperties Exception",
		"a list":                        "[" + easy + "]",
		"an end that is missing":        easy[:len(easy)-1],
		"something behind it":           easy + "{}",
		"no text":                       in("größe", "gr\xffe"),
		"bytes that were lost":          in("größe", "gr\uFFFDe"),
		"bytes that were lost, escaped": in("größe", `gr\ufffde`),
		"half a character":              in("größe", `gr\ud83de`),
		"a body that is none":           in(`"Message": "`, `"Message": 1, "x": "`),
		"no body":                       in(`"Message"`, `"message"`),
		"no time":                       in(`"DateTime"`, `"When"`),
		"properties that are none":      in(`"BasicProperties": {`, `"BasicProperties": 1, "x": {`),
		"a priority that is none":       in(`"Priority": 0`, `"Priority": 300`),
		"a type that is none":           in(`"Type": "Orders.Placed, Orders"`, `"Type": 5`),
		"a long type":                   in("Orders.Placed", strings.Repeat("x", 256)),
		"a long key":                    in(`"RoutingKey": "`, `"RoutingKey": "`+strings.Repeat("x", 256)),
		"headers that are none":         in(`"n": 7`, `"n": 1e999`),
		"a number without end":          in(`"n": 7`, `"n": 99999999999999999999`),
		"headers too deep":              in(`"n": 7`, `"n": `+deep),
		"bytes that aren't":             in("Z3LDtsOfZQ==", "?"),
		"a Sneakers payload that isn't": strings.Replace(sneaker([]byte("abc")), "YWJj", "YWJ", 1),
		"a Sneakers payload of nothing": `{"payload":null,"failed_at":"x","error":"y"}`,
		"an event with such fields":     `{"payload":"YQ==","failed_at":"2026","order":1}`,
		"an event with more of them":    `{"payload":{"a":1},"failed_at":"2026","error":"y","num_attempts":1}`,
	} {
		if w, ok := parkade.Unwrap(parkade.Content{}, []byte(body)); ok {
			t.Errorf("%s: %+v", name, w)
		}
	}
	for _, info := range []string{"", "[]", "{}", "1", `[1]`, `{"error":1,"failed_at":1,"num_attempts":1,"properties":[]}`, "\xff", strings.Repeat("[", 10_000)} {
		if w, ok := parkade.Unwrap(with(parkade.Content{}, info), []byte("a")); ok {
			t.Errorf("%s: %+v", info, w)
		}
	}
}

func TestAnyPayloadComesOutOfItsWrapper(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		w, ok := parkade.Unwrap(parkade.Content{}, []byte(sneaker(payload)))
		if !ok || string(w.Draft.Body) != string(payload) {
			t.Fatalf("%q became %q, %v", payload, w.Draft.Body, ok)
		}
		text := rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\uFFFD") }).Draw(t, "text")
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		w, ok = parkade.Unwrap(parkade.Content{}, fmt.Appendf(nil,
			`{"RoutingKey":"k","Exchange":"e","Queue":"q","Exception":"x","Message":%s,"DateTime":"2026","BasicProperties":{}}`, quoted))
		if !ok || string(w.Draft.Body) != text {
			t.Fatalf("%q became %q, %v", text, w.Draft.Body, ok)
		}
	})
}

// FuzzUnwrap holds whatever is taken for a wrapper to what can be sent and kept.
func FuzzUnwrap(f *testing.F) {
	f.Add("", []byte(easy))
	f.Add("", []byte(sneaker([]byte("abc"))))
	f.Add(`{"error":"e","num_attempts":6,"failed_at":"x","properties":{"headers":{"a":[{"b":1}]}}}`, []byte("body"))
	f.Add(`[{"error":"e"}]`, []byte(`{"payload":"YQ==","failed_at":"x","error":"y","num_attempts":1}`))
	f.Fuzz(func(t *testing.T, info string, body []byte) {
		w, ok := parkade.Unwrap(with(parkade.Content{Exchange: "x-error"}, info), body)
		if !ok {
			return
		}
		if w.Wrapper.Name() == "" {
			t.Fatalf("a wrapper without a name: %+v", w)
		}
		headers, err := w.Draft.Headers.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parkade.ParseTable(headers); err != nil {
			t.Fatalf("%v of %v", err, back)
		}
		if _, err := w.Draft.Properties.AppendBinary(nil); err != nil {
			t.Fatal(err)
		}
	})
}
