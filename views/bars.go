package views

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// A Part is one piece of Bars. Kind is ok, early, fly, back, lost or unknown.
type Part struct {
	Kind  string
	Count int64
}

// Bars draws parts of total side by side, in the order given, with patterns as
// well as colours for the kinds that matter. What the parts don't add up to stays
// empty. The label says the same in words. Patterns must stand on the page once.
func Bars(label string, total int64, parts ...Part) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		fmt.Fprintf(&b, `<svg class="pk-bars" role="img" aria-label="%s">`, templ.EscapeString(label))
		var at float64
		for _, part := range parts {
			if part.Count <= 0 || total <= 0 {
				continue
			}
			width := clamp(float64(part.Count) / float64(total))
			fmt.Fprintf(&b, `<rect class="%s" x="%.2f%%" width="%.2f%%" height="100%%"%s/>`,
				templ.EscapeString(part.Kind), 100*at, 100*min(width, 1-at), pattern(part.Kind))
			at = min(1, at+width)
		}
		b.WriteString(`</svg>`)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// Patterns defines the fills that Bars refers to.
func Patterns() templ.Component {
	return templ.Raw(`<svg class="pk-defs" aria-hidden="true"><defs>` +
		`<pattern id="pk-back" width="5" height="5" patternUnits="userSpaceOnUse"><path class="back" d="M1.5 0v5" stroke-width="3"/></pattern>` +
		`<pattern id="pk-unknown" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="unknown" d="M1.5 0v6" stroke-width="3"/></pattern>` +
		`</defs></svg>`)
}

func pattern(kind string) string {
	if kind == "back" || kind == "unknown" {
		return ` fill="url(#pk-` + kind + `)"`
	}
	return ""
}

func clamp(share float64) float64 {
	return max(0, min(1, share))
}
