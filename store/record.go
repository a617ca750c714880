package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parkade"
	"parkade/store/crash"
)

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
// outcome yet. The plus keeps SQLite from reading all replays of the operation.
const sendingsOf = sendings + `+r.operation_id = ? AND r.id IN (SELECT value FROM json_each(?))`

// record settles the replays of done in their order: confirmed neighbours at once,
// all others one by one.
func (p *progress) record(ctx context.Context, done []parkade.Result) error {
	for len(done) > 0 {
		n := confirmedRun(done)
		if n >= worthwhile {
			ok, err := p.confirmRun(ctx, done[0].Replay, done[n-1].Replay)
			if err != nil {
				return doing("confirm replays", err)
			}
			if ok {
				done = done[n:]
				continue
			}
		}
		for n = max(n, 1); n < len(done) && confirmedRun(done[n:]) < worthwhile; {
			n++
		}
		if err := p.recordEach(ctx, done[:n]); err != nil {
			return err
		}
		done = done[n:]
	}
	return nil
}

// worthwhile is the length from which a run of confirms is treated as one.
const worthwhile = 8

// confirmedRun returns how many results at the start of done are plain confirms of
// neighbours.
func confirmedRun(done []parkade.Result) int {
	for i, r := range done {
		if r.Outcome != parkade.Confirmed || r.Why != "" || r.Replay != done[0].Replay+parkade.ReplayID(i) {
			return i
		}
	}
	return len(done)
}

// confirmRun confirms all replays from first to last, unless one of them has an
// outcome already; then it does nothing and returns false.
func (p *progress) confirmRun(ctx context.Context, first, last parkade.ReplayID) (bool, error) {
	type part struct {
		source parkade.SourceID
		n      amount
	}
	parts, err := query(ctx, p.tx, func(r row) (part, error) {
		var v part
		err := r.Scan(&v.source, &v.n.messages, &v.n.bytes, &v.n.copies)
		return v, err
	}, confirming, first, last, p.id)
	if err != nil {
		return false, err
	}
	n := int64(0)
	for _, v := range parts {
		n += v.n.messages
	}
	if n != int64(last-first)+1 {
		return false, nil
	}
	next := p.confirmed()
	if err := p.settleRun(ctx, verdict{sending: sending{replay: first}, outcome: parkade.Confirmed, next: next}, last); err != nil {
		return false, err
	}
	for _, v := range parts {
		p.tally.move(v.source, parkade.InOperation, next, v.n)
	}
	p.count(parkade.Intent, -n)
	p.count(parkade.Confirmed, n)
	p.bad = 0
	return true, nil
}

const confirming = `
	SELECT m.source_id, count(*), sum(m.size), sum(m.copy_of IS NOT NULL)
	FROM replay r CROSS JOIN message m ON m.id = r.message_id
	WHERE r.id BETWEEN ? AND ? AND r.state = 'intent' AND +r.operation_id = ?
	GROUP BY m.source_id`

// confirmed is the state of a message whose replay was confirmed.
func (p *progress) confirmed() parkade.State {
	if p.verb == parkade.GiveBack {
		return parkade.GivenBack
	}
	return parkade.Replayed
}

// recordEach settles replays by looking at each.
func (p *progress) recordEach(ctx context.Context, done []parkade.Result) error {
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
		d.next = p.confirmed()
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
