package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parkade"
)

func TestAHeaderKeepsItsTypeAndExactValueInJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"boolean", true, `{"name":"h","type":"boolean","value":true}`},
		{"small integer", uint8(200), `{"name":"h","type":"uint8","value":200}`},
		{"unsigned", uint32(math.MaxUint32), `{"name":"h","type":"uint32","value":4294967295}`},
		{"integer beyond JSON's", int64(math.MaxInt64), `{"name":"h","type":"int64","value":"9223372036854775807"}`},
		{"timestamp in milliseconds", parkade.Timestamp(1_790_000_000_000), `{"name":"h","type":"timestamp","value":"1790000000000"}`},
		{"float", float32(0.1), `{"name":"h","type":"float","value":0.1}`},
		{"double", 1e300, `{"name":"h","type":"double","value":1e+300}`},
		{"no number", math.NaN(), `{"name":"h","type":"double","value":"NaN"}`},
		{"infinity", math.Inf(-1), `{"name":"h","type":"double","value":"-Infinity"}`},
		{"decimal", parkade.Decimal{Scale: 2, Value: 1234}, `{"name":"h","type":"decimal","value":"12.34"}`},
		{"small negative decimal", parkade.Decimal{Scale: 3, Value: -5}, `{"name":"h","type":"decimal","value":"-0.005"}`},
		{"lowest decimal", parkade.Decimal{Scale: 0, Value: math.MinInt32}, `{"name":"h","type":"decimal","value":"-2147483648"}`},
		{"text", "größe", `{"name":"h","type":"longstr","value":"größe"}`},
		{"text that is none", "\xff\xfe", `{"name":"h","type":"longstr","value":{"base64":"//4="}}`},
		{"bytes", []byte{0}, `{"name":"h","type":"bytes","value":{"base64":"AA=="}}`},
		{"void", nil, `{"name":"h","type":"void","value":null}`},
		{"array", parkade.List{int64(1), "a"}, `{"name":"h","type":"array","value":[{"type":"int64","value":"1"},{"type":"longstr","value":"a"}]}`},
		{"empty array", parkade.List{}, `{"name":"h","type":"array","value":[]}`},
		{"table", parkade.NewTable(parkade.Field{Name: "x", Value: false}), `{"name":"h","type":"table","value":[{"name":"x","type":"boolean","value":false}]}`},
	}
	for _, tt := range tests {
		got, err := json.Marshal(jsonHeaders(parkade.NewTable(parkade.Field{Name: "h", Value: tt.value})))
		if err != nil || string(got) != "["+tt.want+"]" {
			t.Errorf("%s: got %s (%v), want [%s]", tt.name, got, err, tt.want)
		}
	}
}

// TestAnyHeadersAreReadAsTheyWereWritten in JSON: types, bytes, numbers and names.
func TestAnyHeadersAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := someHeaders(3).Draw(t, "headers")
		b, err := json.Marshal(jsonHeaders(in))
		if err != nil {
			t.Fatal(err)
		}
		out, err := readHeaders(b, "headers")
		if err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		want, err := in.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := out.AppendBinary(nil)
		if err != nil || !bytes.Equal(want, got) {
			t.Fatalf("%v became %v by %s (%v)", in, out, b, err)
		}
	})
}

func someHeaders(depth int) *rapid.Generator[parkade.Table] {
	anyText := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) })
	return rapid.Custom(func(t *rapid.T) parkade.Table {
		table := parkade.Table{}
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			name := rapid.OneOf(rapid.StringN(0, 40, 255), anyText).Draw(t, "name")
			table = table.With(name, someValue(depth, anyText).Draw(t, "value"))
		}
		return table
	})
}

func someValue(depth int, anyText *rapid.Generator[string]) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Bool().AsAny(), rapid.Int8().AsAny(), rapid.Uint8().AsAny(), rapid.Int16().AsAny(), rapid.Uint16().AsAny(),
		rapid.Int32().AsAny(), rapid.Uint32().AsAny(), rapid.Int64().AsAny(), rapid.Float32().AsAny(), rapid.Float64().AsAny(),
		rapid.String().AsAny(), anyText.AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Just[any](nil),
		rapid.SampledFrom([]any{math.Inf(1), math.Copysign(0, -1), float32(math.Inf(-1)), "\uFFFD"}),
		rapid.Map(rapid.Int64(), func(n int64) any { return parkade.Timestamp(n) }),
		rapid.Custom(func(t *rapid.T) any {
			return parkade.Decimal{Scale: rapid.Uint8().Draw(t, "scale"), Value: rapid.Int32().Draw(t, "value")}
		}),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.Map(rapid.SliceOfN(someValue(depth-1, anyText), 0, 4), func(l []any) any { return append(parkade.List{}, l...) }),
			rapid.Map(someHeaders(depth-1), func(t parkade.Table) any { return t }))
	}
	return rapid.OneOf(kinds...)
}

func TestAHeaderThatCannotBeMeantIsRefusedByName(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{}`:                          "headers",
		`null`:                        "headers",
		`[{"type":"int8","value":1}]`: "headers[0]",
		`[{"name":"a","type":"int8","value":128}]`:                                                        "headers[0]",
		`[{"name":"a","type":"uint8","value":-1}]`:                                                        "headers[0]",
		`[{"name":"a","type":"int32","value":1.5}]`:                                                       "headers[0]",
		`[{"name":"a","type":"int64","value":"x"}]`:                                                       "headers[0]",
		`[{"name":"a","type":"decimal","value":"1."}]`:                                                    "headers[0]",
		`[{"name":"a","type":"decimal","value":"99999999999"}]`:                                           "headers[0]",
		`[{"name":"a","type":"double","value":"0x1p3"}]`:                                                  "headers[0]",
		`[{"name":"a","type":"float","value":"fast"}]`:                                                    "headers[0]",
		`[{"name":"a","type":"longstr","value":"\ud800"}]`:                                                "headers[0]",
		`[{"name":"a","type":"longstr","value":{"base64":"?"}}]`:                                          "headers[0]",
		`[{"name":"a","type":"bytes","value":"text"}]`:                                                    "headers[0]",
		`[{"name":"a","type":"boolean","value":"true"}]`:                                                  "headers[0]",
		`[{"name":"a","type":"void","value":0}]`:                                                          "headers[0]",
		`[{"name":"a","type":"short","value":1}]`:                                                         "headers[0]",
		`[{"name":"a","type":"int8","value":1},{"name":"a","type":"int8","value":2}]`:                     "headers[1]",
		`[{"name":"a","type":"table","value":[{"name":"b","type":"int8","value":true}]}]`:                 "headers[0].value[0]",
		`[{"name":"a","type":"array","value":[{"type":"int8","value":1},{"type":"x","value":true}]}]`:     "headers[0].value[1]",
		`[{"name":"` + strings.Repeat("a", 256) + `","type":"int8","value":1}]`:                           "headers[0]",
		`[{"name_base64":"?","type":"int8","value":1}]`:                                                   "headers[0]",
		`[` + strings.Repeat(`{"name":"a","type":"table","value":[`, 40) + strings.Repeat(`]}`, 40) + `]`: "headers" + strings.Repeat("[0].value", 33),
	} {
		_, err := readHeaders([]byte(body), "headers")
		e, ok := errors.AsType[*parkade.Error](err)
		if !ok || e.Kind != parkade.Invalid || e.Field != field {
			t.Errorf("%s: %v", body, err)
		}
	}
}
