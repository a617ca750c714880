package handlers

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"parkade"
)

// jsonHeader is a header with its AMQP type. What JSON can't hold exactly is a
// string, as api/openapi.yaml says for each type.
type jsonHeader struct {
	Name       string `json:"name"`
	NameBase64 string `json:"name_base64,omitempty"` // where the name isn't UTF-8
	Type       string `json:"type"`
	Value      any    `json:"value"`
}

type jsonItem struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

type jsonBytes struct {
	Base64 string `json:"base64"`
}

func jsonHeaders(t parkade.Table) []jsonHeader {
	return each(t, func(f parkade.Field) jsonHeader {
		i := typed(f.Value)
		h := jsonHeader{Name: f.Name, Type: i.Type, Value: i.Value}
		if !utf8.ValidString(f.Name) {
			h.NameBase64 = base64.StdEncoding.EncodeToString([]byte(f.Name))
		}
		return h
	})
}

func typed(v any) jsonItem {
	t, _ := parkade.TypeOf(v)
	return jsonItem{t.String(), jsonValue(v)}
}

func jsonValue(v any) any {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case parkade.Timestamp:
		return strconv.FormatInt(int64(v), 10)
	case float32:
		return jsonFloat(float64(v), 32)
	case float64:
		return jsonFloat(v, 64)
	case parkade.Decimal:
		return decimal(v)
	case string:
		if utf8.ValidString(v) {
			return v
		}
		return jsonBytes{base64.StdEncoding.EncodeToString([]byte(v))}
	case []byte:
		return jsonBytes{base64.StdEncoding.EncodeToString(v)}
	case parkade.List:
		return each(v, typed)
	case parkade.Table:
		return jsonHeaders(v)
	}
	return v // booleans, small integers and void are themselves
}

func jsonFloat(f float64, bits int) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case bits == 32:
		return float32(f)
	}
	return f
}

// decimal writes v without rounding.
func decimal(v parkade.Decimal) string {
	digits, sign := strconv.FormatInt(int64(v.Value), 10), ""
	if v.Value < 0 {
		digits, sign = digits[1:], "-"
	}
	scale := int(v.Scale)
	if scale == 0 {
		return sign + digits
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
