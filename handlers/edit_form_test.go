package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parkade"
	"parkade/store/storetest"
)

// Every type of header, and names and values that a form can't hold, come back as
// they were when one other is changed.
func TestOneHeaderIsEditedAndAllOthersStay(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := storetest.Delivery("a", "{}")
	d.Headers = parkade.NewTable(
		parkade.Field{Name: "edited", Value: int64(9007199254740993)}, parkade.Field{Name: "text", Value: "two\nlines "},
		parkade.Field{Name: "bytes in a text", Value: "\xff\x00\r"}, parkade.Field{Name: "bytes", Value: []byte{0, 255}}, parkade.Field{Name: "odd\xff\nname", Value: true},
		parkade.Field{Name: "decimal", Value: parkade.Decimal{Scale: 2, Value: -5}}, parkade.Field{Name: "time", Value: parkade.Timestamp(1764500000000)},
		parkade.Field{Name: "float", Value: float32(0.1)}, parkade.Field{Name: "double", Value: 1e300}, parkade.Field{Name: "void"},
		parkade.Field{Name: "small", Value: int8(-1)}, parkade.Field{Name: "octet", Value: uint8(200)}, parkade.Field{Name: "long", Value: uint32(4e9)},
		parkade.Field{Name: "list", Value: parkade.List{"a", int16(2), nil, parkade.List{}}}, parkade.Field{Name: "table", Value: parkade.NewTable(parkade.Field{Name: "k", Value: uint16(1)})},
	)
	storetest.Park(t, s.Store, storetest.Queue(), d)
	form := opened(t, s)
	for name := range form {
		if n, found := strings.CutPrefix(name, "name_"); found && form.Get(name) == "edited" {
			form.Set("value_"+n, "9007199254740995")
		}
	}
	if code, page, _ := s.edit(t, form, "save"); code != http.StatusSeeOther {
		t.Fatalf("it answers %d: %s", code, page)
	}
	e, err := s.Version(t.Context(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := d.Headers.With("edited", int64(9007199254740995)).AppendBinary(nil)
	got, _ := e.Draft.Headers.AppendBinary(nil)
	if string(got) != string(want) {
		t.Errorf("the headers are\n%v\nwant\n%v", e.Draft.Headers, d.Headers)
	}
}

// A browser sends five parts for each header.
func TestAFormWithThousandsOfPartsIsReadAndWhatHasNoRowStays(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := storetest.Delivery("a", "{}")
	for i := range 600 {
		d.Headers = d.Headers.With(fmt.Sprintf("h-%04d", i), int32(i))
	}
	storetest.Park(t, s.Store, storetest.Queue(), d)
	form := opened(t, s)
	for name := range form {
		if n, found := strings.CutPrefix(name, "name_"); found && form.Get(name) == "h-0007" {
			form.Set("value_"+n, "-7")
		}
	}
	form.Set("do", "save")
	answer := s.upload(t, form, nil)
	if answer.Code != http.StatusSeeOther {
		t.Fatalf("it answers %d: %s", answer.Code, text(answer))
	}
	e, err := s.Version(t.Context(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Headers.With("h-0007", int32(-7)), e.Draft.Headers); diff != "" {
		t.Errorf("the headers differ (-want +got):\n%s", diff)
	}
}

// A page can't hold a file in its own field.
func TestAFileIsStillThereWhenSomethingElseIsWrong(t *testing.T) {
	t.Parallel()
	s, form := mended(t, "{}")
	form.Set("property_timestamp", "yesterday")
	form.Set("do", "preview")
	answer := s.upload(t, form, []byte{0, 255})
	again := typed(answer.Body.String())
	if answer.Code != http.StatusUnprocessableEntity || again.Get("as") != "base64" || strings.TrimSpace(again.Get("body")) != "AP8=" {
		t.Fatalf("it answers %d, with the body %q as %s", answer.Code, again.Get("body"), again.Get("as"))
	}
	if code, page, _ := s.edit(t, with(again, "property_timestamp", ""), "save"); code != http.StatusSeeOther {
		t.Fatalf("mended it is answered %d: %s", code, page)
	}
	if e, err := s.Version(t.Context(), 1, 2); err != nil || string(e.Draft.Body) != "\x00\xff" {
		t.Errorf("version 2 is %q (%v)", e.Draft.Body, err)
	}
}

func TestAFormWithGarbageIsRefused(t *testing.T) {
	t.Parallel()
	s, whole := mended(t, "{}")
	for name, form := range map[string]url.Values{
		"nothing in it":          {},
		"no base":                {"seen": {"1"}, "do": {"preview"}},
		"a base that isn't":      {"seen": {"1"}, "base": {"99"}, "do": {"preview"}},
		"a base of text":         {"seen": {"1"}, "base": {"latest"}, "do": {"preview"}},
		"unwrapped, which isn't": {"seen": {"1"}, "base": {"0"}, "do": {"preview"}},
		"seen in the future":     {"seen": {"7"}, "base": {"1"}, "body": {"[]"}, "do": {"save"}},
		"a header of no type":    {"seen": {"1"}, "base": {"1"}, "name_0": {"a"}, "type_0": {"<script>"}, "value_0": {"b"}, "do": {"preview"}},
		"a target that isn't":    {"seen": {"1"}, "base": {"1"}, "to": {"moon"}, "do": {"replay"}},
		"a delay that isn't":     {"seen": {"1"}, "base": {"1"}, "delay": {"soon"}, "do": {"replay"}},
		"no preview before":      {"seen": {"1"}, "base": {"1"}, "do": {"replay"}},
	} {
		if w := s.ask(t, "/messages/1/edit", form); w.Code < 400 || w.Code >= 500 {
			t.Errorf("%s: it answers %d: %s", name, w.Code, text(w))
		}
	}
	if code, page, _ := s.edit(t, whole, "save"); code != http.StatusSeeOther {
		t.Errorf("a whole form is answered %d: %s", code, page)
	}
}
