package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"parkade"
	"parkade/store/crash"
)

// Record writes outcomes of an operation down, and ends, pauses or cancels it when
// nothing of it is on its way any more. A replay that has its outcome already
// keeps it. What came back meanwhile did arrive, whatever its result says, unless
// RabbitMQ returned it.
func (s *Store) Record(ctx context.Context, id parkade.OperationID, done []parkade.Result) error {
	ctx = context.WithoutCancel(ctx)
	err := s.write(ctx, Messages|Operations, func(tx *sql.Tx) error {
		p, err := s.progress(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := p.record(ctx, done); err != nil {
			return err
		}
		if err := p.rest(ctx); err != nil {
			return err
		}
		if err := p.save(ctx); err != nil {
			return err
		}
		crash.Point("replay.outcome_open")
		return nil
	})
	if err != nil {
		return doing(fmt.Sprintf("record outcomes of operation %d", id), err)
	}
	passed(done)
	return nil
}

// passed marks the crash points behind a transaction that recorded outcomes.
func passed(done []parkade.Result) {
	if len(done) == 0 {
		return
	}
	crash.Point("replay.outcome_done")
	if slices.ContainsFunc(done, func(r parkade.Result) bool { return r.Outcome == parkade.NotSent }) {
		crash.Point("job.given_back")
	}
}

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

const sendings = `
	SELECT r.id, r.operation_id, r.pos, r.message_id, m.source_id, m.size, m.copy_of IS NOT NULL, r.came_back, i.was
	FROM replay r
	JOIN message m ON m.id = r.message_id
	JOIN operation_item i ON i.operation_id = r.operation_id AND i.pos = r.pos
	WHERE r.state = 'intent' AND `

func scanSending(r row) (sending, error) {
	v := sending{n: amount{messages: 1}}
	err := r.Scan(&v.replay, &v.operation, &v.pos, &v.message, &v.source, &v.n.bytes, &v.n.copies, &v.cameBack, &v.was)
	return v, err
}

// sendingsOf are those of an operation's replays with the given ids that have no
// outcome yet.
const sendingsOf = sendings + `r.operation_id = ? AND r.id IN (SELECT value FROM json_each(?))`

// record settles the replays of done in their order.
func (p *progress) record(ctx context.Context, done []parkade.Result) error {
	if len(done) == 0 {
		return nil
	}
	ids := make([]parkade.ReplayID, len(done))
	for i, r := range done {
		ids[i] = r.Replay
	}
	open, err := query(ctx, p.tx, scanSending, sendingsOf, p.id, listOfIDs(ids))
	if err != nil {
		return doing("look up replays on their way", err)
	}
	at := make(map[parkade.ReplayID]sending, len(open))
	for _, v := range open {
		at[v.replay] = v
	}
	verdicts := make([]verdict, 0, len(open))
	for _, r := range done {
		v, ok := at[r.Replay]
		if !ok || r.Outcome == parkade.Intent {
			continue
		}
		delete(at, r.Replay)
		settled, err := p.judge(ctx, v, r)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, settled)
		p.judgeRun(settled)
	}
	return p.settle(ctx, verdicts)
}

// judge decides what a result means for its replay and its message.
func (p *progress) judge(ctx context.Context, v sending, r parkade.Result) (verdict, error) {
	d := verdict{sending: v, outcome: r.Outcome, why: r.Why}
	if v.cameBack && r.Outcome != parkade.Confirmed && r.Outcome != parkade.Unroutable {
		d.outcome, d.why = parkade.Confirmed, "it came back"
	}
	var err error
	switch d.outcome {
	case parkade.Confirmed:
		d.next = parkade.Replayed
		if p.verb == parkade.GiveBack {
			d.next = parkade.GivenBack
		}
	case parkade.Unknown:
		d.next = parkade.InDoubt
	case parkade.NotSent:
		if p.state == parkade.Cancelling {
			d.next, err = p.before(ctx, v, v.was)
		}
	case parkade.Unroutable, parkade.Nacked, parkade.Refused:
		d.next, err = p.before(ctx, v, parkade.Parked)
	case parkade.Intent:
		err = errors.New("intent is no outcome")
	}
	return d, err
}

// before returns where a message goes that wasn't delivered: to otherwise, but one
// that was in doubt still is, unless its earlier replay came back meanwhile.
func (p *progress) before(ctx context.Context, v sending, otherwise parkade.State) (parkade.State, error) {
	if v.was != parkade.InDoubt {
		return otherwise, nil
	}
	doubt, err := one[bool](p.tx.QueryRowContext(ctx, `SELECT `+unsettled+` FROM message m WHERE m.id = ?`, v.message))
	if doubt || err != nil {
		return parkade.InDoubt, err
	}
	return parkade.Replayed, nil
}

// judgeRun pauses the operation after too many bad outcomes in a row.
func (p *progress) judgeRun(d verdict) {
	switch d.outcome {
	case parkade.Confirmed:
		p.bad = 0
	case parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.Unknown:
		p.bad++
	case parkade.Intent, parkade.NotSent:
	}
	if p.maxBad > 0 && p.bad >= p.maxBad && (p.claiming() || p.state == parkade.Watching) {
		why := fmt.Sprintf("%d messages in a row were not confirmed; the last one was %s", p.bad, d.outcome)
		if d.why != "" {
			why += ": " + d.why
		}
		p.turn(parkade.Pausing, why+".")
	}
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
	if _, err := p.tx.ExecContext(ctx, `
		UPDATE replay
		SET state = ?1, why = ?2, done_at = ?3, came_back = CASE WHEN ?1 = 'unroutable' THEN 0 ELSE came_back END
		WHERE id BETWEEN ?4 AND ?5 AND state = 'intent'`,
		v.outcome, v.why, now, v.replay, last); err != nil {
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

const settleMessages = `
	UPDATE message
	SET state = ?1, operation_id = NULL, changed_at = ?2, expires_at = ?3, last_outcome = ?4,
	    replays = replays + 1, last_replay_id = r.id, came_back = r.came_back
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
