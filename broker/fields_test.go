package broker_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

// there publishes d into queue and takes it out again, without its stamp.
func there(t interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}, p *broker.Publisher, in *broker.Intake, n int, d parkade.Draft,
) parkade.Delivery {
	t.Helper()
	if err := p.Send(send(n, d)); err != nil {
		t.Fatal(err)
	}
	if r := <-p.Results(); r.Outcome != parkade.Confirmed {
		t.Fatal(r)
	}
	batch, err := in.Collect(t.Context(), "s1-"+parkade.ReplayID(n).String(), cycle(1))
	if err := errors.Join(err, in.Ack(), in.Prove(1)); err != nil {
		t.Fatal(err)
	}
	if len(batch) != 1 {
		t.Fatal(len(batch), "messages")
	}
	batch[0].Headers = batch[0].Headers.Without(parkade.ReplayIDHeader)
	return batch[0]
}

func TestEveryFieldTypeAndPropertySurvivesABroker(t *testing.T) {
	t.Parallel()
	nested := parkade.List{}
	for range 30 {
		nested = parkade.List{nested}
	}
	headers := parkade.NewTable(
		parkade.Field{Name: "t", Value: true},
		parkade.Field{Name: "b", Value: int8(math.MinInt8)},
		parkade.Field{Name: "B", Value: uint8(math.MaxUint8)},
		parkade.Field{Name: "s", Value: int16(math.MinInt16)},
		parkade.Field{Name: "u", Value: uint16(math.MaxUint16)},
		parkade.Field{Name: "I", Value: int32(math.MinInt32)},
		parkade.Field{Name: "i", Value: uint32(math.MaxUint32)},
		parkade.Field{Name: "l", Value: int64(math.MinInt64)},
		parkade.Field{Name: "f", Value: float32(1.5)},
		parkade.Field{Name: "d", Value: -math.MaxFloat64},
		parkade.Field{Name: "D", Value: parkade.Decimal{Scale: 2, Value: 12345}},
		parkade.Field{Name: "S", Value: "text \xff and \x00"},
		parkade.Field{Name: "x", Value: []byte{0, 1, 255}},
		parkade.Field{Name: "T", Value: parkade.Timestamp(1_700_000_000_123)}, // milliseconds, as applications write them
		parkade.Field{Name: "T0", Value: parkade.Timestamp(0)},
		parkade.Field{Name: "V", Value: nil},
		parkade.Field{Name: "A", Value: parkade.List{int8(1), "a", parkade.List{}, parkade.Table{}, nil}},
		parkade.Field{Name: "F", Value: parkade.NewTable(parkade.Field{Name: "in", Value: parkade.NewTable(parkade.Field{Name: "deep", Value: int64(1)})})},
		parkade.Field{Name: "nested", Value: nested},
		parkade.Field{Name: "a name of 255 bytes" + strings.Repeat("é", 118), Value: ""},
	)
	properties := parkade.Properties{
		ContentType: new("application/json"), ContentEncoding: new("gzip"), DeliveryMode: new(uint8(1)), Priority: new(uint8(200)),
		CorrelationID: new("c\xff"), ReplyTo: new("r"), Expiration: new("100000"), MessageID: new(strings.Repeat("m", 255)),
		Timestamp: new(parkade.Timestamp(1_700_000_000_123)), Type: new("t"), UserID: new("guest"), AppID: new("a"),
	}
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		for _, kind := range []string{brokertest.Classic, brokertest.Quorum} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				url := brokertest.Vhost(t, b)
				queue := brokertest.Queue(t, url, kind, "orders", nil)
				br := open(t, b)
				p, in := publisher(t, br, url), intake(t, br, url, queue, 1)
				sent := parkade.Draft{Content: parkade.Content{RoutingKey: queue, Properties: properties, Headers: headers}, Body: []byte{0, 1, 0xff}}
				got := there(t, p, in, 1, sent)
				if deep, _ := got.Headers.Get("nested"); !reflect.DeepEqual(deep, nested) { // cmp would take for ever
					t.Errorf("nested arrays arrive as %v", deep)
				}
				got.Headers, sent.Headers = got.Headers.Without("nested"), sent.Headers.Without("nested")
				if diff := cmp.Diff(parkade.Delivery{Content: sent.Content, Body: sent.Body}, got); diff != "" {
					t.Error(diff)
				}
				bare := parkade.Draft{Content: parkade.Content{RoutingKey: queue}}
				want := parkade.Delivery{Content: bare.Content}
				if diff := cmp.Diff(want, there(t, p, in, 2, bare), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("a message without anything: %s", diff)
				}
			})
		}
	})
}

func TestAnyTableSurvivesABroker(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	url := brokertest.Vhost(t, b)
	queue := brokertest.Queue(t, url, brokertest.Classic, "orders", nil)
	br := open(t, b)
	p, in := publisher(t, br, url), intake(t, br, url, queue, 1)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		headers := tables(4).Draw(t, "headers")
		got := there(t, p, in, n, parkade.Draft{Content: parkade.Content{RoutingKey: queue, Headers: headers}})
		if diff := cmp.Diff(headers, got.Headers, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func tables(depth int) *rapid.Generator[parkade.Table] {
	return rapid.Custom(func(t *rapid.T) parkade.Table {
		var table parkade.Table
		for name, v := range rapid.MapOfN(rapid.StringN(0, 20, 60), values(depth), 0, 6).Draw(t, "fields") {
			table = table.With(name, v)
		}
		return table
	})
}

func values(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Bool().AsAny(), rapid.Int8().AsAny(), rapid.Uint8().AsAny(), rapid.Int16().AsAny(), rapid.Uint16().AsAny(),
		rapid.Int32().AsAny(), rapid.Uint32().AsAny(), rapid.Int64().AsAny(), rapid.Float32().AsAny(), rapid.Float64().AsAny(),
		rapid.String().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Just[any](nil),
		rapid.Map(rapid.Int64(), func(n int64) any { return parkade.Timestamp(n) }),
		rapid.Custom(func(t *rapid.T) any {
			return parkade.Decimal{Scale: rapid.Uint8().Draw(t, "scale"), Value: rapid.Int32().Draw(t, "value")}
		}),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.Map(tables(depth-1), func(v parkade.Table) any { return v }),
			rapid.Map(rapid.SliceOfN(values(depth-1), 0, 4), func(v []any) any { return parkade.List(v) }))
	}
	return rapid.OneOf(kinds...)
}
