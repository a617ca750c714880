package store

import (
	"context"
	"database/sql"
	"errors"

	"parkade"
)

// Repeated returns the operation that the same request made before with an
// idempotency key, and false where there is none. The same key with another
// request is a Conflict.
func (s *Store) Repeated(ctx context.Context, key string, request [32]byte) (parkade.Operation, bool, error) {
	if key == "" {
		return parkade.Operation{}, false, nil
	}
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return parkade.Operation{}, false, err
	}
	id, err := NewOperation{IdempotencyKey: key, RequestHash: request}.first(ctx, tx)
	if err = errors.Join(err, tx.Rollback()); err != nil || id == 0 {
		return parkade.Operation{}, false, err
	}
	op, err := s.Operation(ctx, id)
	return op, err == nil, err
}
