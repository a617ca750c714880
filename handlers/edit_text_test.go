package handlers

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestATypedBodyKeepsWhatTheFormCannotHold(t *testing.T) {
	t.Parallel()
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	cases := []struct {
		name           string
		body           []byte
		kind, encoding string
		as             As
		want           As
		edit, expect   string // typed: edit becomes expect
		after          string
	}{
		{"LF", []byte("a\nb\n"), "", "", "", AsText, "b", "c", "a\nc\n"},
		{"CRLF", []byte("a\r\nb\r\n"), "", "", "", AsText, "b", "c", "a\r\nc\r\n"},
		{"no newline at the end", []byte("a\r\nb"), "", "", "", AsText, "b", "c", "a\r\nc"},
		{"lone CR", []byte("a\rb\rc"), "", "", "", AsText, "b", "x", "a\rx\rc"},
		{"mixed ends keep their own", []byte("a\r\nb\nc\r\nd\r\n"), "", "", "", AsText, "c\n", "x\ny\n", "a\r\nb\nx\r\ny\r\nd\r\n"},
		{"a changed line of mixed ends keeps its own", []byte("a\r\nb\n"), "", "", "", AsText, "b\n", "c\n", "a\r\nc\n"},
		{"a line goes out of mixed ends", []byte("a\r\nb\nc\rd\n"), "", "", "", AsText, "b\n", "", "a\r\nc\rd\n"},
		{"a CR swallows no line", []byte("a\rb\n\n\r"), "", "", "", AsText, "b\n", "", "a\n\n\r"},
		{"a first empty line", []byte("\n\na"), "", "", "", AsText, "a", "b", "\n\nb"},
		{"byte order mark", []byte("\xEF\xBB\xBF{}"), "", "", "", AsText, "{}", "[]", "\xEF\xBB\xBF[]"},
		{"UTF-16 with a mark", []byte("\xFF\xFEa\x00\n\x00"), "", "", "", AsText, "a", "é", "\xFF\xFE\xE9\x00\n\x00"},
		{"UTF-16 by its content type", []byte("\x00a"), "text/plain; charset=utf-16be", "", "", AsText, "a", "b", "\x00b"},
		{"an odd byte in UTF-16", []byte("\xFF\xFEa\x00b"), "", "", "", AsBase64, "", "", ""},
		{"a lone surrogate", []byte("\xFF\xFE\x00\xD8"), "", "", "", AsBase64, "", "", ""},
		{"NUL", []byte("a\x00b"), "", "", "", AsBase64, "", "", ""},
		{"every byte", everyByte, "", "", "", AsBase64, "", "", ""},
		{"every byte as hex", everyByte, "", "", AsHex, AsHex, "00 01", "ff 01", "\xff" + string(everyByte[1:])},
		{"text as Base64", []byte("abc"), "", "", AsBase64, AsBase64, "YWJj", "YWJk", "abd"},
		{"gzip that isn't", []byte("abc"), "", "gzip", "", AsBase64, "", "", ""},
		{"a bomb", zipped(t, strings.Repeat("a", 17<<20)), "", "gzip", "", AsBase64, "", "", ""},
		{"nothing", nil, "", "", "", AsText, "", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			form := typingOf(c.body, c.kind, c.encoding, c.as)
			if form.As != c.want {
				t.Fatalf("typed as %s, want %s", form.As, c.want)
			}
			same, err := form.typed(strings.ReplaceAll(form.Text, "\n", "\r\n")) // what browsers send
			if err != nil || !bytes.Equal(same, c.body) {
				t.Errorf("untouched it is %q (%v)", same, err)
			}
			if c.edit == c.expect {
				return
			}
			got, err := form.typed(strings.Replace(form.Text, c.edit, c.expect, 1))
			if err != nil || string(got) != c.after {
				t.Errorf("edited it is %q (%v), want %q", got, err, c.after)
			}
		})
	}
}

func TestAnEditOfAnEncodedBodyIsEncodedAgain(t *testing.T) {
	t.Parallel()
	form := typingOf(zipped(t, "{\r\n}"), "application/json", "gzip", "")
	if form.As != AsText || form.Text != "{\n}" {
		t.Fatalf("it is typed as %s: %q", form.As, form.Text)
	}
	body, err := form.typed("[\n]")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); string(text) != "[\r\n]" || err != nil {
		t.Errorf("it decodes to %q (%v)", text, err)
	}
}

func TestATypedBodyGetsTheContentEncodingThatItWasGiven(t *testing.T) {
	t.Parallel()
	gzipped := typingOf(zipped(t, "{}"), "application/json", "gzip", "")
	if body, err := gzipped.typedAs("[]", ""); string(body) != "[]" || err != nil {
		t.Errorf("without an encoding it is %q (%v)", body, err)
	}
	if body, err := gzipped.typedAs("{}", ""); string(body) != string(gzipped.body) || err != nil {
		t.Errorf("untouched it is %q (%v)", body, err)
	}
	if _, err := gzipped.typedAs("[]", "br"); err == nil || !strings.Contains(err.Error(), "not with br") {
		t.Errorf("with br: %v", err)
	}
	plain := typingOf([]byte("{}"), "application/json", "", "")
	body, err := plain.typedAs("[]", "gzip")
	if text, ok := unpacked(body, "gzip"); string(text) != "[]" || !ok || err != nil {
		t.Errorf("with gzip it is %q (%v)", body, err)
	}
	if body, err := plain.typedAs("[]", "aws-chunked"); string(body) != "[]" || err != nil {
		t.Errorf("with an encoding that isn't known it is %q (%v)", body, err)
	}
}

func TestWhatIsNoBase64OrHexIsExplained(t *testing.T) {
	t.Parallel()
	for _, as := range []As{AsBase64, AsHex} {
		if _, err := typingOf([]byte("abc"), "", "", as).typed("über"); err == nil || !strings.HasPrefix(err.Error(), "The body") {
			t.Errorf("%s: %v", as, err)
		}
	}
}

// Whatever the body and however it is typed: untouched it is itself, and one line
// more leaves every other byte.
func TestAnyBodyComesBackByteByByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "\n", "\r\n", "\r", "é", "\u2028", "\uFEFF", "\f", "😀"})),
				func(parts []string) []byte { return []byte(strings.Join(parts, "")) }),
		).Draw(t, "body")
		as := rapid.SampledFrom([]As{AsText, AsBase64, AsHex}).Draw(t, "as")
		form := typingOf(body, "", "", as)
		same, err := form.typed(strings.ReplaceAll(form.Text, "\n", "\r\n"))
		if err != nil || !bytes.Equal(same, body) {
			t.Fatalf("untouched it is %q (%v)", same, err)
		}
		if form.As != AsText {
			return
		}
		got, err := form.typed("new line\n" + form.Text)
		if err != nil {
			t.Fatal(err)
		}
		rest, found := bytes.CutPrefix(bytes.TrimPrefix(got, form.mark), []byte("new line"))
		for _, end := range []string{"\r\n", "\n", "\r"} {
			if after, ok := bytes.CutPrefix(rest, []byte(end)); ok {
				rest = after
				break
			}
		}
		if !found || !bytes.Equal(rest, bytes.TrimPrefix(body, form.mark)) {
			t.Fatalf("with a line in front it is %q", got)
		}
	})
}
