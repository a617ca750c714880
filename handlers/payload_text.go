package handlers

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"parkade/views"
)

// The bounds of decoding a body, so that a small one can't fill the memory.
const (
	decodedBytes = 16 << 20
	decodedRatio = 100
)

// decoded is a body after its content encoding was taken off.
type decoded struct {
	data []byte
	cut  bool // there is more
}

// decode takes the content encoding off a body, and reports false where it has
// none or isn't what it claims.
func decode(p *views.Payload, b body) (decoded, bool) {
	encoding := strings.ToLower(strings.TrimSpace(b.encoding))
	if encoding == "" || encoding == "identity" || len(b.head) == 0 {
		return decoded{}, false
	}
	note := func(state views.State, format string, args ...any) {
		p.Notes = append(p.Notes, views.BodyNote{State: state, Text: fmt.Sprintf(format, args...)})
	}
	r, err := decoder(encoding, b.head)
	if errors.Is(err, errors.ErrUnsupported) {
		if encoding != "utf-8" && encoding != "utf8" { // what some clients write there
			note(views.Stale, "Its content encoding is %s, which isn't decoded here: these are the bytes as they arrived.", encoding)
		}
		return decoded{}, false
	}
	most := min(decodedBytes, decodedRatio*len(b.head))
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, int64(most)+1))
	}
	whole := int64(len(b.head)) == b.size
	switch {
	case len(data) > most:
		data = data[:most]
		note(views.Warn, "It decodes to more than %s, %d times its size: what follows isn't shown.", views.Size(int64(most)), most/len(b.head))
	case err != nil && (whole || len(data) == 0):
		note(views.Warn, "Its content encoding says %s, but it can't be decoded: these are the bytes as they arrived.", encoding)
		return decoded{}, false
	case err == nil && whole:
		p.Decoded = int64(len(data))
	}
	p.Encoding = encoding
	return decoded{data, p.Decoded == 0 && len(data) > 0}, true
}

func decoder(encoding string, head []byte) (io.Reader, error) {
	switch encoding {
	case "gzip", "x-gzip":
		return gzip.NewReader(bytes.NewReader(head))
	case "deflate": // with the zlib frame, as the standard has it, or without
		if r, err := zlib.NewReader(bytes.NewReader(head)); err == nil {
			return r, nil
		}
		return flate.NewReader(bytes.NewReader(head)), nil
	case "zlib":
		return zlib.NewReader(bytes.NewReader(head))
	}
	return nil, errors.ErrUnsupported
}

// readText returns data as text, and false for what isn't one. cut says that data
// may end in the middle of a character.
func readText(p *views.Payload, data []byte, cut bool, charset string) (string, bool) {
	note := func(state views.State, text string) {
		p.Notes = append(p.Notes, views.BodyNote{State: state, Text: text})
	}
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		data = data[3:]
		note(views.Warn, "It starts with a byte order mark, which many JSON and XML readers refuse.")
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), charset == "utf-16le":
		note(views.NotApplicable, "It is UTF-16, shown as the characters that it stands for.")
		return wide(data, func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 })
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}), charset == "utf-16", charset == "utf-16be":
		note(views.NotApplicable, "It is UTF-16, shown as the characters that it stands for.")
		return wide(data, func(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) })
	case charset == "iso-8859-1", charset == "latin1":
		note(views.NotApplicable, "It is ISO 8859-1, shown as the characters that it stands for.")
		runes := make([]rune, len(data))
		for i, b := range data {
			runes[i] = rune(b)
		}
		return string(runes), readable(string(runes))
	}
	for n := 0; cut && n < utf8.UTFMax-1 && len(data) > 0 && !utf8.Valid(data); n++ {
		data = data[:len(data)-1]
	}
	text := string(data)
	return text, utf8.ValidString(text) && readable(text)
}

func wide(data []byte, unit func([]byte) uint16) (string, bool) {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = unit(data[2*i:])
	}
	text := strings.TrimPrefix(string(utf16.Decode(units)), "\uFEFF")
	return text, readable(text)
}

// readable reports whether a text has no control characters but those that lay
// text out.
func readable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' || r == 0x7f
	})
}

// visible splits text into tokens so that what can't be seen, or turns the order
// of letters around, is written out.
func visible(class, text string) []views.Token {
	if !strings.ContainsFunc(text, views.Hidden) {
		return []views.Token{{Class: class, Text: text}}
	}
	var tokens []views.Token
	from := 0
	for at, r := range text {
		if !views.Hidden(r) {
			continue
		}
		if at > from {
			tokens = append(tokens, views.Token{Class: class, Text: text[from:at]})
		}
		tokens = append(tokens, views.Token{Class: "err", Text: fmt.Sprintf("<U+%04X>", r)})
		from = at + utf8.RuneLen(r)
	}
	if from < len(text) {
		tokens = append(tokens, views.Token{Class: class, Text: text[from:]})
	}
	return tokens
}
