package parkade

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// maxDepth bounds how deep tables may nest. The client library stops at 32.
const maxDepth = 64

// AppendBinary appends t in the AMQP wire format, fields sorted by name: equal
// tables are equal bytes. It fails on a value that has no AMQP type and on a
// name longer than 255 bytes.
func (t Table) AppendBinary(b []byte) ([]byte, error) {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, f := range t {
		if len(f.Name) > math.MaxUint8 {
			return nil, fmt.Errorf("header name of %d bytes: at most 255 are possible", len(f.Name))
		}
		b = append(b, byte(len(f.Name))) //nolint:gosec // checked above
		b = append(b, f.Name...)
		var err error
		if b, err = appendValue(b, f.Value); err != nil {
			return nil, fmt.Errorf("header %q: %w", f.Name, err)
		}
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4)) //nolint:gosec // bounded by the frame size
	return b, nil
}

func appendValue(b []byte, v any) ([]byte, error) {
	t, ok := TypeOf(v)
	if !ok {
		return nil, fmt.Errorf("a %T has no AMQP type", v)
	}
	b = append(b, byte(t))
	be := binary.BigEndian
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case int8:
		return append(b, byte(v)), nil //nolint:gosec // same bits
	case uint8:
		return append(b, v), nil
	case int16:
		return be.AppendUint16(b, uint16(v)), nil //nolint:gosec // same bits
	case uint16:
		return be.AppendUint16(b, v), nil
	case int32:
		return be.AppendUint32(b, uint32(v)), nil //nolint:gosec // same bits
	case uint32:
		return be.AppendUint32(b, v), nil
	case int64:
		return be.AppendUint64(b, uint64(v)), nil //nolint:gosec // same bits
	case float32:
		return be.AppendUint32(b, math.Float32bits(v)), nil
	case float64:
		return be.AppendUint64(b, math.Float64bits(v)), nil
	case Decimal:
		return be.AppendUint32(append(b, v.Scale), uint32(v.Value)), nil //nolint:gosec // same bits
	case string:
		return append(be.AppendUint32(b, uint32(len(v))), v...), nil //nolint:gosec // bounded by the frame size
	case []byte:
		return append(be.AppendUint32(b, uint32(len(v))), v...), nil //nolint:gosec // bounded by the frame size
	case Timestamp:
		return be.AppendUint64(b, uint64(v)), nil //nolint:gosec // same bits
	case List:
		return appendList(b, v)
	case Table:
		return v.AppendBinary(b)
	}
	return b, nil // void
}

func appendList(b []byte, l List) ([]byte, error) {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, v := range l {
		var err error
		if b, err = appendValue(b, v); err != nil {
			return nil, err
		}
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4)) //nolint:gosec // bounded by the frame size
	return b, nil
}

// ParseTable is the inverse of AppendBinary.
func ParseTable(b []byte) (Table, error) {
	r := wire{b: b}
	t := r.table(0)
	if r.err == nil && len(r.b) > 0 {
		r.err = errTable
	}
	return t, r.err
}

var errTable = errors.New("malformed field table")

// wire reads the AMQP wire format; the first fault sticks.
type wire struct {
	b   []byte
	err error
}

func (r *wire) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.fail()
		return make([]byte, max(0, min(n, 8)))
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

func (r *wire) fail() {
	if r.err == nil {
		r.err = errTable
	}
	r.b = nil
}

func (r *wire) u8() uint8   { return r.take(1)[0] }
func (r *wire) u16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *wire) u32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *wire) u64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

func (r *wire) short() string { return string(r.take(int(r.u8()))) }

func (r *wire) long() []byte {
	n := int(r.u32())
	if n > len(r.b) {
		r.fail()
		return nil
	}
	return r.take(n)
}

func (r *wire) table(depth int) Table {
	in := wire{b: r.long(), err: r.err}
	if depth > maxDepth {
		in.fail()
	}
	t := Table{}
	for in.err == nil && len(in.b) > 0 {
		name := in.short()
		t = append(t, Field{name, in.value(depth)})
	}
	if in.err != nil || !slices.IsSortedFunc(t, func(a, b Field) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) {
		r.fail()
		return nil
	}
	return t
}

func (r *wire) value(depth int) any {
	switch Type(r.u8()) {
	case Bool:
		return r.u8() != 0
	case Int8:
		return int8(r.u8()) //nolint:gosec // same bits
	case Uint8:
		return r.u8()
	case Int16:
		return int16(r.u16()) //nolint:gosec // same bits
	case Uint16:
		return r.u16()
	case Int32:
		return int32(r.u32()) //nolint:gosec // same bits
	case Uint32:
		return r.u32()
	case Int64:
		return int64(r.u64()) //nolint:gosec // same bits
	case Float:
		return math.Float32frombits(r.u32())
	case Double:
		return math.Float64frombits(r.u64())
	case DecimalT:
		scale := r.u8()
		return Decimal{scale, int32(r.u32())} //nolint:gosec // same bits
	case LongStr:
		return string(r.long())
	case Bytes:
		return append([]byte{}, r.long()...)
	case Time:
		return Timestamp(r.u64()) //nolint:gosec // same bits
	case Void:
		return nil
	case Array:
		return r.list(depth + 1)
	case TableT:
		return r.table(depth + 1)
	case unknownTy:
	}
	r.fail()
	return nil
}

func (r *wire) list(depth int) List {
	in := wire{b: r.long(), err: r.err}
	if depth > maxDepth {
		in.fail()
	}
	l := List{}
	for in.err == nil && len(in.b) > 0 {
		l = append(l, in.value(depth))
	}
	if in.err != nil {
		r.fail()
		return nil
	}
	return l
}
