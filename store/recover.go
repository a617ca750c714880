package store

import (
	"context"
	"database/sql"
	"slices"

	"parkade"
	"parkade/store/crash"
)

// recover is the second half of the start-up transaction. What an earlier process
// left on its way is unknown, unless it came back; what was working is interrupted
// until a person resumes it, unless nothing of it is left, and what was being
// cancelled is cancelled.
func (s *Store) recover(ctx context.Context, tx *sql.Tx) error {
	open, err := query(ctx, tx, scanSending, leftOver)
	if err != nil {
		return doing("look up replays on their way", err)
	}
	ids, err := query(ctx, tx, one[parkade.OperationID], `
		SELECT id FROM operation
		WHERE state IN ('canary', 'watching', 'running', 'pausing', 'cancelling') AND state NOT IN ('cancelled', 'finished')`)
	if err != nil {
		return err
	}
	results := make(map[parkade.OperationID][]parkade.Result)
	for _, v := range open {
		results[v.operation] = append(results[v.operation], parkade.Result{
			Replay: v.replay, Outcome: parkade.Unknown, Why: "the dashboard stopped before its outcome was known",
		})
		ids = append(ids, v.operation)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := s.recoverOperation(ctx, tx, id, results[id]); err != nil {
			return err
		}
	}
	crash.Point("replay.recovered")
	return nil
}

const leftOver = sendings + `TRUE ORDER BY r.operation_id, r.id`

func (s *Store) recoverOperation(ctx context.Context, tx *sql.Tx, id parkade.OperationID, results []parkade.Result) error {
	p, err := s.progress(ctx, tx, id)
	if err != nil {
		return err
	}
	switch p.state {
	case parkade.Canary, parkade.Watching, parkade.Running, parkade.Pausing:
		p.turn(parkade.Interrupted, "The dashboard stopped while it was at work.")
	case parkade.Scheduled, parkade.Paused, parkade.Interrupted, parkade.Cancelling, parkade.Cancelled, parkade.Finished:
	}
	if err := p.record(ctx, results); err != nil {
		return err
	}
	if err := p.rest(ctx); err != nil {
		return err
	}
	return p.save(ctx)
}
