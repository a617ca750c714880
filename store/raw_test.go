package store_test

import (
	"database/sql"
	"testing"

	"parkade/store"
)

// raw opens the file of s beside it, for what no method of the store does.
func raw(t *testing.T, s *store.Store) *sql.DB {
	t.Helper()
	st, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+st.Path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// do runs statements on the file of s.
func do(t *testing.T, s *store.Store, stmts ...string) {
	t.Helper()
	db := raw(t, s)
	for _, stmt := range stmts {
		if _, err := db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
}

func setStrict(t *testing.T, s *store.Store) {
	t.Helper()
	do(t, s, `UPDATE source SET strict = 1`)
}
