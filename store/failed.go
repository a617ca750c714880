package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"parkade"
)

// Failed returns the messages of an operation whose replay in it ended with one of
// outcomes, in their order. NotSent means those it never came to as well. What was
// left out of the set isn't among them.
func (s *Store) Failed(ctx context.Context, id parkade.OperationID, outcomes []parkade.Outcome) ([]parkade.MessageID, error) {
	for _, o := range outcomes {
		if !slices.Contains(parkade.Retryable(), o) {
			return nil, parkade.Errorf(parkade.Invalid, "Messages whose outcome is %q can't be retried.", o).At("outcomes")
		}
	}
	if _, err := s.Operation(ctx, id); err != nil {
		return nil, err
	}
	list, err := json.Marshal(outcomes)
	if err != nil {
		return nil, err
	}
	ids, err := query(ctx, s.reader, one[parkade.MessageID], failed, id, string(list), slices.Contains(outcomes, parkade.NotSent))
	return ids, doing(fmt.Sprintf("what failed in operation %d", id), err)
}

const failed = `
	SELECT i.message_id
	FROM operation_item i
	LEFT JOIN replay r ON r.operation_id = i.operation_id AND r.pos = i.pos
	  AND NOT EXISTS (SELECT 1 FROM replay n WHERE n.operation_id = r.operation_id AND n.pos = r.pos AND n.id > r.id)
	WHERE i.operation_id = ?1 AND i.skipped = ''
	  AND (r.state IN (SELECT value FROM json_each(?2)) OR ?3 AND r.id IS NULL)
	ORDER BY i.pos`
