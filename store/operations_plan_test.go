package store

import (
	"path/filepath"
	"strings"
	"testing"

	"parkade"
)

func TestOperationsUseIndexes(t *testing.T) {
	t.Parallel()
	s := openForPlans(t)
	ids := `[1, 2]`
	type hot struct {
		name, stmt string
		args       []any
	}
	hots := []hot{
		{"what a result settles", sendingsOf, []any{1, ids}},
		{"how far a chunk reaches", reaching, []any{1, 1, 257}},
		{"claim a chunk", claiming, []any{1, 1, 1, 1, 256, 0}},
		{"load a chunk", loading, []any{1}},
		{"settle messages", settleMessages, []any{"replayed", 1, 1, "confirmed", 1, 256}},
		{"a page of operations", operationsPage, []any{100, 50}},
		{"active operations", activeOperations, nil},
		{"replays of a message", replaysOf, []any{1}},
		{"items at positions", itemsAt, []any{1, ids}},
		{"replays at positions", replaysAt, []any{1, ids}},
		{"a selection", selected, []any{ids}},
	}
	for _, which := range []string{"", Skipped, "confirmed", "unroutable", "nacked", "refused", "unknown", "cancelled"} {
		hots = append(hots, hot{"items " + which, positionsOf(which), []any{1, 0, 50}})
	}
	for name, f := range map[string]ActionFilter{"all": {}, "of an operation": {Operation: 1}} {
		stmt, args := actionsPage(f)
		hots = append(hots, hot{"actions " + name, stmt, append(args, 1, 50)})
	}
	w := s.matching(parkade.Filter{State: parkade.Parked}, []parkade.SourceID{1})
	hots = append(hots, hot{"freeze a queue", freezing(w, parkade.Replay), append([]any{1, "", ""}, w.args...)})
	for _, h := range hots {
		wantIndexed(t, s, h.name, h.stmt, h.args)
		plan := planOf(t, s, h.stmt, h.args)
		whole := strings.ReplaceAll(plan, "SCAN o USING INDEX operation_active", "")
		for _, table := range []string{"r", "i", "o", "a", "message", "replay"} {
			if strings.Contains(whole, "SCAN "+table+" ") || strings.HasSuffix(whole, "SCAN "+table) {
				t.Errorf("%s reads all of %s: %s", h.name, table, plan)
			}
		}
	}
}

// TestOutcomesAreFoundByTheirReplay guards against a plan that is quadratic over a
// big operation: to read all of its replays for each chunk.
func TestOutcomesAreFoundByTheirReplay(t *testing.T) {
	t.Parallel()
	s := openForPlans(t)
	for name, of := range map[string]struct {
		stmt string
		args []any
	}{
		"look up replays":  {sendingsOf, []any{1, `[1, 2]`}},
		"count confirms":   {confirming, []any{1, 256, 1}},
		"settle replays":   {settleReplays, []any{"confirmed", "", 1, 1, 256}},
		"load a new chunk": {loading, []any{1}},
	} {
		plan := planOf(t, s, of.stmt, of.args)
		if !strings.Contains(plan, "SEARCH r USING INTEGER PRIMARY KEY") && !strings.Contains(plan, "SEARCH replay USING INTEGER PRIMARY KEY") {
			t.Errorf("%s: %s", name, plan)
		}
	}
}

func openForPlans(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "plan.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func planOf(t *testing.T, s *Store, stmt string, args []any) string {
	t.Helper()
	steps, err := query(t.Context(), s.reader, func(r row) (string, error) {
		var id, parent, unused int
		var detail string
		err := r.Scan(&id, &parent, &unused, &detail)
		return detail, err
	}, `EXPLAIN QUERY PLAN `+stmt, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "; ")
}
