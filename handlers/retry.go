package handlers

import (
	"context"
	"slices"

	"parkade"
	"parkade/views"
)

// picked returns the messages that a form names: by their ids, or as those that
// failed in an operation.
func picked(ctx context.Context, d Deps, s chosen) ([]parkade.MessageID, error) {
	if s.Retry == 0 {
		return s.IDs, nil
	}
	return d.Store.Failed(ctx, s.Retry, s.outcomes)
}

// failures are the outcomes of an operation that can be retried, with how many
// ended so.
func failures(o parkade.Operation, ticked []parkade.Outcome) []views.Ending {
	var all []views.Ending
	for _, outcome := range parkade.Retryable() {
		n := o.Counts[outcome]
		if outcome == parkade.NotSent && o.State.Ended() {
			n += o.Left
		}
		if n > 0 {
			all = append(all, views.Ending{Outcome: outcome, Messages: n, Ticked: slices.Contains(ticked, outcome)})
		}
	}
	return all
}

// readRetry reads which outcomes of which operation a form is about.
func (s *chosen) readRetry(operation string, outcomes []string) error {
	id, err := parkade.ParseID(operation, "retry")
	if err != nil || id == 0 {
		return parkade.Errorf(parkade.Invalid, "There is no operation %q.", operation).At("retry")
	}
	s.Retry = parkade.OperationID(id)
	for _, o := range outcomes {
		if outcome := parkade.Outcome(o); slices.Contains(parkade.Retryable(), outcome) {
			s.outcomes = append(s.outcomes, outcome)
		}
	}
	if slices.Contains(s.outcomes, parkade.Unknown) { // it was ticked with what that means beside it
		s.with = append(s.with, parkade.InDoubt)
	}
	return nil
}
