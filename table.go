package parkade

import (
	"slices"
	"strings"
)

// Table is an AMQP 0-9-1 field table, sorted by name, each name once: the client
// library gives neither the order of the fields nor doubled names, so none is
// kept. Its values have the Go types that TypeOf lists.
type Table []Field

// Field is one named value of a table.
type Field struct {
	Name  string
	Value any
}

// Decimal is the AMQP decimal: Value divided by ten to the power of Scale.
type Decimal struct {
	Scale uint8
	Value int32
}

// Timestamp is the AMQP timestamp, in seconds since 1970. It is kept as a number
// because applications put milliseconds into it, which no calendar date holds.
type Timestamp int64

// List is an AMQP field array.
type List []any

// Type is an AMQP field type: the octet that stands before the value on the wire.
type Type byte

// The field types that the client library can read and write.
const (
	Bool      Type = 't' // bool
	Int8      Type = 'b' // int8
	Uint8     Type = 'B' // uint8
	Int16     Type = 's' // int16
	Uint16    Type = 'u' // uint16
	Int32     Type = 'I' // int32
	Uint32    Type = 'i' // uint32
	Int64     Type = 'l' // int64
	Float     Type = 'f' // float32
	Double    Type = 'd' // float64
	DecimalT  Type = 'D' // Decimal
	LongStr   Type = 'S' // string, any bytes
	Bytes     Type = 'x' // []byte
	Time      Type = 'T' // Timestamp
	Void      Type = 'V' // nil
	Array     Type = 'A' // List
	TableT    Type = 'F' // Table
	unknownTy Type = 0
)

//nolint:gochecknoglobals // a constant table
var typeNames = map[Type]string{
	Bool: "boolean", Int8: "int8", Uint8: "uint8", Int16: "int16", Uint16: "uint16",
	Int32: "int32", Uint32: "uint32", Int64: "int64", Float: "float", Double: "double",
	DecimalT: "decimal", LongStr: "longstr", Bytes: "bytes", Time: "timestamp",
	Void: "void", Array: "array", TableT: "table",
}

// String returns the name of t as pages and JSON show it.
func (t Type) String() string { return typeNames[t] }

// TypeOf returns the AMQP type of a table value, and false for a Go value that
// has none.
func TypeOf(v any) (Type, bool) {
	switch v.(type) {
	case bool:
		return Bool, true
	case int8:
		return Int8, true
	case uint8:
		return Uint8, true
	case int16:
		return Int16, true
	case uint16:
		return Uint16, true
	case int32:
		return Int32, true
	case uint32:
		return Uint32, true
	case int64:
		return Int64, true
	case float32:
		return Float, true
	case float64:
		return Double, true
	case Decimal:
		return DecimalT, true
	case string:
		return LongStr, true
	case []byte:
		return Bytes, true
	case Timestamp:
		return Time, true
	case nil:
		return Void, true
	case List:
		return Array, true
	case Table:
		return TableT, true
	}
	return unknownTy, false
}

// NewTable returns the fields sorted, as a table has to be. Of two fields with
// one name the later stays.
func NewTable(fields ...Field) Table {
	t := make(Table, 0, len(fields))
	for _, f := range fields {
		t = t.With(f.Name, f.Value)
	}
	return t
}

func (t Table) find(name string) (int, bool) {
	return slices.BinarySearchFunc(t, name, func(f Field, name string) int { return strings.Compare(f.Name, name) })
}

// Get returns the value called name.
func (t Table) Get(name string) (any, bool) {
	i, ok := t.find(name)
	if !ok {
		return nil, false
	}
	return t[i].Value, true
}

// Text returns the value called name if it is a string, else "".
func (t Table) Text(name string) string {
	v, _ := t.Get(name)
	s, _ := v.(string)
	return s
}

// Int returns the value called name if it is an integer of any width.
func (t Table) Int(name string) (int64, bool) {
	v, _ := t.Get(name)
	return Integer(v)
}

// Integer returns a table value as a number if it is an integer of any width.
func Integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int8:
		return int64(n), true
	case uint8:
		return int64(n), true
	case int16:
		return int64(n), true
	case uint16:
		return int64(n), true
	case int32:
		return int64(n), true
	case uint32:
		return int64(n), true
	case int64:
		return n, true
	}
	return 0, false
}

// With returns a copy of t in which name is v.
func (t Table) With(name string, v any) Table {
	i, ok := t.find(name)
	c := slices.Clone(t)
	if ok {
		c[i].Value = v
		return c
	}
	return slices.Insert(c, i, Field{name, v})
}

// Without returns a copy of t that lacks the named fields.
func (t Table) Without(names ...string) Table {
	return slices.DeleteFunc(slices.Clone(t), func(f Field) bool { return slices.Contains(names, f.Name) })
}
