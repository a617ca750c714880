package store_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// wrapped is an error message of EasyNetQ, as it arrives.
func wrapped(id string) parkade.Delivery {
	d := storetest.Delivery("of the wrapper", `{"RoutingKey":"order.placed","Exchange":"shop","Queue":"billing","Exception":"no rate","Message":"inner",`+
		`"DateTime":"2026-08-09T14:23:08Z","BasicProperties":{"MessageId":"`+id+`","Type":"t","Headers":{"n":1}}}`)
	d.Headers = nil
	return d
}

func TestWhatIsInAWrapperIsSentUnlessAPersonSaysOtherwise(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := storetest.Park(t, s, storetest.Queue(), wrapped("a"), wrapped("b"), wrapped("c"), storetest.Delivery("plain", "{"))
	m := message(t, s, ids[0])
	if m.Wrapper != parkade.EasyNetQ || m.Sends() != parkade.Unwrapped || m.Exception != "no rate" ||
		m.Origin == nil || *m.Origin != (parkade.Origin{Exchange: "shop", RoutingKey: "order.placed", Queue: "billing"}) {
		t.Errorf("it is parked as %+v of %+v", m, m.Origin)
	}
	if m := message(t, s, ids[3]); m.Wrapper != "" || m.Sends() != parkade.Arrived {
		t.Errorf("a plain one is %q", m.Wrapper)
	}
	all, err := s.Versions(t.Context(), ids[0])
	if err != nil || len(all) != 2 || all[1].Version != parkade.Unwrapped || all[1].Size != 5 || all[0].Version != parkade.Arrived {
		t.Errorf("its versions are %+v, %v", all, err)
	}
	for i, c := range []struct {
		sends *int64
		want  string
	}{{nil, "inner"}, {new(int64(1)), string(wrapped("b").Body)}, {new(int64(0)), "inner"}} {
		n := replayOf(t, s, ids[i])
		n.Items[0].Sends = c.sends
		op := create(t, s, n)
		sent := sendOne(t, s, op.ID)
		if string(sent.Draft.Body) != c.want {
			t.Errorf("sent %q, want %q", sent.Draft.Body, c.want)
		}
		record(t, s, op.ID, results(parkade.Confirmed, []parkade.Send{sent})...)
		rs, err := s.Replays(t.Context(), ids[i])
		if err != nil || rs[0].SentHash != sha256.Sum256([]byte(c.want)) {
			t.Errorf("its receipt is %+v, %v", rs, err)
		}
	}
	wantSound(t, s)
}

// TestWhatCameOutOfAWrapperIsKnownAgain when it comes back as it was sent, and when
// it comes back in another wrapper, whose own id is of no account.
func TestWhatCameOutOfAWrapperIsKnownAgain(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ids := storetest.Park(t, s, storetest.Queue(), wrapped("a"))
	op := create(t, s, replayOf(t, s, ids[0]))
	sent := sendOne(t, s, op.ID)
	again := func(id string) parkade.MessageID {
		d := wrapped(id)
		d.Body = []byte(strings.Replace(string(d.Body), `"n":1`, `"n":1,"x-replay-id":"`+sent.Stamp+`"`, 1))
		return storetest.Park(t, s, storetest.Queue(), d)[0]
	}
	if parkade.Text(sent.Draft.Properties.MessageID) != "a" {
		t.Fatalf("sent with the id %v", sent.Draft.Properties.MessageID)
	}
	record(t, s, op.ID, results(parkade.Confirmed, []parkade.Send{sent})...)
	if m := message(t, s, comeBack(t, s, sent)); m.Previous != ids[0] || m.Round != 2 {
		t.Errorf("it is round %d of #%d", m.Round, m.Previous)
	}
	if m := message(t, s, again("a")); m.Previous != ids[0] || m.Round != 2 || m.CameFrom != sent.Replay {
		t.Errorf("wrapped again, it is round %d of #%d", m.Round, m.Previous)
	}
	if m := message(t, s, again("b")); m.Previous != 0 {
		t.Errorf("another message with its stamp is round %d of #%d", m.Round, m.Previous)
	}
}

func TestAnEditOfWhatIsInAWrapper(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := storetest.Park(t, s, storetest.Queue(), wrapped("a"))[0]
	base := version(t, s, id, parkade.Unwrapped)
	base.Draft.Body = []byte("mended")
	saved(t, s, store.NewEdit{Message: id, Seen: 1, Base: parkade.Unwrapped, By: "ann", Draft: base.Draft})
	if m := message(t, s, id); m.Sends() != 2 {
		t.Errorf("version %d is sent", m.Sends())
	}
	op := create(t, s, store.NewOperation{
		Verb: parkade.Replay, By: "ann", Filter: &parkade.Filter{}, Target: parkade.Target{To: parkade.ToQueue, Queue: "billing"},
	})
	if sent := sendOne(t, s, op.ID); string(sent.Draft.Body) != "mended" || parkade.Text(sent.Draft.Properties.Type) != "t" {
		t.Errorf("sent %q as %+v", sent.Draft.Body, sent.Draft.Properties)
	}
}

func TestAFilterSendsWhatIsInWrappersAndGivesBackWhatArrived(t *testing.T) {
	t.Parallel()
	for verb, want := range map[parkade.Verb]string{parkade.Replay: "inner", parkade.GiveBack: string(wrapped("a").Body)} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			storetest.Park(t, s, storetest.Queue(), wrapped("a"))
			op := create(t, s, store.NewOperation{
				Verb: verb, By: "ann", Filter: &parkade.Filter{}, Target: parkade.Target{To: parkade.ToQueue, Queue: "billing"},
			})
			if sent := sendOne(t, s, op.ID); string(sent.Draft.Body) != want {
				t.Errorf("sent %q", sent.Draft.Body)
			}
		})
	}
}
