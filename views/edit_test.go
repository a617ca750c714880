package views_test

import (
	markup "html"
	"strings"
	"testing"

	"parkade/views"
)

// What stands between the tags of a text area is what comes back from a browser,
// but for one line end at its beginning.
func TestTextAreasHoldExactlyTheirText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "\na\n", "  a  \n\n", "<b>&amp;", "\t"} {
		page := views.EditPage{As: "text", Text: text, Headers: []views.EditField{{Name: "x", Type: "longstr", Value: text}}, Types: []string{"longstr"}}
		var out strings.Builder
		if err := views.Edit(page).Render(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		for _, start := range []string{`<textarea class="form-control pk-editor"`, `<textarea class="form-control mono"`} {
			_, rest, found := strings.Cut(out.String(), start)
			_, rest, _ = strings.Cut(rest, ">")
			got, _, _ := strings.Cut(rest, "</textarea>")
			if !found || markup.UnescapeString(got) != "\n"+text {
				t.Errorf("%q stands there as %q", text, got)
			}
		}
	}
}

func TestAComparisonShowsLinesAsTheyAre(t *testing.T) {
	t.Parallel()
	page := views.EditPage{Preview: &views.EditPreview{Edited: true, Diff: []views.DiffLine{{Kind: "del", Text: "  a b  c", From: 4, To: 5}, {Text: "d"}}}}
	var out strings.Builder
	if err := views.Edit(page).Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	const want = `<code><span class="ch-line del">  a <mark>b</mark>  c</span><span class="ch-line">d</span></code>`
	if !strings.Contains(out.String(), want) {
		_, from, _ := strings.Cut(out.String(), "pk-diff")
		t.Errorf("want %s in %.400s", want, from)
	}
}
