package views

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible writes out what can't be seen of a text, or would turn the order of its
// letters around: names and headers come from strangers, and are any bytes.
func Visible(s string) string {
	if !strings.ContainsFunc(s, Hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case Hidden(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Hidden reports whether a rune is no visible character and lays nothing out. The
// joiners of emoji and of some scripts aren't.
func Hidden(r rune) bool {
	if r == '\t' || r == 0x200C || r == 0x200D {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
