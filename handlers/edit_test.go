package handlers_test

import (
	"bytes"
	"html"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"parkade"
	"parkade/store/storetest"
)

// typed returns what the form of an edit sends as it stands, as a browser does.
func typed(page string) url.Values {
	form := fields(page)
	for _, m := range regexp.MustCompile(`(?s)<textarea([^>]*)>(.*?)</textarea>`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(` name="([^"]*)"`).FindStringSubmatch(m[1])
		text := strings.TrimPrefix(html.UnescapeString(m[2]), "\n")
		form.Set(name[1], strings.ReplaceAll(text, "\n", "\r\n"))
	}
	for _, m := range regexp.MustCompile(`<input[^>]* name="((?:name|property)_[^"]*)"[^>]* value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for _, m := range regexp.MustCompile(`(?s)<select[^>]* name="(type_[^"]*)".*?<option selected>([^<]*)<`).FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	return form
}

// mended parks one message and opens its edit.
func mended(t *testing.T, body string) (site, url.Values) {
	t.Helper()
	s := open(t)
	storetest.Park(t, s.Store, storetest.Queue(), storetest.Delivery("a", body))
	w := s.ask(t, "/messages/1/edit", nil)
	if w.Code != http.StatusOK {
		t.Fatalf("it answers %d: %s", w.Code, text(w))
	}
	return s, typed(w.Body.String())
}

func (s site) edit(t *testing.T, form url.Values, do string) (code int, page string, form2 url.Values) {
	t.Helper()
	form.Set("do", do)
	w := s.ask(t, "/messages/1/edit", form)
	return w.Code, text(w), typed(w.Body.String())
}

func TestAnEditIsPreviewedAndSentOnce(t *testing.T) {
	t.Parallel()
	s, form := mended(t, `{"id": 9007199254740993, "total": 129.80}`)
	form.Set("body", strings.Replace(form.Get("body"), "129.80", "129.90", 1))
	code, page, form := s.edit(t, form, "preview")
	if code != http.StatusOK {
		t.Fatalf("the preview answers %d: %s", code, page)
	}
	wants(t, page, "$.total", "129.80", "129.90", "Replay 1 edited → orders.work", "Exchange orders, key created: reaches orders.work", "x-death", "stripped")
	form.Set("why", "wrong total")
	w := s.ask(t, "/messages/1/edit", with(form, "do", "replay"))
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/operations/1" {
		t.Fatalf("it answers %d and leads to %q: %s", w.Code, w.Header().Get("Location"), text(w))
	}
	if again := s.ask(t, "/messages/1/edit", form); again.Header().Get("Location") != "/operations/1" {
		t.Errorf("sent twice it answers %d: %s", again.Code, text(again))
	}
	e, err := s.Version(t.Context(), 1, 2)
	if err != nil || string(e.Draft.Body) != `{"id": 9007199254740993, "total": 129.90}` || e.Note != "wrong total" {
		t.Errorf("version 2 is %q with %q (%v)", e.Draft.Body, e.Note, err)
	}
	if first, err := s.Version(t.Context(), 1, parkade.Arrived); err != nil || !strings.Contains(string(first.Draft.Body), "129.80") {
		t.Errorf("what arrived is %q (%v)", first.Draft.Body, err)
	}
	if all, _ := s.Operations(t.Context(), 0, 10); len(all) != 1 {
		t.Errorf("there are %d operations", len(all))
	}
	wants(t, s.read(t, "/messages/1"), "Versions", "version 2", "wrong total")
}

func with(form url.Values, name, value string) url.Values {
	form.Set(name, value)
	return form
}

func TestOnlyWhatWasPreviewedIsSent(t *testing.T) {
	t.Parallel()
	s, form := mended(t, "{}")
	_, _, form = s.edit(t, with(form, "body", "[]"), "preview")
	code, page, again := s.edit(t, with(form, "body", "[1]"), "replay")
	if code != http.StatusConflict {
		t.Fatalf("it answers %d: %s", code, page)
	}
	wants(t, page, "isn't what was shown any more", "What you typed is still here")
	if again.Get("body") != "[1]" {
		t.Errorf("the body is %q now", again.Get("body"))
	}
	if all, _ := s.Operations(t.Context(), 0, 10); len(all) != 0 {
		t.Error("something is sent all the same")
	}
}

func TestADraftIsKeptAndTheSecondPersonIsShownTheDifference(t *testing.T) {
	t.Parallel()
	s, form := mended(t, `{"country": "XI"}`)
	second := opened(t, s)
	if code, page, _ := s.edit(t, with(form, "body", `{"country": "GB"}`), "save"); code != http.StatusSeeOther {
		t.Fatalf("it answers %d: %s", code, page)
	}
	code, page, second := s.edit(t, with(second, "body", `{"country": "IE"}`), "save")
	if code != http.StatusConflict {
		t.Fatalf("the second answers %d: %s", code, page)
	}
	wants(t, page, "Somebody was faster", "$.country", "\"GB\"", "\"IE\"", "What you typed is still here")
	if code, page, _ = s.edit(t, second, "save"); code != http.StatusSeeOther {
		t.Fatalf("who has seen it is answered %d: %s", code, page)
	}
	if e, err := s.Version(t.Context(), 1, 3); err != nil || string(e.Draft.Body) != `{"country": "IE"}` {
		t.Errorf("version 3 is %q (%v)", e.Draft.Body, err)
	}
}

func opened(t *testing.T, s site) url.Values {
	t.Helper()
	w := s.ask(t, "/messages/1/edit", nil)
	return typed(w.Body.String())
}

func TestWhatIsTypedWrongIsNamedAndKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ field, value, says string }{
		"a number":         {"value_2", "three", "isn't possible as int32"},
		"a timestamp":      {"property_timestamp", "yesterday", "The timestamp is a whole number"},
		"a long key":       {"property_type", strings.Repeat("x", 256), "at most 255 bytes"},
		"a second of them": {"name_2", "x-shop", "There are two headers x-shop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			d := storetest.Delivery("a", "{}")
			d.Headers = parkade.NewTable(parkade.Field{Name: "x-shop", Value: "eu"}, parkade.Field{Name: "x-schema", Value: int32(7)}, parkade.Field{Name: "x-tries", Value: int32(1)})
			storetest.Park(t, s.Store, storetest.Queue(), d)
			form := opened(t, s)
			code, page, again := s.edit(t, with(form, c.field, c.value), "preview")
			if code != http.StatusUnprocessableEntity {
				t.Fatalf("it answers %d: %s", code, page)
			}
			wants(t, page, c.says, "What you typed is still here")
			if again.Get(c.field) != c.value {
				t.Errorf("%s is %q now", c.field, again.Get(c.field))
			}
		})
	}
}

func TestBadJSONIsExplainedAndMayBeSent(t *testing.T) {
	t.Parallel()
	s, form := mended(t, "{}")
	_, page, form := s.edit(t, with(form, "body", "{\r\n  \"a\": 1,\r\n}"), "preview")
	wants(t, page, "Not valid JSON, in line 3, column 1")
	if code, page, _ := s.edit(t, form, "replay"); code != http.StatusSeeOther {
		t.Errorf("it answers %d: %s", code, page)
	}
}

func TestAnOpenedEditWithoutAChangeSendsTheMessageAsItIs(t *testing.T) {
	t.Parallel()
	s, form := mended(t, "a\r\nb\n\x0c")
	code, page, form := s.edit(t, form, "preview")
	wants(t, page, "Nothing: it would be sent as it arrived")
	if code != http.StatusOK {
		t.Fatalf("it answers %d: %s", code, page)
	}
	if code, page, _ = s.edit(t, form, "replay"); code != http.StatusSeeOther {
		t.Fatalf("it answers %d: %s", code, page)
	}
	if all, err := s.Versions(t.Context(), 1); err != nil || len(all) != 1 {
		t.Errorf("it has %d versions (%v)", len(all), err)
	}
}

// upload sends the form of an edit with a file, as a browser does.
func (s site) upload(t *testing.T, form url.Values, file []byte) *httptest.ResponseRecorder {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name := range form {
		if err := w.WriteField(name, form.Get(name)); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", "body")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(file); err != nil {
		t.Fatal(err)
	}
	w.Close()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/messages/1/edit", &body)
	r.Host, r.RemoteAddr = "localhost:8080", "127.0.0.1:4321"
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, r)
	return answer
}
