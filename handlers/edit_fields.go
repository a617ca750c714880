package handlers

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"parkade"
	"parkade/views"
)

// encodedText is the type, in a form, of a text that a form can't hold.
const encodedText = "longstr as Base64"

// fieldTypes lists what a header can be in a form.
func fieldTypes() []string {
	all := []string{}
	for _, t := range headerTypes() {
		if all = append(all, t.String()); t == parkade.LongStr {
			all = append(all, encodedText)
		}
	}
	return all
}

// fieldOf writes a header as a form can hold it.
func fieldOf(f parkade.Field) views.EditField {
	t, _ := parkade.TypeOf(f.Value)
	out := views.EditField{Name: printable(f.Name), Type: t.String()}
	switch v := f.Value.(type) {
	case string:
		if out.Value = v; !typeable(v) {
			out.Type, out.Value = encodedText, base64.StdEncoding.EncodeToString([]byte(v))
		}
	case []byte:
		out.Value = base64.StdEncoding.EncodeToString(v)
	case parkade.List, parkade.Table:
		text, _ := json.MarshalIndent(jsonValue(v), "", "  ") // plain values
		out.Value = string(text)
	case nil:
	default:
		out.Value = headerScalar(v)
	}
	return out
}

// headerScalar writes a value with nothing that explains it.
func headerScalar(v any) string {
	if t, ok := v.(parkade.Timestamp); ok {
		return strconv.FormatInt(int64(t), 10)
	}
	if s, ok := jsonValue(v).(string); ok {
		return s
	}
	return headerText(v)
}

// typeable reports whether a form gives s back as it is.
func typeable(s string) bool {
	return utf8.ValidString(s) && readable(s) && !strings.ContainsRune(s, '\r')
}

// fieldValue reads a header out of a form. at names it in an error.
func fieldValue(f views.EditField, at string) (any, error) {
	text := f.Value
	if f.Type != parkade.LongStr.String() {
		text = strings.TrimSpace(text)
	}
	switch f.Type {
	case encodedText, parkade.Bytes.String():
		b, err := base64.StdEncoding.DecodeString(noSpace(text))
		if err != nil {
			return nil, parkade.Errorf(parkade.Invalid, "The header %s is no Base64.", f.Name).At(at).Because(err)
		}
		if f.Type == encodedText {
			return string(b), nil
		}
		return b, nil
	case parkade.Bool.String(), parkade.Void.String(), parkade.Array.String(), parkade.TableT.String():
		return readTyped(f.Type, json.RawMessage(text), at, 0)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	raw := json.RawMessage(quoted)
	if f.Type == parkade.Float.String() || f.Type == parkade.Double.String() {
		raw = json.RawMessage(text)
		switch text {
		case "NaN", "Infinity", "-Infinity":
			raw = quoted
		}
	}
	v, err := readTyped(f.Type, raw, at, 0)
	if err != nil {
		return nil, parkade.Errorf(parkade.Invalid, "The header %s: %s isn't possible as %s.", f.Name, clip(text, quotedBytes), f.Type).At(at).Because(err)
	}
	return v, nil
}

// typedHeaders reads the headers of a form that starts from was. A row that is as
// it was written out is the header that it was, which may hold more than can be
// typed, such as the kind of a NaN. Rows without a name, and those to be taken out,
// are left out. A header that has no row stays.
func typedHeaders(rows []views.EditField, was parkade.Table) (parkade.Table, error) {
	var t parkade.Table
	shown := make(map[string]bool, len(rows))
	for i, row := range rows {
		shown[row.Was] = true
		if row.Remove || row.Name == "" && row.Value == "" {
			continue
		}
		n := strconv.Itoa(i)
		f, err := typedHeader(row, was, "value_"+n)
		if err != nil {
			return nil, err
		}
		switch _, twice := t.Get(f.Name); {
		case f.Name == "":
			return nil, parkade.Errorf(parkade.Invalid, "A header has a value and no name.").At("name_" + n)
		case twice:
			return nil, parkade.Errorf(parkade.Invalid, "There are two headers %s.", f.Name).At("name_" + n)
		case len(f.Name) > math.MaxUint8:
			return nil, parkade.Errorf(parkade.Invalid, "The name of a header has %d bytes; at most 255 are possible.", len(f.Name)).At("name_" + n)
		}
		t = t.With(f.Name, f.Value)
	}
	for i, f := range was {
		if _, there := t.Get(f.Name); !there && !shown[strconv.Itoa(i)] {
			t = t.With(f.Name, f.Value)
		}
	}
	return t, nil
}

// typedHeader reads one row.
func typedHeader(row views.EditField, was parkade.Table, at string) (parkade.Field, error) {
	f := parkade.Field{Name: row.Name}
	if i, err := strconv.Atoi(row.Was); err == nil && i >= 0 && i < len(was) {
		wrote := fieldOf(was[i])
		if row.Name == wrote.Name {
			f.Name = was[i].Name
		}
		if row.Type == wrote.Type && row.Value == wrote.Value {
			f.Value = was[i].Value
			return f, nil
		}
	}
	var err error
	f.Value, err = fieldValue(row, at)
	return f, err
}

// printable is a name as an input holds it.
func printable(name string) string {
	return strings.NewReplacer("\r", "", "\n", "").Replace(strings.ToValidUTF8(name, "\uFFFD"))
}
