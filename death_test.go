package parkade_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parkade"
)

// died is an x-death entry.
func died(queue, reason string, count int64, exchange string, keys ...any) parkade.Table {
	return parkade.NewTable(
		parkade.Field{Name: "queue", Value: queue}, parkade.Field{Name: "reason", Value: reason}, parkade.Field{Name: "count", Value: count},
		parkade.Field{Name: "exchange", Value: exchange}, parkade.Field{Name: "routing-keys", Value: append(parkade.List{}, keys...)},
		parkade.Field{Name: "time", Value: parkade.Timestamp(1_790_000_000)})
}

func headers(name string, value any) parkade.Table {
	return parkade.NewTable(parkade.Field{Name: name, Value: value})
}

func TestDeathsAreReadAsFarAsTheyAreDeaths(t *testing.T) {
	t.Parallel()
	got := parkade.Deaths(headers("x-death", parkade.List{"no table", died("q", parkade.Rejected, 2, "e", "k", int64(7), "l"), parkade.NewTable()}))
	want := []parkade.Death{
		{Queue: "q", Reason: parkade.Rejected, Count: 2, Exchange: "e", RoutingKeys: []string{"k", "l"}, FirstAt: 1_790_000_000},
		{},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !got[0].At().Equal(time.Unix(1_790_000_000, 0)) || got[0].Key() != "k" || got[1].Key() != "" {
		t.Errorf("at %v with key %q", got[0].At(), got[0].Key())
	}
	for _, h := range []parkade.Table{nil, headers("x-death", "text"), headers("x-death", parkade.NewTable()), headers("x-death", nil)} {
		if deaths := parkade.Deaths(h); len(deaths) != 0 {
			t.Errorf("%v has deaths %v", h, deaths)
		}
	}
}

func TestTheOriginIsThatOfTheNewestFailure(t *testing.T) {
	t.Parallel()
	wait := died("orders.wait", parkade.Expired, 3, "", "orders.wait")
	work := died("orders.work", parkade.Rejected, 4, "orders", "created")
	limit := died("orders.work", parkade.DeliveryLimit, 1, "orders", "created")
	for _, c := range []struct {
		when   string
		deaths parkade.List
		origin parkade.Origin
		known  bool
		reason string
	}{
		{"no deaths", nil, parkade.Origin{}, false, ""},
		{"rejected", parkade.List{work}, parkade.Origin{Exchange: "orders", RoutingKey: "created", Queue: "orders.work"}, true, parkade.Rejected},
		{"expired in the wait queue last", parkade.List{wait, work}, parkade.Origin{Exchange: "orders", RoutingKey: "created", Queue: "orders.work"}, true, parkade.Rejected},
		{"over the delivery limit", parkade.List{limit}, parkade.Origin{Exchange: "orders", RoutingKey: "created", Queue: "orders.work"}, true, parkade.DeliveryLimit},
		{"expired only", parkade.List{wait}, parkade.Origin{}, false, parkade.Expired},
		{"too many", parkade.List{died("q", parkade.MaxLength, 1, "e", "k")}, parkade.Origin{}, false, parkade.MaxLength},
		{"without a key", parkade.List{died("q", parkade.Rejected, 1, "e")}, parkade.Origin{Exchange: "e", Queue: "q"}, true, parkade.Rejected},
	} {
		deaths := parkade.Deaths(headers("x-death", c.deaths))
		origin, known := parkade.OriginOf(deaths)
		if origin != c.origin || known != c.known {
			t.Errorf("%s: origin %+v, %v", c.when, origin, known)
		}
		if reason := parkade.ReasonOf(deaths); reason != c.reason {
			t.Errorf("%s: reason %q", c.when, reason)
		}
	}
}

func TestAttemptsAreCountedByTheBestHeader(t *testing.T) {
	t.Parallel()
	deaths := parkade.List{
		died("wait", parkade.Expired, 9, "", "k"), died("work", parkade.Rejected, 4, "e", "k"),
		died("work", parkade.DeliveryLimit, 1, "e", "k"), died("other", parkade.Rejected, 50, "e", "k"),
	}
	for _, c := range []struct {
		when    string
		headers parkade.Table
		want    parkade.Attempts
	}{
		{"nothing tells", nil, parkade.Attempts{}},
		{"an attempt header", headers("x-death", deaths).With("x-retry-count", int32(2)), parkade.Attempts{Count: 2, From: "x-retry-count"}},
		{"an attempt header that is text", headers("x-death", deaths).With("x-attempt", "2"), parkade.Attempts{Count: 5, From: "x-death"}},
		{"deaths in the failed queue", headers("x-death", deaths), parkade.Attempts{Count: 5, From: "x-death"}},
		{"the queue's count", headers(parkade.DeliveryCount, int64(3)), parkade.Attempts{Count: 3, From: parkade.DeliveryCount}},
		{"deaths that are no failures", headers("x-death", deaths[:1]).With(parkade.DeliveryCount, int64(3)), parkade.Attempts{Count: 3, From: parkade.DeliveryCount}},
	} {
		if got := parkade.AttemptsOf(c.headers, parkade.Deaths(c.headers)); got != c.want {
			t.Errorf("%s: %+v", c.when, got)
		}
	}
}

func TestExceptionsAreOneShortLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		headers parkade.Table
		want    string
	}{
		{nil, ""},
		{headers("x-exception-type", "Timeout").With("x-exception-message", "no answer\nat line 3"), "Timeout: no answer"},
		{headers("MT-Fault-Message", "boom"), "boom"},
		{headers("cap-exception", "KeyError"), "KeyError"},
		{headers("x-exception-type", int64(7)), ""},
	} {
		if got := parkade.ExceptionOf(c.headers); got != c.want {
			t.Errorf("%v: %q, want %q", c.headers, got, c.want)
		}
	}
	for _, text := range []string{strings.Repeat("é", 400), strings.Repeat("x", 301), "a\xffb" + strings.Repeat("z", 400)} {
		got := parkade.ExceptionOf(headers("cap-exception", text))
		if len(got) > 300 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes, valid %v: %q", len(got), utf8.ValidString(got), got)
		}
	}
}
