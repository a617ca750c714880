package broker_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

func TestChecksRefuseWhatWouldHurtNeighbours(t *testing.T) {
	t.Parallel()
	limits := broker.Limits{Frame: 131072, Body: 1000}
	long := strings.Repeat("x", 256)
	deep := parkade.List{}
	for range 32 {
		deep = parkade.List{deep}
	}
	with := func(change func(*parkade.Draft)) parkade.Draft {
		d := draft("ex", "key", "body")
		change(&d)
		return d
	}
	header := func(name string, v any) parkade.Draft {
		return with(func(d *parkade.Draft) { d.Headers = d.Headers.With(name, v) })
	}
	for _, tt := range []struct {
		name  string
		draft parkade.Draft
		field string // "": it passes
		want  string
	}{
		{"plain", draft("ex", "key", "body"), "", ""},
		{"key of 255 bytes", draft("ex", long[1:], "body"), "", ""},
		{"key of 256 bytes", draft("ex", long, "body"), "routing_key", "256 bytes"},
		{"exchange of 256 bytes", draft(long, "key", "body"), "exchange", "256 bytes"},
		{"key that isn't UTF-8", draft("ex", "\xff", "body"), "", ""},
		{"long message id", with(func(d *parkade.Draft) { d.Properties.MessageID = &long }), "message_id", "256 bytes"},
		{"long header name", header(long, "v"), "headers", "256 bytes"},
		{"value without a type", header("a", 1), "headers", "no AMQP type"},
		{"expiration of ten years", with(func(d *parkade.Draft) { d.Properties.Expiration = new("315360000000") }), "", ""},
		{"longer expiration", with(func(d *parkade.Draft) { d.Properties.Expiration = new("315360000001") }), "expiration", "whole number"},
		{"expiration in words", with(func(d *parkade.Draft) { d.Properties.Expiration = new("1m") }), "expiration", "whole number"},
		{"negative expiration", with(func(d *parkade.Draft) { d.Properties.Expiration = new("-1") }), "expiration", "whole number"},
		{"CC is a text", header("CC", "key"), "headers", "CC"},
		{"CC holds numbers", header("CC", parkade.List{int32(1)}), "headers", "CC"},
		{"CC holds keys", header("CC", parkade.List{"a"}), "", ""},
		{"32 levels", header("a", deep[0]), "", ""},
		{"33 levels", header("a", deep), "headers", "32 levels"},
		{"a float", header("a", parkade.List{1.5, float32(0)}), "", ""},
		{"not a number", header("a", math.NaN()), "headers", "float NaN"},
		{"a short infinity, deep inside", header("a", parkade.List{parkade.Table{{Name: "b", Value: float32(math.Inf(-1))}}}), "headers", "float -Inf"},
		{"8193 entries", header("a", make(parkade.List, 8193)), "headers", "8193 entries"},
		{"headers almost a frame", header("a", strings.Repeat("x", 129000)), "", ""},
		{"headers of a frame", header("a", strings.Repeat("x", 130100)), "headers", "at most 130048"},
		{"body at the limit", draft("ex", "key", strings.Repeat("x", 1000)), "", ""},
		{"body over it", draft("ex", "key", strings.Repeat("x", 1001)), "body", "at most 1000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := broker.Check(tt.draft, limits)
			if tt.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*parkade.Error](err)
			if !ok || e.Field != tt.field || !strings.Contains(e.Message, tt.want) {
				t.Errorf("%v, want %q about %s", err, tt.want, tt.field)
			}
		})
	}
}

func TestLimitsFollowTheVersion(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		br := open(t, b)
		publisher(t, br, url)
		want := broker.Limits{Frame: 131072, Body: 128 << 20}
		if b.AtLeast(4, 0) {
			want.Body = 16 << 20
		}
		if got := br.Limits(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if br.MaxMessageSize() != want.Body {
			t.Error(br.MaxMessageSize())
		}
	})
}
