package store

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parkade"
)

func TestListsAndCountsUseIndexes(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "plan.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	one := []parkade.SourceID{1}
	for _, c := range []struct {
		name    string
		filter  parkade.Filter
		sources []parkade.SourceID
	}{
		{"everything", parkade.Filter{}, nil},
		{"a state", parkade.Filter{State: parkade.Parked}, nil},
		{"a queue", parkade.Filter{}, one},
		{"a queue and a state", parkade.Filter{State: parkade.Parked}, one},
		{"a queue, a state and an age", parkade.Filter{State: parkade.Parked, OlderThan: time.Hour}, one},
		{"a reason", parkade.Filter{Reason: "rejected"}, nil},
		{"no reason, in a queue", parkade.Filter{NoReason: true, State: parkade.Parked}, one},
		{"a key", parkade.Filter{RoutingKey: "k"}, nil},
		{"a message id", parkade.Filter{MessageID: "m"}, nil},
		{"a message id in a queue and a state", parkade.Filter{MessageID: "m", State: parkade.Parked}, one},
		{"an outcome", parkade.Filter{Outcome: parkade.Unknown}, nil},
		{"came back", parkade.Filter{CameBack: true}, nil},
		{"copies", parkade.Filter{Copies: true}, nil},
		{"an operation", parkade.Filter{Operation: 1}, nil},
	} {
		w := s.matching(c.filter, c.sources)
		for _, oldest := range []bool{false, true} {
			stmt, args := listing(w, parkade.Page{Oldest: oldest}, 51)
			wantIndexed(t, s, c.name, stmt, args)
		}
		if len(w.conds) > 0 {
			wantIndexed(t, s, "count of "+c.name, counting(w), append(w.args, 10_001))
		}
	}
	wantIndexed(t, s, "expired", expired, []any{1, 200})
}

// wantIndexed fails for a plan that reads the whole table or sorts.
func wantIndexed(t *testing.T, s *Store, name, stmt string, args []any) {
	t.Helper()
	type step struct {
		id, parent, unused int
		detail             string
	}
	plan, err := query(t.Context(), s.reader, func(r row) (string, error) {
		var p step
		err := r.Scan(&p.id, &p.parent, &p.unused, &p.detail)
		return p.detail, err
	}, `EXPLAIN QUERY PLAN `+stmt, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := strings.Join(plan, "; ")
	// A partial index holds nothing but what is asked for.
	whole := strings.NewReplacer("SCAN m USING INDEX message_copy", "", "SCAN m USING COVERING INDEX message_came_back", "").Replace(text)
	if strings.Contains(whole, "SCAN m") || strings.Contains(text, "TEMP B-TREE") {
		t.Errorf("%s: %s", name, text)
	}
	if strings.Contains(name, "message id in") && !strings.Contains(text, "message_message_id") {
		t.Errorf("%s doesn't go by the message id: %s", name, text)
	}
}
