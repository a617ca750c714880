package store

import (
	"context"
	"database/sql"
	"fmt"

	"parkade"
	"parkade/store/crash"
)

// Pause lets an operation take no more messages. It is paused once all that is on
// its way has an outcome, and until then pausing.
func (s *Store) Pause(ctx context.Context, id parkade.OperationID, by string) error {
	err := s.steer(ctx, id, by, "pause", func(p *progress) (bool, error) {
		switch p.state {
		case parkade.Canary, parkade.Watching, parkade.Running:
			p.turn(parkade.Pausing, "Paused by "+by+".")
			return true, nil
		case parkade.Pausing, parkade.Paused:
			return false, nil
		case parkade.Scheduled, parkade.Interrupted, parkade.Cancelling, parkade.Cancelled, parkade.Finished:
		}
		return false, p.refused("paused")
	})
	if err == nil {
		crash.Point("job.pausing")
	}
	return err
}

// Resume lets a paused or interrupted operation go on with what it hasn't taken
// yet, and a scheduled one start now. What is in doubt stays so.
func (s *Store) Resume(ctx context.Context, id parkade.OperationID, by string) error {
	return s.steer(ctx, id, by, "resume", func(p *progress) (bool, error) {
		switch p.state {
		case parkade.Scheduled:
			p.turn(parkade.Running, "")
			return true, nil
		case parkade.Paused, parkade.Interrupted:
			if p.intents > 0 {
				return false, p.onItsWay()
			}
			p.turn(parkade.Running, "")
			p.bad = 0
			return true, nil
		case parkade.Canary, parkade.Watching, parkade.Running:
			return false, nil
		case parkade.Pausing:
			return false, p.onItsWay()
		case parkade.Cancelling, parkade.Cancelled, parkade.Finished:
		}
		return false, p.refused("resumed")
	})
}

// Cancel gives up what an operation hasn't sent, and lets those messages go. It is
// cancelled once all that is on its way has an outcome.
func (s *Store) Cancel(ctx context.Context, id parkade.OperationID, by string) error {
	err := s.steer(ctx, id, by, "cancel", func(p *progress) (bool, error) {
		switch p.state {
		case parkade.Cancelling, parkade.Cancelled:
			return false, nil
		case parkade.Finished:
			return false, p.refused("cancelled")
		case parkade.Scheduled, parkade.Canary, parkade.Watching, parkade.Running, parkade.Pausing, parkade.Paused, parkade.Interrupted:
		}
		if p.state == parkade.Scheduled {
			p.turn(parkade.Cancelling, "Called back by "+by+".")
			return true, nil
		}
		p.turn(parkade.Cancelling, "Cancelled by "+by+".")
		return true, nil
	})
	if err == nil {
		crash.Point("job.cancelling")
	}
	return err
}

// Interrupt stops an operation because the process ends or can't go on with it;
// why is a sentence. A person resumes it. It does nothing to one that isn't at work
// or is being cancelled.
func (s *Store) Interrupt(ctx context.Context, id parkade.OperationID, why string) error {
	ctx = context.WithoutCancel(ctx)
	return s.steer(ctx, id, "", "", func(p *progress) (bool, error) {
		switch p.state {
		case parkade.Canary, parkade.Watching, parkade.Running, parkade.Pausing:
			p.turn(parkade.Interrupted, why)
			return true, nil
		case parkade.Scheduled, parkade.Paused, parkade.Interrupted, parkade.Cancelling, parkade.Cancelled, parkade.Finished:
		}
		return false, nil
	})
}

// Dismiss puts an operation that has ended out of sight.
func (s *Store) Dismiss(ctx context.Context, id parkade.OperationID, by string) error {
	return s.steer(ctx, id, by, "dismiss", func(p *progress) (bool, error) {
		if !p.state.Ended() {
			return false, p.refused("put out of sight")
		}
		done, err := p.tx.ExecContext(ctx, `
			UPDATE operation SET dismissed_at = ? WHERE id = ? AND dismissed_at IS NULL`, millis(p.now), id)
		if err != nil {
			return false, err
		}
		n, err := done.RowsAffected()
		return n == 1, err
	})
}

// steer changes the state of an operation and says so in the audit trail, as verb
// unless that is "". change reports whether it changed anything.
func (s *Store) steer(ctx context.Context, id parkade.OperationID, by, verb string, change func(*progress) (bool, error)) error {
	return s.write(ctx, Messages|Operations|Actions, func(tx *sql.Tx) error {
		p, err := s.progress(ctx, tx, id)
		if err != nil {
			return err
		}
		changed, err := change(p)
		if err != nil || !changed {
			return err
		}
		if err := p.rest(ctx); err != nil {
			return err
		}
		if err := p.save(ctx); err != nil || verb == "" {
			return err
		}
		return addAction(ctx, tx, parkade.Action{At: p.now, By: by, Verb: verb, Operation: id, Count: p.total})
	})
}

// refused says that an operation can't be steered so.
func (p *progress) refused(verbed string) error {
	return parkade.Errorf(parkade.Conflict, "Operation #%d can't be %s: it is %s.", p.id, verbed, p.state)
}

func (p *progress) onItsWay() error {
	what := fmt.Sprintf("%d of its messages are", p.intents)
	if p.intents == 1 {
		what = "one of its messages is"
	}
	return parkade.Errorf(parkade.Conflict, "Operation #%d can't go on yet: %s still on the way. Try again in a moment.", p.id, what)
}
