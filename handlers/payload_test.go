package handlers

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"strings"
	"testing"
	"unicode/utf16"

	"parkade/views"
)

// drawn returns the text that a payload shows, line by line.
func drawn(p views.Payload) string {
	var b strings.Builder
	for _, line := range p.Lines {
		for _, t := range line.Tokens {
			b.WriteString(t.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func notes(p views.Payload) string {
	var all []string
	for _, n := range p.Notes {
		all = append(all, n.Text)
	}
	return strings.Join(all, "\n")
}

func whole(kind, encoding, content string) body {
	head := content[:min(len(content), shownBytes)]
	return body{head: []byte(head), size: int64(len(content)), kind: kind, encoding: encoding}
}

func gzipped(tb testing.TB, content []byte) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func zlibbed(tb testing.TB, content string) string {
	tb.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func utf16LE(s string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func TestAPayloadIsDrawnAsWhatItIs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body        body
		kind, shown string // exactly, unless it is ""
		notes       string // a part of them
	}{
		"digits stay as they are": {
			whole("application/json", "", `{"id":9007199254740993,"big":1e400,"price":13.300,"neg":-0.0}`), "JSON",
			"{\n  \"id\": 9007199254740993,\n  \"big\": 1e400,\n  \"price\": 13.300,\n  \"neg\": -0.0\n}\n", "",
		},
		"doubled names stay":             {whole("application/json", "", `{"a":1,"a":2}`), "JSON", "{\n  \"a\": 1,\n  \"a\": 2\n}\n", ""},
		"empty things stay together":     {whole("", "", `[{},[],{"a":[]}]`), "JSON", "[\n  {},\n  [],\n  {\n    \"a\": []\n  }\n]\n", ""},
		"a lone number":                  {whole("application/json", "", `18446744073709551616`), "JSON", "18446744073709551616\n", ""},
		"brackets in strings":            {whole("", "", `{"a":"{[,:\"]}"}`), "JSON", "{\n  \"a\": \"{[,:\\\"]}\"\n}\n", ""},
		"JSON that ends early":           {whole("application/json", "", "{\n \"a\": \"c_9"), "JSON", "{\n \"a\": \"c_9\n", "line 2, column 10"},
		"JSON with a fault":              {whole("application/json", "", "{\"a\":1,}"), "JSON", "{\"a\":1,}\n", "byte 8, line 1, column 8"},
		"JSON and something more":        {whole("application/json", "", "{} x"), "JSON", "{} x\n", "Something follows the value: byte 4"},
		"text that begins like JSON":     {whole("text/plain", "", "{hello"), "JSON", "{hello\n", "no valid JSON"},
		"a byte order mark":              {whole("application/json", "", "\xef\xbb\xbf[1]"), "JSON", "[\n  1\n]\n", "byte order mark"},
		"UTF-16":                         {whole("application/json", "", utf16LE(`{"é":"😀"}`)), "JSON", "{\n  \"é\": \"😀\"\n}\n", "UTF-16"},
		"Latin 1":                        {whole("text/plain; charset=ISO-8859-1", "", "caf\xe9"), "text", "café\n", "8859-1"},
		"text":                           {whole("text/plain", "", "one\r\ntwo\n\nthree"), "text", "one\ntwo\n\nthree\n", ""},
		"gzip":                           {whole("text/plain", "gzip", gzipped(t, []byte("hello"))), "text", "hello\n", ""},
		"deflate":                        {whole("text/plain", "deflate", zlibbed(t, "hello")), "text", "hello\n", ""},
		"gzip that isn't":                {whole("text/plain", "gzip", "hello"), "text", "hello\n", "can't be decoded"},
		"gzip that was cut":              {whole("", "gzip", gzipped(t, []byte(strings.Repeat("x", 100)))[:20]), "binary", "", "can't be decoded"},
		"an encoding that isn't decoded": {whole("text/plain", "br", "hello"), "text", "hello\n", "br, which isn't decoded"},
		"a gzip bomb":                    {whole("", "gzip", gzipped(t, bytes.Repeat([]byte("x"), 64<<20))), "text", "", "100 times its size"},
		"binary":                         {whole("text/plain", "", "\x0a\x11\x00"), "binary", "", ""},
		"bytes that are no UTF-8":        {whole("text/plain", "", "caf\xe9"), "binary", "", ""},
		"nothing":                        {whole("application/json", "", ""), "JSON", "\n", "It is empty"},
		"XML":                            {whole("application/xml", "", `<a x="1&amp;2"><b>t <i>u</i></b><c/><d></d></a>`), "XML", "<a x=\"1&amp;2\">\n  <b>t <i>u</i></b>\n  <c/>\n  <d></d>\n</a>\n", ""},
		"XML with a fault":               {whole("application/xml", "", `<a><b></a>`), "XML", "<a><b></a>\n", "no valid XML"},
		"letters turned around":          {whole("text/plain", "", "a\u202eb"), "text", "a<U+202E>b\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := payload(tt.body, "")
			if p.Kind != tt.kind {
				t.Errorf("it is %q, want %q", p.Kind, tt.kind)
			}
			if got := drawn(p); tt.shown != "" && got != tt.shown {
				t.Errorf("shown\n%q, want\n%q", got, tt.shown)
			}
			if got := notes(p); !strings.Contains(got, tt.notes) || tt.notes == "" && got != "" {
				t.Errorf("notes %q, want %q", got, tt.notes)
			}
		})
	}
}

func TestEveryByteIsShownAsHex(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	p := payload(whole("application/octet-stream", "", string(all)), views.Pretty)
	if p.Mode != views.Hex || len(p.Hex) != 16 {
		t.Fatalf("mode %q with %d lines, want 16 lines of hex", p.Mode, len(p.Hex))
	}
	want := views.HexLine{
		Offset: "00000040", Hex: "40 41 42 43 44 45 46 47  48 49 4a 4b 4c 4d 4e 4f ", Text: "@ABCDEFGHIJKLMNO",
	}
	if p.Hex[4] != want {
		t.Errorf("line 5 is %+v, want %+v", p.Hex[4], want)
	}
}

func TestALargePayloadShowsItsHead(t *testing.T) {
	t.Parallel()
	long := `{"lines":[` + strings.Repeat(`{"sku":"KB-104","price":1.10},`, 100_000) + `{}]}`
	p := payload(whole("application/json", "", long), "")
	if !p.More || p.Shown != shownBytes || len(p.Notes) > 1 {
		t.Errorf("more %v, %d bytes, notes %q; want the first %d bytes and no fault", p.More, p.Shown, notes(p), shownBytes)
	}
	if deep := payload(whole("application/json", "", strings.Repeat("[", shownBytes)+"]"), ""); len(drawn(deep)) > 64<<20 {
		t.Errorf("deep nesting draws %d bytes", len(drawn(deep)))
	}
}

func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.50,{"b":null}],"c":"\u0000"}`), "application/json", "", "pretty")
	f.Add([]byte("<a><b c='d'>e</b></a>"), "application/xml", "", "raw")
	f.Add([]byte("\x1f\x8b\x08"), "text/plain; charset=utf-16", "gzip", "hex")
	f.Fuzz(func(t *testing.T, content []byte, kind, encoding, mode string) {
		p := payload(body{head: content, size: int64(len(content)), kind: kind, encoding: encoding}, views.Mode(mode))
		if p.Mode == views.Hex && len(content) > 0 && encoding == "" && len(p.Hex) == 0 {
			t.Error("bytes are shown as nothing")
		}
		if p.Kind == "JSON" && p.Mode == views.Pretty && p.Encoding == "" && len(p.Notes) == 0 {
			squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
			if got := squeeze(drawn(p)); !strings.ContainsFunc(string(content), views.Hidden) && got != squeeze(string(content)) {
				t.Errorf("drawn %q, but it is %q", got, content)
			}
		}
	})
}
