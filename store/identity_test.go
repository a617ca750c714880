package store_test

import (
	"path/filepath"
	"testing"

	"parkade/store"
	"parkade/store/storetest"
)

func TestAStoreKeepsItsIDAndSharesItWithNoOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parkade.db")
	if id, err := store.IDOf(t.Context(), path); id != "" || err != nil {
		t.Errorf("without a store it is %q: %v", id, err)
	}
	s := storetest.Reopen(t, path)
	id := s.ID()
	if read, err := store.IDOf(t.Context(), path); read != id || err != nil {
		t.Errorf("beside the process that has it open it is %q, not %q: %v", read, id, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := storetest.Reopen(t, path).ID(); again != id {
		t.Errorf("after a restart it is %q, not %q", again, id)
	}
	if other := storetest.Open(t).ID(); len(id) != 8 || other == id {
		t.Errorf("two stores are called %q and %q", id, other)
	}
}
