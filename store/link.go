package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"parkade"
	"parkade/store/crash"
)

// sent is what the store knows of the replay behind a stamp.
type sent struct {
	replay   parkade.ReplayID
	outcome  parkade.Outcome
	verb     parkade.Verb
	message  parkade.MessageID // that was replayed
	source   parkade.SourceID
	state    parkade.State
	last     parkade.ReplayID
	round    int64
	id       string // message id that was sent
	hash     []byte // of the body that was sent
	size     int64
	isCopy   bool
	exchange sql.NullString
	key      sql.NullString
	queue    sql.NullString
}

// link connects r with the replay whose stamp it carries. A stamp of this store on
// a message that isn't the one that was sent is only a copied header.
func (p *parking) link(ctx context.Context, r *record) error {
	r.round = 1
	text, messageID, body := r.stamped()
	epoch, id, ok := parseStamp(text)
	if !ok {
		return nil
	}
	b, err := p.sent(ctx, epoch, id)
	if errors.Is(err, sql.ErrNoRows) {
		r.foreign = text
		return nil
	}
	if err != nil {
		return doing("look up a stamp", err)
	}
	if !b.cameBackAs(messageID, body) {
		return nil
	}
	r.cameFrom, r.previous, r.round = b.replay, b.message, b.round+1
	if b.verb == parkade.GiveBack {
		r.round = b.round
	}
	r.origin = b.firstOrigin(r.origin)
	return p.cameBack(ctx, b)
}

// firstOrigin returns where what came back was first published to; died is what its
// new deaths tell, or nil. One that we put into the queue that had failed it before,
// straight or by an exchange of ours, and that failed there again, was first
// published where it always was.
func (b sent) firstOrigin(died *parkade.Origin) *parkade.Origin {
	ours := died != nil && strings.HasPrefix(died.Exchange, parkade.PrivateExchange+".") && died.Queue == b.queue.String
	if !b.queue.Valid || died != nil && !ours && *died != (parkade.Origin{RoutingKey: b.queue.String, Queue: b.queue.String}) {
		return died
	}
	return &parkade.Origin{Exchange: b.exchange.String, RoutingKey: b.key.String, Queue: b.queue.String}
}

func (p *parking) sent(ctx context.Context, epoch []byte, id parkade.ReplayID) (sent, error) {
	b := sent{replay: id}
	err := p.tx.QueryRowContext(ctx, `
		SELECT r.state, o.verb, m.id, m.source_id, m.state, COALESCE(m.last_replay_id, 0), m.round,
		       CASE WHEN r.sent_hash IS NULL THEN m.message_id ELSE r.sent_id END, COALESCE(r.sent_hash, m.body_hash),
		       m.size, m.copy_of IS NOT NULL, m.origin_exchange, m.origin_key, m.origin_queue
		FROM replay r
		JOIN run ON run.id = r.run_id
		JOIN message m ON m.id = r.message_id
		LEFT JOIN operation o ON o.id = r.operation_id
		WHERE r.id = ? AND run.epoch = ?`, id, epoch).Scan(
		&b.outcome, &b.verb, &b.message, &b.source, &b.state, &b.last, &b.round, &b.id, &b.hash,
		&b.size, &b.isCopy, &b.exchange, &b.key, &b.queue)
	return b, err
}

// cameBackAs reports whether b sent what has that message id, or, where there is
// none, that body. What certainly never arrived can't come back.
func (b sent) cameBackAs(messageID string, body [32]byte) bool {
	switch b.outcome {
	case parkade.Unroutable, parkade.Refused, parkade.NotSent:
		return false
	case parkade.Intent, parkade.Confirmed, parkade.Nacked, parkade.Unknown:
	}
	if b.id != "" || messageID != "" {
		return b.id == messageID
	}
	return string(b.hash) == string(body[:])
}

// cameBack records that b's replay arrived. While it is still on its way, its
// confirm settles it, or the next start, which both ask for this first.
func (p *parking) cameBack(ctx context.Context, b sent) error {
	now := millis(p.now)
	if err := countCameBack(ctx, p.tx, b.replay); err != nil {
		return err
	}
	if _, err := p.tx.ExecContext(ctx, `
		UPDATE replay
		SET came_back = 1,
		    done_at = CASE WHEN state IN ('unknown', 'nacked') THEN ?2 ELSE done_at END,
		    why = CASE WHEN state IN ('unknown', 'nacked') THEN 'it came back' ELSE why END,
		    state = CASE WHEN state IN ('unknown', 'nacked') THEN 'confirmed' ELSE state END
		WHERE id = ?1`, b.replay, now); err != nil {
		return err
	}
	next, failed := parkade.Replayed, true
	if b.verb == parkade.GiveBack { // it was meant to be drained once more
		next, failed = parkade.GivenBack, false
	}
	if _, err := p.tx.ExecContext(ctx, `
		UPDATE message
		SET came_back = ?, last_outcome = CASE WHEN last_outcome IN ('unknown', 'nacked') THEN 'confirmed' ELSE last_outcome END
		WHERE id = ? AND last_replay_id = ?`, failed, b.message, b.replay); err != nil {
		return err
	}
	if b.outcome == parkade.Intent {
		crash.Point("drain.came_back")
	}
	if b.outcome != parkade.Unknown || b.state != parkade.InDoubt {
		return nil
	}
	p.tally.move(b.source, parkade.InDoubt, next, amount{1, b.size, copies(b.isCopy)})
	_, err := p.tx.ExecContext(ctx, `UPDATE message SET state = ?, changed_at = ?, expires_at = ? WHERE id = ?`,
		next, now, p.store.expiry(next, p.now), b.message)
	return err
}

func copies(isCopy bool) int64 {
	if isCopy {
		return 1
	}
	return 0
}
