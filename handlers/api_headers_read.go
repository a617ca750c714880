package handlers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"parkade"
)

// readHeaders is the inverse of jsonHeaders: the same types, the same values, the
// same bytes.
func readHeaders(raw json.RawMessage, field string) (parkade.Table, error) {
	return readTable(raw, field, 0)
}

// maxHeaderDepth is how deep the client library lets tables nest.
const maxHeaderDepth = 32

func readTable(raw json.RawMessage, field string, depth int) (parkade.Table, error) {
	var all []struct {
		Name       *string         `json:"name"`
		NameBase64 *string         `json:"name_base64"`
		Type       string          `json:"type"`
		Value      json.RawMessage `json:"value"`
	}
	if err := strictJSON(raw, &all); err != nil || all == nil || depth > maxHeaderDepth {
		return nil, parkade.Errorf(parkade.Invalid, "Headers are a list of name, type and value, nested at most %d deep.", maxHeaderDepth).At(field)
	}
	t := make(parkade.Table, 0, len(all))
	for i, h := range all {
		at := fmt.Sprintf("%s[%d]", field, i)
		name, err := headerName(h.Name, h.NameBase64, at)
		if err != nil {
			return nil, err
		}
		if _, there := t.Get(name); there {
			return nil, parkade.Errorf(parkade.Invalid, "There are two headers %s.", name).At(at)
		}
		v, err := readTyped(h.Type, h.Value, at, depth)
		if err != nil {
			return nil, err
		}
		t = t.With(name, v)
	}
	return t, nil
}

func headerName(name, encoded *string, at string) (string, error) {
	switch {
	case encoded != nil:
		b, err := base64.StdEncoding.DecodeString(*encoded)
		if err != nil {
			return "", parkade.Errorf(parkade.Invalid, "The name isn't base64.").At(at)
		}
		name = new(string(b))
	case name == nil:
		return "", parkade.Errorf(parkade.Invalid, "A header has no name.").At(at)
	}
	if len(*name) > math.MaxUint8 {
		return "", parkade.Errorf(parkade.Invalid, "The name of a header has %d bytes; at most 255 are possible.", len(*name)).At(at)
	}
	return *name, nil
}

// readTyped reads one value, and says which it isn't.
func readTyped(kind string, raw json.RawMessage, at string, depth int) (any, error) {
	v, ok := readScalar(kind, raw)
	switch {
	case ok:
		return v, nil
	case kind == "table":
		return readTable(raw, at+".value", depth+1)
	case kind == "array":
		return readArray(raw, at+".value", depth+1)
	}
	for _, t := range headerTypes() {
		if t.String() == kind {
			return nil, parkade.Errorf(parkade.Invalid, "%s isn't possible as %s.", clip(string(raw), quotedBytes), kind).At(at)
		}
	}
	return nil, parkade.Errorf(parkade.Invalid, "There is no header type %q.", kind).At(at)
}

// headerTypes lists the types in the order in which people choose from them.
func headerTypes() []parkade.Type {
	return []parkade.Type{
		parkade.LongStr, parkade.Int32, parkade.Int64, parkade.Bool, parkade.Double, parkade.Float, parkade.DecimalT, parkade.Time, parkade.Int8,
		parkade.Uint8, parkade.Int16, parkade.Uint16, parkade.Uint32, parkade.Bytes, parkade.Void, parkade.Array, parkade.TableT,
	}
}

// clip cuts a text that is shown to so many bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// quotedBytes is how much of a wrong value an error repeats.
const quotedBytes = 40

func readArray(raw json.RawMessage, at string, depth int) (any, error) {
	var all []struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	if err := strictJSON(raw, &all); err != nil || all == nil || depth > maxHeaderDepth {
		return nil, parkade.Errorf(parkade.Invalid, "An array is a list of type and value, nested at most %d deep.", maxHeaderDepth).At(at)
	}
	list := make(parkade.List, len(all))
	for i, e := range all {
		var err error
		if list[i], err = readTyped(e.Type, e.Value, fmt.Sprintf("%s[%d]", at, i), depth); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func readScalar(kind string, raw json.RawMessage) (any, bool) {
	s := string(raw)
	text, isText := exactText(raw)
	switch kind {
	case "boolean":
		return s == "true", s == "true" || s == "false"
	case "void":
		return nil, s == "null" || s == ""
	case "longstr":
		if isText {
			return text, true
		}
		b, ok := readBytes(raw)
		return string(b), ok
	case "bytes":
		b, ok := readBytes(raw)
		return b, ok
	case "decimal":
		return readDecimal(text)
	case "float", "double":
		return readFloat(kind, s, text)
	}
	if isText {
		s = text // as int64 is written; taken for the others, too
	}
	return readInteger(kind, s)
}

func readInteger(kind, s string) (any, bool) {
	bits := map[string]int{"int8": 8, "int16": 16, "int32": 32, "int64": 64, "timestamp": 64, "uint8": 8, "uint16": 16, "uint32": 32}[kind]
	if bits == 0 || strings.HasPrefix(s, "+") {
		return nil, false
	}
	if strings.HasPrefix(kind, "u") {
		n, err := strconv.ParseUint(s, 10, bits)
		return map[int]any{8: uint8(n), 16: uint16(n), 32: uint32(n)}[bits], err == nil //nolint:gosec // bounded by bits
	}
	n, err := strconv.ParseInt(s, 10, bits)
	if kind == "timestamp" {
		return parkade.Timestamp(n), err == nil
	}
	return map[int]any{8: int8(n), 16: int16(n), 32: int32(n), 64: n}[bits], err == nil //nolint:gosec // bounded by bits
}

// readFloat reads a number, or the text of what JSON has no number for.
func readFloat(kind, s, text string) (any, bool) {
	switch text {
	case "NaN", "Infinity", "-Infinity":
		s = text
	}
	bits := 64
	if kind == "float" {
		bits = 32
	}
	f, err := strconv.ParseFloat(s, bits)
	if err != nil || strings.HasPrefix(s, "0x") {
		return nil, false
	}
	if bits == 32 {
		return float32(f), true
	}
	return f, true
}

// readDecimal is the inverse of decimal.
func readDecimal(s string) (any, bool) {
	whole, part, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole+part, 10, 32)
	if err != nil || len(part) > math.MaxUint8 || strings.HasPrefix(s, "+") || whole == "" || whole == "-" || strings.HasSuffix(s, ".") {
		return nil, false
	}
	return parkade.Decimal{Scale: uint8(len(part)), Value: int32(n)}, true //nolint:gosec // bounded above
}

// exactText reads a string that holds what was typed: JSON that can't be decoded
// exactly is none.
func exactText(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || !utf8.Valid(raw) || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	// Half a surrogate pair becomes U+FFFD without an error.
	if n := strings.Count(s, "\uFFFD"); n > 0 {
		written := strings.Count(string(raw), "\uFFFD") + strings.Count(strings.ToLower(string(raw)), `\ufffd`)
		return s, n <= written
	}
	return s, true
}

func readBytes(raw json.RawMessage) ([]byte, bool) {
	var b struct {
		Base64 *string `json:"base64"`
	}
	if strictJSON(raw, &b) != nil || b.Base64 == nil {
		return nil, false
	}
	out, err := base64.StdEncoding.DecodeString(*b.Base64)
	return out, err == nil
}
