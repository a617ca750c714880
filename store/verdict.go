package store

import (
	"context"

	"parkade"
)

// sending is a replay on its way, with what settling it has to know.
type sending struct {
	replay    parkade.ReplayID
	operation parkade.OperationID
	pos       int64
	message   parkade.MessageID
	source    parkade.SourceID
	n         amount
	cameBack  bool
	was       parkade.State // of the message, before this operation took it
}

// verdict is what a replay is settled to, and where its message goes: "" leaves it
// with the operation, which will take it again.
type verdict struct {
	sending
	outcome parkade.Outcome
	why     string
	next    parkade.State
}

// settle writes verdicts, a run of neighbours that fared alike at a time.
func (p *progress) settle(ctx context.Context, verdicts []verdict) error {
	for len(verdicts) > 0 {
		n := 1
		for n < len(verdicts) && alike(verdicts[n-1], verdicts[n]) {
			n++
		}
		if err := p.settleRun(ctx, verdicts[0], verdicts[n-1].replay); err != nil {
			return doing("settle replays", err)
		}
		for _, v := range verdicts[:n] {
			p.settled(v)
		}
		verdicts = verdicts[n:]
	}
	return nil
}

// alike reports whether b continues a run of settled replays. Positions rise with
// the ids, so that no message is named twice in a run.
func alike(a, b verdict) bool {
	return b.replay == a.replay+1 && b.operation == a.operation && b.outcome == a.outcome && b.why == a.why && b.next == a.next
}

// settleRun settles all replays from that of v to last, which fared as v did.
func (p *progress) settleRun(ctx context.Context, v verdict, last parkade.ReplayID) error {
	now := millis(p.now)
	if _, err := p.tx.ExecContext(ctx, settleReplays, v.outcome, v.why, now, v.replay, last); err != nil {
		return err
	}
	var err error
	switch {
	case v.next == "":
	case v.outcome == parkade.NotSent:
		_, err = p.tx.ExecContext(ctx, `
			UPDATE message SET state = ?, operation_id = NULL, changed_at = ?, expires_at = ?
			FROM replay r
			WHERE r.id BETWEEN ? AND ? AND message.id = r.message_id`,
			v.next, now, p.store.expiry(v.next, p.now), v.replay, last)
	default:
		_, err = p.tx.ExecContext(ctx, settleMessages,
			v.next, now, p.store.expiry(v.next, p.now), v.outcome, v.replay, last)
	}
	return err
}

// settleReplays forgets that a replay came back when RabbitMQ returned it: what
// came back then only carries a copy of its stamp.
const settleReplays = `
	UPDATE replay
	SET state = ?1, why = ?2, done_at = ?3, came_back = CASE WHEN ?1 = 'unroutable' THEN 0 ELSE came_back END
	WHERE id BETWEEN ?4 AND ?5 AND state = 'intent'`

// settleMessages calls only a replay's return a failure: what was given back is
// meant to be taken up once more.
const settleMessages = `
	UPDATE message
	SET state = ?1, operation_id = NULL, changed_at = ?2, expires_at = ?3, last_outcome = ?4,
	    replays = replays + 1, last_replay_id = r.id,
	    came_back = r.came_back AND ?1 <> 'given back'
	FROM replay r
	WHERE r.id BETWEEN ?5 AND ?6 AND message.id = r.message_id`

// settled counts a verdict. A replay that was given back counts nowhere while its
// message waits to be taken again.
func (p *progress) settled(v verdict) {
	p.count(parkade.Intent, -1)
	if v.next == "" {
		p.next = min(p.next, v.pos)
		return
	}
	p.count(v.outcome, 1)
	p.tally.move(v.source, parkade.InOperation, v.next, v.n)
	if v.cameBack && v.outcome == parkade.Unroutable {
		p.cameBack--
	}
}
