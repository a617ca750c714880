package parkade_test

import (
	"errors"
	"fmt"
	"testing"

	"parkade"
)

func TestAnErrorReadsAsASentenceInALog(t *testing.T) {
	t.Parallel()
	said := parkade.Errorf(parkade.NotFound, "There is no message %d.", 7)
	because := said.Because(errors.New("no rows"))
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"alone", said, "There is no message 7."},
		{"with its cause", because, "There is no message 7 (no rows)"},
		{"with a cause that has one", said.Because(because), "There is no message 7 (There is no message 7 (no rows))"},
		{"wrapped", fmt.Errorf("link: %w", because), "link: There is no message 7 (no rows)"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%s it reads %q, want %q", tt.name, got, tt.want)
		}
		if kind, sentence := parkade.Explain(tt.err); kind != parkade.NotFound || sentence != "There is no message 7." {
			t.Errorf("%s it is explained as %d, %q", tt.name, kind, sentence)
		}
	}
}
