package web_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parkade"
	"parkade/store/storetest"
)

// posted is the decoded answer of a request that succeeds with a status.
func posted[T any](t *testing.T, s site, path, body string, status int, headers ...string) T {
	t.Helper()
	w := s.ask(t, "POST", "/api/v1"+path, body, headers...)
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != status {
		t.Fatalf("%s %s: status %d, %v: %s", path, body, w.Code, err, w.Body)
	}
	return v
}

type previewed struct {
	Sends   int64
	Hash    string
	SHA256  string
	Problem string
	Chosen  *struct{ Target parkade.Target }
	Publish struct {
		Exchange, RoutingKey string
		Properties           map[string]any
		Headers              []map[string]any
	}
}

func TestAnEditIsSentOnceAsItsPreviewSaid(t *testing.T) {
	t.Parallel()
	s := stocked(t)
	const edit = `"seen": 1, "edit": {"body": "mended", "note": "so"}`
	v := posted[previewed](t, s, "/messages/1/preview", `{`+edit+`}`, http.StatusOK)
	if v.Sends != 2 || v.Hash == "" || v.Problem != "" || v.Chosen == nil || v.Publish.Exchange != "orders" {
		t.Fatalf("the preview is %+v", v)
	}
	confirm := `{"verb": "replay", "select": {"ids": ["1"]}, ` + edit + `, "expect": {"count": 1, "hash": "` + v.Hash + `"}}`
	type made struct{ ID string }
	first := posted[made](t, s, "/operations", confirm, http.StatusCreated, "Idempotency-Key", "k")
	if again := posted[made](t, s, "/operations", confirm, http.StatusCreated, "Idempotency-Key", "k"); again != first {
		t.Errorf("again it is operation %s, not %s", again.ID, first.ID)
	}
	for _, key := range []string{"k", "other"} { // another request, and another click
		other := confirm
		if key == "k" {
			other = strings.Replace(confirm, "mended", "changed", 1)
		}
		if w := s.ask(t, "POST", "/api/v1/operations", other, "Idempotency-Key", key); w.Code != http.StatusConflict {
			t.Errorf("with the key %s: status %d: %s", key, w.Code, w.Body)
		}
	}
	all, err := s.store.Versions(t.Context(), 1)
	if err != nil || len(all) != 2 || all[0].Note != "so" || all[0].By == "" {
		t.Errorf("the versions are %+v, %v", all, err)
	}
}

// TestARefusalSavesNothing and names what is wrong, be it at fault or too late.
func TestARefusalSavesNothing(t *testing.T) {
	t.Parallel()
	s := stocked(t)
	for body, field := range map[string]string{
		`"seen": 1, "edit": {"body": 1}`:                                                  "edit.body",
		`"seen": 1, "edit": {"body": "\ud800"}`:                                           "edit.body",
		`"seen": 1, "edit": {"body": "a", "body_base64": ""}`:                             "edit.body",
		`"seen": 1, "edit": {"body_base64": "%"}`:                                         "edit.body_base64",
		`"seen": 1, "edit": {"properties": {"priority": 256}}`:                            "edit.properties.priority",
		`"seen": 1, "edit": {"properties": {"priority": "1"}}`:                            "edit.properties.priority",
		`"seen": 1, "edit": {"properties": {"timestamp": 1.5}}`:                           "edit.properties.timestamp",
		`"seen": 1, "edit": {"properties": {"type": "` + strings.Repeat("x", 256) + `"}}`: "edit.properties.type",
		`"seen": 1, "edit": {"properties": {"length": 1}}`:                                "edit.properties.length",
		`"seen": 1, "edit": {"headers": [{"name": "a", "type": "int8", "value": 300}]}`:   "edit.headers[0]",
		`"seen": 1, "edit": {"headers": {}}`:                                              "edit.headers",
		`"seen": 1, "edit": {"base": 4}`:                                                  "edit.base",
		`"seen": 1, "edit": {"note": "` + strings.Repeat("x", 2001) + `"}`:                "edit.note",
		`"edit": {}`:            "seen",
		`"seen": 3, "edit": {}`: "seen",
		`"seen": 1, "edit": {}, "expect": {"count": 1, "hash": "x"}`:                      "expect.hash",
		`"seen": 1, "edit": {}, "expect": {"count": 2}`:                                   "",
		`"seen": 1, "edit": {}, "target": {"to": "queue", "queue": "nowhere"}`:            "",
		`"seen": 1, "edit": {}, "target": {"to": "queue", "exchange": "a", "queue": "b"}`: "target.exchange",
	} {
		w := s.ask(t, "POST", "/api/v1/operations", `{"verb": "replay", "select": {"ids": ["1"]}, `+body+`}`)
		var p struct{ Field, Detail string }
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code < 400 || w.Code >= 500 || p.Field != field || p.Detail == "" {
			t.Errorf("%s: status %d, %+v, want %s", body, w.Code, p, field)
		}
	}
	m, err := s.store.Message(t.Context(), 1)
	if err != nil || m.Version != 1 || m.State != parkade.Parked {
		t.Errorf("it is %s in version %d, %v", m.State, m.Version, err)
	}
}

// TestWhatIsAbsentStaysAndWhatIsTypedIsKept byte for byte.
func TestWhatIsAbsentStaysAndWhatIsTypedIsKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := storetest.Delivery("m", "\x00\xff")
	d.Properties.CorrelationID, d.Properties.Priority = new("c\xff"), new(uint8(9))
	d.Headers = d.Headers.With("\xfe", "\xfd").With("n", int64(1)<<60)
	id := storetest.Park(t, s.store, storetest.Queue(), d)[0]
	read := func(v int64) parkade.Draft {
		e, err := s.store.Version(t.Context(), id, v)
		if err != nil {
			t.Fatal(err)
		}
		return e.Draft
	}
	save := func(seen, edit string) {
		posted[struct{}](t, s, "/messages/1/versions", `{"seen": `+seen+`, "edit": {"base": 1, `+edit+`}}`, http.StatusCreated)
	}
	want := read(1)
	typed := "\uFEFF{\"id\": 9007199254740993,\r\n \"total\": 1.10}\n"
	b, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	save("1", `"body": `+string(b))
	want.Body = []byte(typed)
	if diff := cmp.Diff(want, read(2)); diff != "" {
		t.Errorf("another body: %s", diff)
	}
	save("2", `"properties": {"priority": null, "message_id": "other"}, "exchange": "x"`)
	want = read(1)
	want.Properties.Priority, want.Properties.MessageID, want.Exchange = nil, new("other"), "x"
	if diff := cmp.Diff(want, read(3)); diff != "" {
		t.Errorf("other properties: %s", diff)
	}
	// All headers as they are answered, with one more.
	var detail struct{ Headers []json.RawMessage }
	w := s.ask(t, "GET", "/api/v1/messages/1/versions/1", "")
	if err := json.Unmarshal(w.Body.Bytes(), &detail); err != nil {
		t.Fatal(err)
	}
	headers, err := json.Marshal(append(detail.Headers, json.RawMessage(`{"name": "new", "type": "decimal", "value": "-0.05"}`)))
	if err != nil {
		t.Fatal(err)
	}
	save("3", `"headers": `+string(headers)+`, "body_base64": "`+base64.StdEncoding.EncodeToString([]byte{0, 1, 0xff})+`"`)
	want = read(1)
	want.Headers, want.Body = want.Headers.With("new", parkade.Decimal{Scale: 2, Value: -5}), []byte{0, 1, 0xff}
	if diff := cmp.Diff(want, read(4)); diff != "" {
		t.Errorf("another header: %s", diff)
	}
	if w := s.ask(t, "GET", "/api/v1/messages/1/versions/4/body", ""); w.Body.String() != "\x00\x01\xff" || w.Header().Get("Content-Disposition") != `attachment; filename="message-1-4.bin"` {
		t.Errorf("its body is %q, %v", w.Body, w.Header())
	}
}

func TestABodyOfSixteenMebibytesCanBeEdited(t *testing.T) {
	t.Parallel()
	s := open(t)
	storetest.Park(t, s.store, storetest.Queue(), storetest.Delivery("m", "small"))
	body := base64.StdEncoding.EncodeToString(make([]byte, 16<<20))
	v := posted[struct{ Size int64 }](t, s, "/messages/1/versions", `{"seen": 1, "edit": {"body_base64": "`+body+`"}}`, http.StatusCreated)
	if v.Size != 16<<20 {
		t.Errorf("it has %d bytes", v.Size)
	}
	if w := s.ask(t, "POST", "/api/v1/drains/start", `{"reason": "`+body+`"}`); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("elsewhere as much: status %d", w.Code)
	}
}
