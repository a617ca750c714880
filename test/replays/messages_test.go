package replays

import (
	"bytes"
	"compress/gzip"
	"slices"
	"time"
	"unicode/utf16"

	amqp "github.com/rabbitmq/amqp091-go"
	"pgregory.net/rapid"

	"parkade"
)

// messages draws whatever a client can park: every property present or not, and
// headers of every AMQP type. Only who publishes can be its user id.
func messages(login string) *rapid.Generator[parkable] {
	return rapid.Custom(func(t *rapid.T) parkable {
		m := amqp.Publishing{
			Headers:     headers().Draw(t, "headers"),
			ContentType: text().Draw(t, "content type"), ContentEncoding: text().Draw(t, "content encoding"),
			DeliveryMode: rapid.Uint8Range(0, 2).Draw(t, "delivery mode"), Priority: rapid.Uint8().Draw(t, "priority"),
			CorrelationId: text().Draw(t, "correlation id"), ReplyTo: text().Draw(t, "reply to"),
			Expiration: rapid.SampledFrom([]string{"", "3600000"}).Draw(t, "expiration"),
			MessageId:  text().Draw(t, "message id"), Type: text().Draw(t, "type"), AppId: text().Draw(t, "app id"),
			UserId: rapid.SampledFrom([]string{"", login}).Draw(t, "user id"),
			Body:   bodies().Draw(t, "body"),
		}
		if rapid.Bool().Draw(t, "has a timestamp") {
			m.Timestamp = timestamps().Draw(t, "timestamp")
		}
		return parkable{m, rapid.IntRange(0, 9).Draw(t, "size") == 9}
	})
}

// parkable is a message whose body may be repeated up to a mebibyte, which a
// failing test had better not print.
type parkable struct {
	amqp.Publishing

	Big bool
}

// parked returns the messages as they are published.
func parked(all []parkable) []amqp.Publishing {
	out := make([]amqp.Publishing, len(all))
	for i, p := range all {
		out[i] = p.Publishing
		if p.Big && len(p.Body) > 0 {
			out[i].Body = bytes.Repeat(p.Body, 1<<20/len(p.Body))
		}
	}
	return out
}

// text draws what fits a short string: also what is no text, and often nothing.
func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.Just(""),
		rapid.StringN(0, 60, 255),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 255), func(b []byte) string { return string(b) }),
	)
}

func timestamps() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.OneOf(rapid.Int64(), rapid.Just(int64(0)), rapid.Just(int64(1_790_000_000_123))),
		func(n int64) time.Time { return time.Unix(n, 0) })
}

func bodies() *rapid.Generator[[]byte] {
	plain := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }))
	return rapid.OneOf(
		plain,
		rapid.Just[[]byte](nil),
		rapid.Map(rapid.String(), func(s string) []byte { return append([]byte("\xef\xbb\xbf"), s...) }), // UTF-8 with a byte order mark
		rapid.Map(rapid.String(), func(s string) []byte {
			b := []byte{0xff, 0xfe} // UTF-16, little end first
			for _, u := range utf16.Encode([]rune(s)) {
				b = append(b, byte(u), byte(u>>8))
			}
			return b
		}),
		rapid.Map(plain, func(b []byte) []byte {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			_, _ = w.Write(b)
			_ = w.Close()
			return out.Bytes()
		}),
	)
}

// headers draws a table in which the headers of the hygiene are common.
func headers() *rapid.Generator[amqp.Table] {
	return rapid.Custom(func(t *rapid.T) amqp.Table {
		table := tables(3).Draw(t, "table")
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Concat(stripped, kept)), 0, 6, rapid.ID).Draw(t, "names") {
			table[name] = values(2).Draw(t, name)
			if name == "CC" { // the broker reads it
				table[name] = []any{"nowhere", "else"}
			}
		}
		delete(table, number)
		delete(table, parkade.ReplayIDHeader)
		return table
	})
}

func tables(depth int) *rapid.Generator[amqp.Table] {
	names := rapid.OneOf(rapid.StringN(0, 20, 60), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) }))
	return rapid.Map(rapid.MapOfN(names, values(depth), 0, 5), func(m map[string]any) amqp.Table { return m })
}

// values draws a field of any type that the client library can write.
func values(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Bool().AsAny(), rapid.Int8().AsAny(), rapid.Uint8().AsAny(), rapid.Int16().AsAny(), rapid.Uint16().AsAny(),
		rapid.Int32().AsAny(), rapid.Uint32().AsAny(), rapid.Int64().AsAny(), rapid.Float32().AsAny(), rapid.Float64().AsAny(),
		rapid.String().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Just[any](nil), timestamps().AsAny(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) any { return string(b) }),
		rapid.Custom(func(t *rapid.T) any {
			return amqp.Decimal{Scale: rapid.Uint8().Draw(t, "scale"), Value: rapid.Int32().Draw(t, "value")}
		}),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.Map(tables(depth-1), func(v amqp.Table) any { return v }),
			rapid.Map(rapid.SliceOfN(values(depth-1), 0, 4), func(v []any) any { return v }))
	}
	return rapid.OneOf(kinds...)
}
