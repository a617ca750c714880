package handlers

import (
	"encoding/json"
	"math"
	"testing"

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
