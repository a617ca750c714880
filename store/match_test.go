package store_test

import (
	"fmt"
	"testing"
	"time"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// drained is a queue whose drain is lost and started again by a test.
type drained struct {
	t       *testing.T
	s       *store.Store
	source  parkade.SourceID
	session parkade.Session
	now     time.Time
}

func drain(t *testing.T, typ, version string, returnsFirst bool) *drained {
	t.Helper()
	d := &drained{t: t, now: time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)}
	d.s = storetest.Open(t, store.Options{Clock: func() time.Time { return d.now }})
	var err error
	if d.source, err = d.s.Source(t.Context(), storetest.Queue()); err != nil {
		t.Fatal(err)
	}
	if err := d.s.DescribeSource(t.Context(), d.source, typ, version, returnsFirst); err != nil {
		t.Fatal(err)
	}
	d.begin(true)
	return d
}

// begin starts a session, after the last one was lost unless it ended.
func (d *drained) begin(up bool) {
	d.t.Helper()
	var err error
	if d.session, err = d.s.BeginSession(d.t.Context(), d.source, up, 10*time.Second); err != nil {
		d.t.Fatal(err)
	}
}

// park stores a batch before its session's fence is over, or after it.
func (d *drained) park(fenceOK bool, deliveries ...parkade.Delivery) parkade.ParkedBatch {
	d.t.Helper()
	parked, err := d.s.Park(d.t.Context(), d.session, parkade.Batch{Deliveries: deliveries, FenceOK: fenceOK})
	if err != nil {
		d.t.Fatal(err)
	}
	return parked
}

func (d *drained) prove() {
	d.t.Helper()
	if err := d.s.Prove(d.t.Context(), d.session); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drained) want(got parkade.ParkedBatch, rows, seen, copies int64) {
	d.t.Helper()
	if got.New != rows || got.Seen != seen || got.Copies != copies {
		d.t.Errorf("%d new, %d seen again, %d possible copies; want %d, %d, %d", got.New, got.Seen, got.Copies, rows, seen, copies)
	}
}

// again is d as the queue hands it out a second time.
func again(d parkade.Delivery) parkade.Delivery {
	d.Redelivered = true
	return d
}

// counted is d as a quorum queue hands it out for the n-th time again.
func counted(d parkade.Delivery, n int64) parkade.Delivery {
	d.Headers = d.Headers.With(parkade.DeliveryCount, n)
	return again(d)
}

// plain is a message that no queue has failed.
func plain(id, body string) parkade.Delivery {
	d := storetest.Delivery(id, body)
	d.Headers = nil
	return d
}

func TestARedeliveredMessageIsRecognisedOrMarked(t *testing.T) {
	t.Parallel()
	died := storetest.Delivery
	for _, c := range []struct {
		when               string
		typ, version       string
		unordered, strict  bool // returns_first off; strict
		fenced, first, ack bool // before the fence; the first was redelivered; its ack was proven
		rebooted           bool // the broker may have restarted
		message            parkade.Delivery
		comes              parkade.Delivery
		rows, seen, copies int64
	}{
		{when: "with an id", message: plain("a", "x"), comes: again(plain("a", "x")), seen: 1},
		{when: "with an id, within the fence", fenced: true, message: plain("a", "x"), comes: again(plain("a", "x")), seen: 1},
		{when: "with an id, on a queue with priorities", unordered: true, message: plain("a", "x"), comes: again(plain("a", "x")), seen: 1},
		{when: "with an id and another body", message: plain("a", "x"), comes: again(plain("a", "y")), rows: 1},
		{when: "without an id, certain", message: plain("", "x"), comes: again(plain("", "x")), seen: 1},
		{when: "without an id, within the fence", fenced: true, message: plain("", "x"), comes: again(plain("", "x")), rows: 1, copies: 1},
		{when: "without an id, of a batch that ended with a returned one", first: true, message: plain("", "x"), comes: again(plain("", "x")), rows: 1, copies: 1},
		{when: "without an id, on a queue with priorities", unordered: true, message: plain("", "x"), comes: again(plain("", "x")), rows: 1, copies: 1},
		{when: "without an id, strict", strict: true, message: plain("", "x"), comes: again(plain("", "x")), rows: 1, copies: 1},
		{when: "without an id, dead-lettered, 3.13", message: died("", "x"), comes: again(died("", "x")), seen: 1},
		{when: "without an id, dead-lettered, 4.0", version: "4.0.5", message: died("", "x"), comes: again(died("", "x")), rows: 1, copies: 1},
		{when: "without an id, not dead-lettered, 4.3", version: "4.3.6", message: plain("", "x"), comes: again(plain("", "x")), seen: 1},
		{when: "without an id, of a broker that didn't tell its version", version: "?", message: died("", "x"), comes: again(died("", "x")), rows: 1, copies: 1},
		{when: "not redelivered", message: plain("a", "x"), comes: plain("a", "x"), rows: 1},
		{when: "after its ack was proven", ack: true, message: plain("a", "x"), comes: again(plain("a", "x")), rows: 1},
		{when: "with an id, after its ack was proven on a quorum queue", typ: "quorum", ack: true, message: plain("a", "x"), comes: counted(plain("a", "x"), 1), seen: 1},
		{when: "without an id, after its ack was proven on a quorum queue", typ: "quorum", ack: true, message: plain("", "x"), comes: counted(plain("", "x"), 1), rows: 1, copies: 1},
		{when: "with an id, after the broker was killed", ack: true, rebooted: true, message: plain("a", "x"), comes: again(plain("a", "x")), seen: 1},
		{when: "without an id, after the broker was killed", ack: true, rebooted: true, message: plain("", "x"), comes: again(plain("", "x")), rows: 1, copies: 1},
		{when: "with the queue's own counts changed", typ: "quorum", message: plain("", "x"), comes: counted(plain("", "x"), 1), seen: 1},
	} {
		t.Run(c.when, func(t *testing.T) {
			t.Parallel()
			typ, version := c.typ, c.version
			if typ == "" {
				typ = "classic"
			}
			if version == "" {
				version = "3.13.7"
			}
			d := drain(t, typ, version, !c.unordered)
			if c.strict {
				setStrict(t, d.s)
			}
			m := c.message
			m.Redelivered = c.first
			d.park(!c.fenced, m)
			if c.ack {
				d.prove()
			}
			d.begin(!c.rebooted)
			d.want(d.park(true, c.comes), c.rows, c.seen, c.copies)
		})
	}
}

func TestIdenticalMessagesStayOneRowEach(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"classic", "quorum"} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			d := drain(t, typ, "4.3.6", true)
			d.park(true, plain("", "x"), plain("", "x"))
			d.begin(true)
			// Both come back, and with them one that never got here.
			d.want(d.park(false, counted(plain("", "x"), 1), counted(plain("", "x"), 1), counted(plain("", "x"), 1), plain("", "x")), 2, 2, 0)
			if n, _, err := d.s.Count(t.Context(), parkade.Filter{}, 0); n != 4 || err != nil {
				t.Errorf("%d rows, %v", n, err)
			}
		})
	}
}

func TestARowExplainsOneCopyOnly(t *testing.T) {
	t.Parallel()
	d := drain(t, "classic", "3.13.7", false)
	d.park(true, plain("", "x"))
	d.begin(true)
	d.want(d.park(false, again(plain("", "x")), again(plain("", "x"))), 2, 0, 1)
	ms, _, err := d.s.Messages(t.Context(), parkade.Filter{Copies: true}, parkade.Page{Limit: 9})
	if err != nil || len(ms) != 1 || ms[0].CopyOf != 1 {
		t.Errorf("possible copies: %+v, %v", ms, err)
	}
}

func TestASecondLossFindsARecognisedRowWhereItMoved(t *testing.T) {
	t.Parallel()
	d := drain(t, "classic", "3.13.7", true)
	d.park(true, plain("a", "x"))
	for range 3 {
		d.begin(true)
		d.want(d.park(false, again(plain("a", "x"))), 0, 1, 0)
	}
	m, err := d.s.Message(t.Context(), 1)
	if err != nil || m.SeenAgain != 3 {
		t.Errorf("seen again %d times, %v", m.SeenAgain, err)
	}
}

func TestAfterACertainBatchAnIDProvesNothing(t *testing.T) {
	t.Parallel()
	d := drain(t, "classic", "3.13.7", true)
	d.park(true, plain("a", "x"))
	d.begin(true)
	d.park(true, plain("b", "y")) // certain: all that was returned has come before it
	d.prove()
	d.want(d.park(true, again(plain("a", "x"))), 1, 0, 1)
}

func TestAQuorumQueueMayHandOutAgainWithinASession(t *testing.T) {
	t.Parallel()
	d := drain(t, "quorum", "4.3.6", true)
	d.park(true, plain("a", "x"), plain("", "y"))
	d.prove()
	d.want(d.park(true, counted(plain("a", "x"), 1), counted(plain("", "y"), 1)), 1, 1, 1)
	d.prove()
	d.want(d.park(true, counted(plain("a", "x"), 1), counted(plain("a", "x"), 2)), 1, 1, 0)
}

func TestALossOutsideTheAckWindowMakesNothingCertain(t *testing.T) {
	t.Parallel()
	d := drain(t, "classic", "3.13.7", true)
	d.park(true, plain("", "x")) // lost between its commit and its proof
	d.begin(true)                // lost too, with no batch of its own
	d.begin(true)
	d.want(d.park(false, again(plain("", "x"))), 1, 0, 1)
}

func TestTheFenceFollowsALostSession(t *testing.T) {
	t.Parallel()
	d := drain(t, "classic", "3.13.7", true)
	if !d.session.FenceUntil.IsZero() {
		t.Errorf("the first session has a fence until %v", d.session.FenceUntil)
	}
	d.begin(true)
	if want := d.now.Add(40 * time.Second); !d.session.FenceUntil.Equal(want) {
		t.Errorf("after a loss the fence ends at %v, want %v", d.session.FenceUntil, want)
	}
	fence := d.session.FenceUntil
	if err := d.s.EndSession(t.Context(), d.session); err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(time.Second)
	d.begin(true)
	if !d.session.FenceUntil.Equal(fence) {
		t.Errorf("after a clean end the fence ends at %v, want %v", d.session.FenceUntil, fence)
	}
}

func TestAProvenBatchIsOverAfterAMinuteOfAnswers(t *testing.T) {
	t.Parallel()
	d := drain(t, "classic", "3.13.7", true)
	d.park(true, plain("a", "x"))
	d.prove()
	d.now = d.now.Add(61 * time.Second)
	d.prove()
	d.begin(false)
	d.want(d.park(true, again(plain("a", "x"))), 1, 0, 0)
}

func TestASessionThatIsOverParksNothing(t *testing.T) {
	t.Parallel()
	d := drain(t, "classic", "3.13.7", true)
	old := d.session
	d.begin(true)
	if _, err := d.s.Park(t.Context(), old, parkade.Batch{Deliveries: []parkade.Delivery{plain("a", "x")}}); err == nil {
		t.Error("an old session parked a batch")
	}
	d.park(true, plain("a", "x"))
	if err := d.s.EndSession(t.Context(), d.session); err == nil {
		t.Error("a session ended clean with an unproven batch")
	}
}

// On a quorum queue whose messages all come marked as redelivered no batch is ever
// certain; what an older session stored is recognised for a while all the same, then
// marked, then forgotten.
func TestAnOlderSessionsRowsExplainLessAsTimeGoesBy(t *testing.T) {
	t.Parallel()
	d := drain(t, "quorum", "4.3.6", true)
	var first []parkade.Delivery
	for _, id := range []string{"a", "b", "c"} {
		first = append(first, plain(id, "x"))
	}
	d.park(true, first...)
	d.prove()
	d.begin(true)
	other := func(n int64) parkade.Delivery { return counted(plain(fmt.Sprint("other ", n), "y"), n) }
	d.want(d.park(true, counted(first[0], 1), other(1)), 1, 1, 0)
	d.prove()
	d.now = d.now.Add(11 * time.Minute)
	d.park(true, other(2))
	d.prove()
	d.want(d.park(true, counted(first[1], 1), other(3)), 2, 0, 1)
	d.prove()
	d.now = d.now.Add(25 * time.Hour)
	d.park(true, other(4))
	d.prove()
	d.want(d.park(true, counted(first[2], 1)), 1, 0, 0)
}
