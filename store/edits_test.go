package store_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"parkade"
	"parkade/store"
	"parkade/store/storetest"
)

// editOf makes another body of a message as it stands.
func editOf(t *testing.T, s *store.Store, id parkade.MessageID, by, body string) store.NewEdit {
	t.Helper()
	m := message(t, s, id)
	e := version(t, s, id, m.Version)
	e.Draft.Body = []byte(body)
	return store.NewEdit{Message: id, Seen: m.Version, Base: m.Version, By: by, Note: "by " + by, Draft: e.Draft}
}

func version(t *testing.T, s *store.Store, id parkade.MessageID, v int64) parkade.Edit {
	t.Helper()
	e, err := s.Version(t.Context(), id, v)
	if err != nil {
		t.Fatalf("version %d: %v", v, err)
	}
	return e
}

func saved(t *testing.T, s *store.Store, n store.NewEdit) parkade.Edit {
	t.Helper()
	e, err := s.SaveEdit(t.Context(), n)
	if err != nil {
		t.Fatalf("save: %v", err)
	}
	return e
}

func TestAnEditIsAVersionBesideWhatArrived(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Millisecond)
	s := storetest.Open(t, store.Options{Clock: func() time.Time { return now }})
	id := parkN(t, s, 1)[0]
	before := version(t, s, id, parkade.Arrived)
	n := editOf(t, s, id, "ann", "mended")
	n.Draft.Exchange, n.Draft.Headers = "elsewhere", n.Draft.Headers.With("x", int16(3)).Without("x-death")
	n.Draft.Properties.MessageID, n.Draft.Properties.Priority = nil, new(uint8(0))
	e := saved(t, s, n)
	want := parkade.Edit{
		Message: id, Version: 2, Base: 1, By: "ann", At: now, Note: "by ann", Draft: n.Draft, BodyHash: sha256.Sum256([]byte("mended")), Size: 6,
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, version(t, s, id, 2)); diff != "" {
		t.Errorf("read again: %s", diff)
	}
	if diff := cmp.Diff(before, version(t, s, id, parkade.Arrived)); diff != "" {
		t.Errorf("what arrived changed: %s", diff)
	}
	if m := message(t, s, id); m.Version != 2 || m.State != parkade.Parked {
		t.Errorf("the message is %s in version %d", m.State, m.Version)
	}
	all, err := s.Versions(t.Context(), id)
	if err != nil || len(all) != 2 || all[0].Version != 2 || all[1].Version != 1 || all[0].Draft.Body != nil || all[1].BodyHash != before.BodyHash {
		t.Errorf("the versions are %+v, %v", all, err)
	}
	actions, err := s.Actions(t.Context(), store.ActionFilter{Message: id}, 0, 10)
	if err != nil || len(actions) != 1 || actions[0].Verb != "edit" || actions[0].By != "ann" || actions[0].Detail != "version 2 of 1" {
		t.Errorf("the trail has %+v, %v", actions, err)
	}
	if _, err := s.Version(t.Context(), id, 3); err == nil {
		t.Error("there is a version 3")
	}
	if _, err := s.Version(t.Context(), id, parkade.Unwrapped); err == nil {
		t.Error("it was taken out of a wrapper that isn't there")
	}
}

func TestTheSecondEditorIsToldWhoWasFirst(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	mine, theirs := editOf(t, s, id, "ann", "mine"), editOf(t, s, id, "ben", "theirs")
	first := saved(t, s, theirs)
	_, err := s.SaveEdit(t.Context(), mine)
	wantConflict(t, err, "edited", "by ben", "version 2", "by ben", "Nothing was saved.")
	if again := saved(t, s, theirs); again.Version != first.Version || !again.At.Equal(first.At) {
		t.Errorf("a double click made version %d at %s", again.Version, again.At)
	}
	theirs.By = "eve"
	if _, err := s.SaveEdit(t.Context(), theirs); err == nil {
		t.Error("the same by somebody else is the same edit")
	}
	mine.Seen = 2 // having seen the difference
	if e := saved(t, s, mine); e.Version != 3 || e.Base != 1 {
		t.Errorf("it is version %d of %d", e.Version, e.Base)
	}
	mine.Seen, mine.Base = 3, 4
	if kind := saveKind(s.SaveEdit(t.Context(), mine)); kind != parkade.Invalid {
		t.Error("it is based on a version that doesn't exist")
	}
	mine.Base = parkade.Unwrapped
	if kind := saveKind(s.SaveEdit(t.Context(), mine)); kind != parkade.Invalid {
		t.Error("it is based on a wrapper that doesn't exist")
	}
	mine.Message = 99
	if kind := saveKind(s.SaveEdit(t.Context(), mine)); kind != parkade.NotFound {
		t.Error("a message that isn't there was edited")
	}
}

// saveKind is the kind of a failure, and -1 of a success.
func saveKind(_ parkade.Edit, err error) parkade.Kind {
	if err == nil {
		return -1
	}
	kind, _ := parkade.Explain(err)
	return kind
}

func TestOfManyEditorsAtOnceOneWins(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	base := editOf(t, s, id, "", "")
	var won [8]bool
	var all sync.WaitGroup
	for i := range won {
		n := base
		n.By, n.Draft.Body = string(rune('a'+i)), []byte{byte(i)}
		all.Go(func() {
			_, err := s.SaveEdit(t.Context(), n)
			won[i] = err == nil
		})
	}
	all.Wait()
	winners := 0
	for i := range won {
		if won[i] {
			winners++
			if e := version(t, s, id, 2); e.By != string(rune('a'+i)) || e.Draft.Body[0] != byte(i) {
				t.Errorf("%c won, and version 2 is by %s", 'a'+i, e.By)
			}
		}
	}
	if winners != 1 {
		t.Errorf("%d editors won", winners)
	}
}

func TestAMessageThatIsHeldCannotBeEdited(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	n := editOf(t, s, id, "ben", "late")
	op := create(t, s, replayOf(t, s, id))
	_, err := s.SaveEdit(t.Context(), n)
	wantConflict(t, err, "already in operation #"+op.ID.String(), "ann", "Nothing was saved.")
	other := replayOf(t, s, id)
	other.Edit = &n
	_, _, err = s.Create(t.Context(), other)
	wantConflict(t, err, "already in operation", "Nothing was saved or sent.")
	if all, _ := s.Versions(t.Context(), id); len(all) != 1 {
		t.Errorf("%d versions", len(all))
	}
}

func TestAnEditThatCannotBeWrittenNamesItsField(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	long := strings.Repeat("x", 256)
	for field, change := range map[string]func(*parkade.Draft){
		"exchange":    func(d *parkade.Draft) { d.Exchange = long },
		"routing_key": func(d *parkade.Draft) { d.RoutingKey = long },
		"properties":  func(d *parkade.Draft) { d.Properties.Type = &long },
		"headers":     func(d *parkade.Draft) { d.Headers = d.Headers.With(long, "") },
	} {
		n := editOf(t, s, id, "ann", "x")
		change(&n.Draft)
		_, err := s.SaveEdit(t.Context(), n)
		var e *parkade.Error
		if kind, _ := parkade.Explain(err); kind != parkade.Invalid || !asError(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if message(t, s, id).Version != 1 {
		t.Error("something was saved")
	}
}

// TestAnyDraftIsReadAsItWasSaved edits a message again and again to anything.
func TestAnyDraftIsReadAsItWasSaved(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id := parkN(t, s, 1)[0]
	rapid.Check(t, func(rt *rapid.T) {
		m := message(t, s, id)
		n := store.NewEdit{
			Message: id, Seen: m.Version, Base: rapid.Int64Range(1, m.Version).Draw(rt, "base"),
			By: rapid.String().Draw(rt, "by"), Note: rapid.String().Draw(rt, "note"), Draft: drafts().Draw(rt, "draft"),
		}
		e, err := s.SaveEdit(t.Context(), n)
		if err != nil {
			rt.Fatal(err)
		}
		got := version(t, s, id, m.Version+1)
		opts := cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateNaNs()}
		if diff := cmp.Diff(e, got, opts); diff != "" {
			rt.Error(diff)
		}
		if diff := cmp.Diff(n.Draft, got.Draft, opts); diff != "" || got.By != n.By || got.Note != n.Note || got.Base != n.Base {
			rt.Errorf("%s\n%+v", diff, got)
		}
		if !bytes.Equal(got.Draft.Body, n.Draft.Body) || got.BodyHash != sha256.Sum256(n.Draft.Body) || got.Size != int64(len(n.Draft.Body)) {
			rt.Errorf("the body is %q of %d bytes", got.Draft.Body, got.Size)
		}
	})
}

// drafts draws what can be sent: any properties, headers and bytes.
func drafts() *rapid.Generator[parkade.Draft] {
	return rapid.Custom(func(t *rapid.T) parkade.Draft {
		short := func(name string) *string {
			return rapid.Ptr(rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 255), func(b []byte) string { return string(b) }), true).Draw(t, name)
		}
		octet := func(name string) *uint8 { return rapid.Ptr(rapid.Uint8(), true).Draw(t, name) }
		var d parkade.Draft
		d.Exchange, d.RoutingKey = rapid.StringN(0, 60, 255).Draw(t, "exchange"), rapid.StringN(0, 60, 255).Draw(t, "key")
		d.Properties = parkade.Properties{
			ContentType: short("content_type"), ContentEncoding: short("content_encoding"), DeliveryMode: octet("delivery_mode"),
			Priority: octet("priority"), CorrelationID: short("correlation_id"), ReplyTo: short("reply_to"), Expiration: short("expiration"),
			MessageID: short("message_id"), Timestamp: rapid.Ptr(rapid.Map(rapid.Int64(), func(n int64) parkade.Timestamp { return parkade.Timestamp(n) }), true).Draw(t, "timestamp"),
			Type: short("type"), UserID: short("user_id"), AppID: short("app_id"),
		}
		d.Headers = someHeaders(3).Draw(t, "headers")
		d.Body = rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		return d
	})
}

func someHeaders(depth int) *rapid.Generator[parkade.Table] {
	return rapid.Custom(func(t *rapid.T) parkade.Table {
		table := parkade.Table{}
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			table = table.With(rapid.StringN(0, 40, 255).Draw(t, "name"), someValue(depth).Draw(t, "value"))
		}
		return table
	})
}

func someValue(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Bool().AsAny(), rapid.Int8().AsAny(), rapid.Uint8().AsAny(), rapid.Int16().AsAny(), rapid.Uint16().AsAny(),
		rapid.Int32().AsAny(), rapid.Uint32().AsAny(), rapid.Int64().AsAny(), rapid.Float32().AsAny(), rapid.Float64().AsAny(),
		rapid.String().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Just[any](nil),
		rapid.Map(rapid.Int64(), func(n int64) any { return parkade.Timestamp(n) }),
		rapid.Map(rapid.Int32(), func(n int32) any { return parkade.Decimal{Scale: uint8(n & 7), Value: n} }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) any { return string(b) }),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.Map(rapid.SliceOfN(someValue(depth-1), 0, 4), func(l []any) any { return append(parkade.List{}, l...) }),
			rapid.Map(someHeaders(depth-1), func(t parkade.Table) any { return t }))
	}
	return rapid.OneOf(kinds...)
}
