package broker_test

import (
	"strings"
	"testing"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

func TestALimitThatARefusalNamesIsKnownFromThenOn(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	if !b.AtLeast(4, 0) {
		t.Skip("the default limit of this version is too large to go over")
	}
	url := brokertest.Vhost(t, b)
	brokertest.Queue(t, url, brokertest.Classic, "orders", nil)
	br := open(t, b, func(c *broker.Config) { c.MaxMessageSize = 1 << 30 })
	large := draft("", "orders", "")
	large.Body = make([]byte, 16<<20+1)
	fits := draft("", "orders", "")
	fits.Body = make([]byte, 200_000)

	if !broker.Risky(fits, br.Limits()) {
		t.Error("a body longer than any before isn't sent alone")
	}
	p := publisher(t, br, url)
	wantResult(t, one(t, p, fits), parkade.Confirmed, "")
	if l := br.Limits(); l.Taken != 200_000 || broker.Risky(fits, l) {
		t.Errorf("after one was taken: %+v", l)
	}
	wantResult(t, one(t, p, large), parkade.Refused, "larger than")
	if l := br.Limits(); l.Body != 16<<20 || l.Taken != 200_000 {
		t.Errorf("after one was refused: %+v", l)
	}
	err := publisher(t, br, url).Send(send(2, large))
	if err == nil || !strings.Contains(err.Error(), "takes at most 16777216") {
		t.Errorf("the next one: %v", err)
	}
}
