package handlers

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"parkade"
)

// As is how a body stands in a form.
type As string

// The ways to type a body.
const (
	AsText   As = "text"
	AsBase64 As = "base64"
	AsHex    As = "hex"
)

// typing is a body as a form can hold it. Forms keep no line ends, no byte order
// mark and no content encoding; typing knows what they were, and puts them back.
type typing struct {
	As   As
	Text string // with LF as line ends only

	body   []byte // as it was
	text   string // AsText: with its own line ends
	mark   []byte // a byte order mark
	wide   binary.ByteOrder
	coding string // a content encoding
}

// typingOf opens a body to be typed in as asked. What can't be text that a form
// gives back byte by byte is Base64, whatever was asked.
func typingOf(body []byte, contentType, encoding string, as As) typing {
	t := typing{As: as, body: body}
	switch as {
	case AsHex:
		t.Text = hexText(body)
		return t
	case AsText, "":
		if t, ok := textOf(body, contentType, encoding); ok {
			return t
		}
	case AsBase64:
	}
	t.As, t.Text = AsBase64, base64Text(body)
	return t
}

// typingIn opens the body of a draft.
func typingIn(d parkade.Draft, as As) typing {
	return typingOf(d.Body, parkade.Text(d.Properties.ContentType), parkade.Text(d.Properties.ContentEncoding), as)
}

// typed returns the bytes that stand for a text of the form. An untouched text is
// the body itself, byte by byte.
func (t typing) typed(text string) ([]byte, error) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if text == t.Text {
		return t.body, nil
	}
	switch t.As {
	case AsBase64:
		return unBase64(text)
	case AsHex:
		return unHex(text)
	case AsText:
	}
	return t.encode(withEnds(t.text, t.Text, text))
}

// typedAs is typed where the content encoding may have been changed with the text:
// what is typed anew gets the new one.
func (t typing) typedAs(text, encoding string) ([]byte, error) {
	if t.As == AsText {
		switch encoding = codingOf(encoding); encoding {
		case "", "gzip", "x-gzip", "deflate":
			t.coding = encoding
		case t.coding:
		default: // what it stands for isn't known: plain text is what was typed
			if t.coding != "" {
				return nil, parkade.Errorf(parkade.Invalid, "What is typed here can be encoded with gzip or deflate, not with %s. Take the body from a file.", encoding).At("properties.content_encoding")
			}
		}
	}
	return t.typed(text)
}

// codingOf is a content encoding that has to be taken off, or "".
func codingOf(encoding string) string {
	switch encoding = strings.ToLower(strings.TrimSpace(encoding)); encoding {
	case "identity", "utf-8":
		return ""
	}
	return encoding
}

func textOf(body []byte, contentType, encoding string) (typing, bool) {
	t := typing{As: AsText, body: body}
	plain := body
	if encoding = codingOf(encoding); encoding != "" {
		var ok bool
		if plain, ok = unpacked(body, encoding); !ok {
			return t, false
		}
		t.coding = encoding
	}
	for mark, wide := range map[string]binary.ByteOrder{"\xEF\xBB\xBF": nil, "\xFF\xFE": binary.LittleEndian, "\xFE\xFF": binary.BigEndian} {
		if bytes.HasPrefix(plain, []byte(mark)) {
			t.mark, t.wide = []byte(mark), wide
		}
	}
	if len(t.mark) == 0 {
		switch charset(contentType) {
		case "utf-16le":
			t.wide = binary.LittleEndian
		case "utf-16be", "utf-16":
			t.wide = binary.BigEndian
		}
	}
	plain = plain[len(t.mark):]
	if t.text = string(plain); t.wide != nil {
		t.text, _ = wide(plain, t.wide.Uint16)
	}
	if !utf8.ValidString(t.text) || !readable(t.text) {
		return t, false
	}
	t.Text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(t.text)
	// Only what comes back as it was may be typed into: an odd byte at the end of
	// UTF-16 wouldn't.
	again, err := t.encode(t.text)
	return t, err == nil && (t.coding != "" || bytes.Equal(again, body))
}

// encode puts back what textOf took off.
func (t typing) encode(text string) ([]byte, error) {
	out := slices.Clone(t.mark)
	if t.wide == nil {
		out = append(out, text...)
	} else {
		for _, unit := range utf16.Encode([]rune(text)) {
			out = append(out, 0, 0)
			t.wide.PutUint16(out[len(out)-2:], unit)
		}
	}
	if t.coding == "" {
		return out, nil
	}
	return packed(out, t.coding)
}

// unpacked takes a content encoding off, within the bounds of decoding.
func unpacked(body []byte, encoding string) ([]byte, bool) {
	r, err := decoder(encoding, body)
	if err != nil {
		return nil, false
	}
	most := min(decodedBytes, decodedRatio*len(body))
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	return data, err == nil && len(data) <= most
}

func packed(text []byte, encoding string) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&out)
	default:
		w = zlib.NewWriter(&out)
	}
	_, err := w.Write(text)
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

const typedWidth = 76 // characters in a line of Base64, 38 bytes in one of hex are as wide

func base64Text(body []byte) string {
	text := base64.StdEncoding.EncodeToString(body)
	var out strings.Builder
	for chunk := range slices.Chunk([]byte(text), typedWidth) {
		out.Write(chunk)
		out.WriteByte('\n')
	}
	return out.String()
}

func hexText(body []byte) string {
	var out strings.Builder
	for chunk := range slices.Chunk(body, 16) {
		for i, b := range chunk {
			if i > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(hex.EncodeToString([]byte{b}))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func unBase64(text string) ([]byte, error) {
	text = strings.TrimRight(noSpace(text), "=")
	body, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, parkade.Errorf(parkade.Invalid, "The body is no Base64: %s.", err).At("body").Because(err)
	}
	return body, nil
}

func unHex(text string) ([]byte, error) {
	body, err := hex.DecodeString(noSpace(text))
	if err != nil {
		return nil, parkade.Errorf(parkade.Invalid, "The body isn't written as hex digits: %s.", strings.TrimPrefix(err.Error(), "encoding/hex: ")).At("body").Because(err)
	}
	return body, nil
}

func noSpace(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '\t' {
			return -1
		}
		return r
	}, text)
}

// keeps says what the form puts back by itself.
func (t typing) keeps() string {
	if t.As != AsText {
		return ""
	}
	var all []string
	if t.coding != "" {
		all = append(all, "decoded from "+t.coding+", encoded again if you change it")
	}
	switch {
	case t.wide != nil:
		all = append(all, "UTF-16")
	case len(t.mark) > 0:
		all = append(all, "UTF-8 with a byte order mark")
	}
	ends := lineEnds(t.text)
	switch common := commonest(ends); {
	case slices.ContainsFunc(ends, func(e string) bool { return e != common }):
		all = append(all, "mixed line ends, kept line by line")
	case common == "\r\n":
		all = append(all, "CRLF")
	case common == "\r":
		all = append(all, "CR")
	}
	return strings.Join(all, ", ")
}
