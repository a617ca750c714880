package handlers

import (
	"net/http"
	"strings"
	"testing"
)

func TestWhateverChangesSomethingIsForOperators(t *testing.T) {
	t.Parallel()
	onlyLooks := map[string]bool{"/api/v1/messages/:id/preview": true}
	seen := map[string]bool{}
	for _, r := range Routes(Deps{}) {
		if changes := r.Method != http.MethodGet && !onlyLooks[r.Path]; changes && r.Role != Operator {
			t.Errorf("%s %s is for the role %q", r.Method, r.Path, r.Role)
		}
		if r.Role == "" || r.Handler == nil || seen[r.Method+r.Path] {
			t.Errorf("%s %s has no role, no handler, or stands twice", r.Method, r.Path)
		}
		seen[r.Method+r.Path] = true
		for _, name := range []string{":queue", ":vhost", ":name", ":broker"} {
			if strings.Contains(r.Path, name) && !strings.HasPrefix(r.Path, "/outboxes/") {
				t.Errorf("%s has a name in its path, which may hold slashes", r.Path)
			}
		}
	}
}
