package store

import (
	"context"
	"fmt"
	"slices"

	"parkade"
)

// Skipped asks Items for those that were left out.
const Skipped = "skipped"

// Items returns messages of an operation's frozen set after a position, in their
// order. which is an outcome, Skipped, or "" for all of them. An item's replay is
// its latest in that operation, nil where it has none or is no longer stored.
func (s *Store) Items(ctx context.Context, id parkade.OperationID, which string, after int64, limit int) ([]parkade.Item, error) {
	if which != "" && which != Skipped && !slices.Contains(parkade.Outcomes(), parkade.Outcome(which)) {
		return nil, parkade.Errorf(parkade.Invalid, "There is no outcome %q.", which).At("outcome")
	}
	positions, err := query(ctx, s.reader, one[int64], positionsOf(which), id, after, min(max(limit, 1), maxPage))
	if err != nil {
		return nil, doing(fmt.Sprintf("items of operation %d", id), err)
	}
	items, err := query(ctx, s.reader, func(r row) (parkade.Item, error) {
		var v parkade.Item
		err := r.Scan(&v.Position, &v.Message, &v.Skipped)
		return v, err
	}, itemsAt, id, listOfIDs(positions))
	if err != nil {
		return nil, err
	}
	return items, s.addReplays(ctx, id, items, positions)
}

// addReplays sets the latest replay of each item.
func (s *Store) addReplays(ctx context.Context, id parkade.OperationID, items []parkade.Item, positions []int64) error {
	type placed struct {
		pos    int64
		record parkade.ReplayRecord
	}
	replays, err := query(ctx, s.reader, func(r row) (placed, error) {
		var v replayRow
		var pos int64
		if err := r.Scan(append(v.fields(), &pos)...); err != nil {
			return placed{}, err
		}
		return placed{pos, v.record()}, nil
	}, replaysAt, id, listOfIDs(positions))
	at := make(map[int64]*parkade.Item, len(items))
	for i := range items {
		at[items[i].Position] = &items[i]
	}
	for _, v := range replays { // of a position by id, so that the latest stays
		if item := at[v.pos]; item != nil {
			item.Replay = &v.record
		}
	}
	return err
}

// positionsOf returns the statement that pages through the positions of some
// items. The outcome is a word of ours: as part of the statement it lets SQLite
// use an index that has only the rows that went wrong.
func positionsOf(which string) string {
	latest := `NOT EXISTS (SELECT 1 FROM replay n WHERE n.operation_id = r.operation_id AND n.pos = r.pos AND n.id > r.id)`
	switch parkade.Outcome(which) {
	case "":
		return `SELECT pos FROM operation_item WHERE operation_id = ? AND pos > ? ORDER BY pos LIMIT ?`
	case Skipped:
		return `SELECT pos FROM operation_item WHERE operation_id = ? AND pos > ? AND skipped <> '' ORDER BY pos LIMIT ?`
	case parkade.Intent: // few at any time, and all in an index of their own
		return `SELECT r.pos FROM replay r WHERE r.state = 'intent' AND +r.operation_id = ? AND +r.pos > ? ORDER BY r.pos LIMIT ?`
	case parkade.Confirmed:
		return `SELECT r.pos FROM replay r WHERE r.operation_id = ? AND r.pos > ? AND r.state = 'confirmed' ORDER BY r.pos LIMIT ?`
	case parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.Unknown, parkade.NotSent:
	}
	return `
		SELECT r.pos FROM replay r INDEXED BY replay_bad
		WHERE r.operation_id = ? AND r.pos > ? AND r.state = '` + which + `'
		  AND r.state IN ('unroutable', 'nacked', 'refused', 'unknown', 'cancelled') AND ` + latest + `
		ORDER BY r.pos LIMIT ?`
}

const (
	itemsAt = `
		SELECT i.pos, i.message_id, i.skipped
		FROM operation_item i
		WHERE i.operation_id = ? AND i.pos IN (SELECT value FROM json_each(?))
		ORDER BY i.pos`
	replaysAt = `
		SELECT ` + replayColumns + `, r.pos
		FROM replay r JOIN run ON run.id = r.run_id LEFT JOIN message m ON m.id = r.message_id
		WHERE r.operation_id = ? AND r.pos IN (SELECT value FROM json_each(?))
		ORDER BY r.pos, r.id`
)
