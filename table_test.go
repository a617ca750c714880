package parkade_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parkade"
)

// someValue draws a table value of any type, nested at most depth deep.
func someValue(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Bool().AsAny(), rapid.Int8().AsAny(), rapid.Uint8().AsAny(), rapid.Int16().AsAny(), rapid.Uint16().AsAny(),
		rapid.Int32().AsAny(), rapid.Uint32().AsAny(), rapid.Int64().AsAny(), rapid.Float32().AsAny(), rapid.Float64().AsAny(),
		rapid.String().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Just[any](nil),
		rapid.Map(rapid.Int64(), func(n int64) any { return parkade.Timestamp(n) }),
		rapid.Map(rapid.Int32(), func(n int32) any { return parkade.Decimal{Scale: uint8(n & 7), Value: n} }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) any { return string(b) }), // any bytes
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.Map(rapid.SliceOfN(someValue(depth-1), 0, 4), func(l []any) any { return append(parkade.List{}, l...) }),
			rapid.Map(someTable(depth-1), func(t parkade.Table) any { return t }))
	}
	return rapid.OneOf(kinds...)
}

func someTable(depth int) *rapid.Generator[parkade.Table] {
	return rapid.Custom(func(t *rapid.T) parkade.Table {
		table := parkade.Table{}
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			name := rapid.StringN(0, 40, 255).Draw(t, "name")
			table = table.With(name, someValue(depth).Draw(t, "value"))
		}
		return table
	})
}

func TestATableSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := someTable(3).Draw(t, "table")
		b, err := table.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parkade.ParseTable(b)
		if err != nil {
			t.Fatal(err)
		}
		// Compared as bytes, because NaN differs from itself.
		if again, err := back.AppendBinary(nil); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%v became %v, %v", table, back, err)
		}
	})
}

func FuzzParseTable(f *testing.F) {
	for _, table := range []parkade.Table{
		nil,
		parkade.NewTable(parkade.Field{Name: "a", Value: int64(1)}, parkade.Field{Name: "b", Value: parkade.List{nil, "x", parkade.NewTable()}}),
	} {
		b, err := table.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0, 0, 0, 4, 1, 'a', 'A', 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := parkade.ParseTable(b)
		if err != nil {
			return
		}
		first, err := table.AppendBinary(nil)
		if err != nil {
			t.Fatalf("%v was read but can't be written: %v", table, err)
		}
		again, err := parkade.ParseTable(first)
		if err != nil {
			t.Fatalf("%v was written but can't be read: %v", table, err)
		}
		if second, err := again.AppendBinary(nil); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%x became %x, %v", first, second, err)
		}
	})
}

func FuzzParseProperties(f *testing.F) {
	b, err := parkade.Properties{MessageID: new("m"), Priority: new(uint8(0)), Timestamp: new(parkade.Timestamp(-1))}.AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parkade.ParseProperties(b)
		if err != nil {
			return
		}
		first, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parkade.ParseProperties(first)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, again); d != "" {
			t.Fatal(d)
		}
	})
}

func TestPropertiesKeepWhichOfThemArePresent(t *testing.T) {
	t.Parallel()
	text := rapid.Ptr(rapid.StringN(0, 60, 255), true)
	rapid.Check(t, func(t *rapid.T) {
		p := parkade.Properties{
			ContentType: text.Draw(t, "content type"), ContentEncoding: text.Draw(t, "content encoding"),
			DeliveryMode: rapid.Ptr(rapid.Uint8(), true).Draw(t, "delivery mode"), Priority: rapid.Ptr(rapid.Uint8(), true).Draw(t, "priority"),
			CorrelationID: text.Draw(t, "correlation id"), ReplyTo: text.Draw(t, "reply to"), Expiration: text.Draw(t, "expiration"),
			MessageID: text.Draw(t, "message id"), Type: text.Draw(t, "type"), UserID: text.Draw(t, "user id"), AppID: text.Draw(t, "app id"),
			Timestamp: rapid.Ptr(rapid.Map(rapid.Int64(), func(n int64) parkade.Timestamp { return parkade.Timestamp(n) }), true).Draw(t, "timestamp"),
		}
		b, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parkade.ParseProperties(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, back); d != "" {
			t.Fatal(d)
		}
	})
}

func TestWhatAMQPCannotCarryIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for _, table := range []parkade.Table{
		{{Name: long, Value: "v"}},
		{{Name: "a", Value: 1}}, // an int has no width
		{{Name: "a", Value: parkade.List{struct{}{}}}},
	} {
		if b, err := table.AppendBinary(nil); err == nil {
			t.Errorf("%.20v was written as %x", table, b)
		}
	}
	if _, err := (parkade.Properties{MessageID: &long}).AppendBinary(nil); err == nil {
		t.Error("a property of 256 bytes was written")
	}
}

func TestAMalformedTableIsAnError(t *testing.T) {
	t.Parallel()
	deep := []byte("")
	for range 100 {
		deep = append([]byte{1, 'a', 'F', 0, 0, byte(len(deep) >> 8), byte(len(deep))}, deep...)
	}
	deep = append([]byte{0, 0, byte(len(deep) >> 8), byte(len(deep))}, deep...)
	for name, b := range map[string][]byte{
		"nothing":           {},
		"too short":         {0, 0, 0, 9, 1, 'a', 'V'},
		"a tail":            {0, 0, 0, 0, 7},
		"an unknown type":   {0, 0, 0, 3, 1, 'a', '?'},
		"names out of turn": {0, 0, 0, 6, 1, 'b', 'V', 1, 'a', 'V'},
		"a length of 4 GiB": {0xff, 0xff, 0xff, 0xff},
		"too deep":          deep,
	} {
		if table, err := parkade.ParseTable(b); err == nil {
			t.Errorf("%s was read as %v", name, table)
		}
	}
}

func TestTablesAreSortedAndLeaveTheirSourcesAlone(t *testing.T) {
	t.Parallel()
	a := parkade.NewTable(parkade.Field{Name: "b", Value: 2.5}, parkade.Field{Name: "a", Value: "x"}, parkade.Field{Name: "b", Value: uint16(7)})
	want := parkade.Table{{Name: "a", Value: "x"}, {Name: "b", Value: uint16(7)}}
	if d := cmp.Diff(want, a); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(parkade.Table{{Name: "a", Value: "y"}, {Name: "b", Value: uint16(7)}}, a.With("a", "y")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(parkade.Table{{Name: "b", Value: uint16(7)}}, a.Without("a", "c")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, a); d != "" {
		t.Errorf("With and Without changed their table: %s", d)
	}
	if n, ok := a.Int("b"); n != 7 || !ok {
		t.Errorf("b is %d, %v", n, ok)
	}
	for _, v := range []any{"7", 7.0, nil, true} {
		if n, ok := parkade.Integer(v); ok {
			t.Errorf("%v is the number %d", v, n)
		}
	}
	if n, ok := parkade.Integer(int64(math.MinInt64)); n != math.MinInt64 || !ok {
		t.Errorf("the least number is %d, %v", n, ok)
	}
}

func TestAFingerprintIgnoresOnlyWhatRedeliveryChanges(t *testing.T) {
	t.Parallel()
	base := parkade.Delivery{Body: []byte("body")}
	base.Exchange, base.RoutingKey = "e", "k"
	base.Headers = parkade.NewTable(parkade.Field{Name: "h", Value: int32(1)}, parkade.Field{Name: parkade.DeliveryCount, Value: int64(1)})
	hash := func(change func(*parkade.Delivery)) [32]byte {
		d := base
		change(&d)
		e, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return e.Fingerprint
	}
	same := hash(func(*parkade.Delivery) {})
	for name, change := range map[string]func(*parkade.Delivery){
		"redelivered":    func(d *parkade.Delivery) { d.Redelivered = true },
		"delivery count": func(d *parkade.Delivery) { d.Headers = d.Headers.With(parkade.DeliveryCount, int64(9)) },
		"no count":       func(d *parkade.Delivery) { d.Headers = d.Headers.Without(parkade.DeliveryCount) },
		"acquired count": func(d *parkade.Delivery) { d.Headers = d.Headers.With(parkade.AcquiredCount, int64(9)) },
	} {
		if hash(change) != same {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	seen := map[[32]byte]string{same: "nothing"}
	for name, change := range map[string]func(*parkade.Delivery){
		"body":                  func(d *parkade.Delivery) { d.Body = []byte("bodyy") },
		"exchange":              func(d *parkade.Delivery) { d.Exchange = "ek"; d.RoutingKey = "" },
		"key":                   func(d *parkade.Delivery) { d.RoutingKey = "kk" },
		"type of a header":      func(d *parkade.Delivery) { d.Headers = d.Headers.With("h", int64(1)) },
		"a header":              func(d *parkade.Delivery) { d.Headers = d.Headers.With("x-delivery-counts", int64(1)) },
		"an empty message id":   func(d *parkade.Delivery) { d.Properties.MessageID = new("") },
		"an empty content type": func(d *parkade.Delivery) { d.Properties.ContentType = new("") },
		"a count within a header": func(d *parkade.Delivery) {
			d.Headers = d.Headers.With("t", parkade.NewTable(parkade.Field{Name: parkade.DeliveryCount, Value: int64(1)}))
		},
	} {
		fp := hash(change)
		if other, ok := seen[fp]; ok {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[fp] = name
	}
}

func TestTheBrokersCountIsReadOnRedeliveryOnly(t *testing.T) {
	t.Parallel()
	var d parkade.Delivery
	d.Headers = parkade.NewTable(parkade.Field{Name: parkade.DeliveryCount, Value: int64(3)})
	if n := d.BrokerCount(); n != 0 {
		t.Errorf("a copied header counts %d at the first delivery", n)
	}
	d.Redelivered = true
	if n := d.BrokerCount(); n != 3 {
		t.Errorf("delivery count %d", n)
	}
	d.Headers = d.Headers.With(parkade.AcquiredCount, int64(5))
	if n := d.BrokerCount(); n != 5 {
		t.Errorf("acquired count %d", n)
	}
	if d.Identified() {
		t.Error("a message without an id is identified")
	}
	d.Headers = d.Headers.With(parkade.ReplayIDHeader, "x")
	if !d.Identified() {
		t.Error("a stamped message isn't identified")
	}
}
