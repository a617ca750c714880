package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parkade"
	"parkade/store/storetest"
)

// named adds headers that name an origin.
func named(d parkade.Delivery) parkade.Delivery {
	d.Headers = d.Headers.With("x-original-exchange", "named").With("x-original-routingKey", "created")
	return d
}

func TestHeadersTellTheOriginWhereNothingBetterDoes(t *testing.T) {
	t.Parallel()
	named1 := &parkade.Origin{Exchange: "named", RoutingKey: "created"}
	died := storetest.Delivery("a", "x") // with deaths
	s := storetest.Open(t)
	storetest.Park(t, s, storetest.Queue(), died)
	before, err := s.Message(t.Context(), 1)
	if err != nil || before.Origin == nil {
		t.Fatal(before.Origin, err)
	}
	stamp := sendOnce(t, s, parkade.Confirmed, parkade.Replay)
	for _, c := range []struct {
		when string
		d    parkade.Delivery
		want *parkade.Origin
	}{
		{"nothing else tells", named(plain("b", "y")), named1},
		{"a stamp that was copied from another message", named(stamped(plain("c", "y"), stamp)), named1},
		{"an earlier round tells", named(stamped(plain("a", "x"), stamp)), before.Origin},
		{"deaths tell", named(storetest.Delivery("d", "y")), before.Origin},
	} {
		storetest.Park(t, s, storetest.Queue(), c.d)
		ms, _, err := s.Messages(t.Context(), parkade.Filter{}, parkade.Page{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, ms[0].Origin); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.when, d)
		}
	}
}
