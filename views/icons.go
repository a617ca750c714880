package views

import (
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"
)

// Icon draws an outline icon in the colour of the text around it. It means nothing
// by itself: words stand beside it, or the control that holds it has a label. The
// names are those in dev/vendor-assets.
func Icon(name string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := fmt.Fprintf(w, `<svg class="pk-i" aria-hidden="true"><use href="%s#%s"/></svg>`,
			templ.EscapeString(Asset(ctx, "sprite.svg")), templ.EscapeString(name))
		return err
	})
}

// A State is how something stands. Each has a shape of its own, so that colour is
// never the only sign.
type State string

// The states, from the worst. Acknowledged is for what somebody has seen, Running
// for work in progress, NotApplicable for what can't be judged here.
const (
	Bad           State = "bad"   // octagon: can lose something, blocks, or is over a limit
	Warn          State = "warn"  // triangle: fragile, unknown outcome, stopped itself
	Stale         State = "stale" // dashed ring with a clock: old or unknown
	Acknowledged  State = "ack"   // ring with a pause
	Running       State = "run"   // arc
	OK            State = "ok"    // ring with a tick: seen to be so
	NotApplicable State = "na"    // a dash
)

// StateIcon draws a state. The label is what somebody hears who doesn't see the
// shape; an empty one is for where the words stand beside it.
func StateIcon(state State, label string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		role := `aria-hidden="true"`
		if label != "" {
			role = `role="img" aria-label="` + templ.EscapeString(label) + `"`
		}
		_, err := fmt.Fprintf(w, `<svg class="pk-st %[1]s" %[2]s><use href="%[3]s#st-%[1]s"/></svg>`,
			templ.EscapeString(string(state)), role, templ.EscapeString(Asset(ctx, "sprite.svg")))
		return err
	})
}
