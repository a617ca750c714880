package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"parkade"
)

// creation is the transaction that makes an operation.
type creation struct {
	NewOperation

	store  *Store
	tx     *sql.Tx
	now    time.Time
	states []parkade.State // that it may take
	id     parkade.OperationID

	private map[destination]string // exchanges of ours
}

func (c *creation) run(ctx context.Context) (parkade.OperationID, error) {
	if err := c.edit(ctx); err != nil {
		return 0, err
	}
	if err := c.insert(ctx); err != nil {
		return 0, doing("insert an operation", err)
	}
	freeze := c.freezeItems
	if c.Filter != nil {
		freeze = c.freezeFilter
	}
	if err := freeze(ctx); err != nil {
		return 0, err
	}
	total, skipped, err := c.frozen(ctx)
	if err != nil {
		return 0, err
	}
	if c.Verb == parkade.GiveBack {
		if err := c.giveBack(ctx); err != nil {
			return 0, doing("give messages back", err)
		}
	}
	if err := c.hold(ctx); err != nil {
		return 0, doing("freeze the set", err)
	}
	if _, err := c.tx.ExecContext(ctx, `UPDATE operation SET total = ?, skipped = ? WHERE id = ?`, total, skipped, c.id); err != nil {
		return 0, err
	}
	return c.id, c.act(ctx, total-skipped)
}

func (c *creation) insert(ctx context.Context) error {
	target, err := json.Marshal(c.Target)
	if err != nil {
		return err
	}
	policy, err := json.Marshal(c.Policy)
	if err != nil {
		return err
	}
	filter, state, now := "", parkade.Finished, millis(c.now)
	if c.Filter != nil {
		filter = c.Filter.Query().Encode()
	}
	var key, hash, started, due, ended any
	if c.IdempotencyKey != "" {
		key, hash = c.IdempotencyKey, c.RequestHash[:]
	}
	switch {
	case !sends(c.Verb):
		started, ended = now, now
	case c.Delay > 0:
		state, due = parkade.Scheduled, millis(c.now.Add(c.Delay))
	default:
		state, started = parkade.Running, now
	}
	maxBad := c.MaxBad
	if maxBad == 0 {
		maxBad = defaultMaxBad
	}
	return c.tx.QueryRowContext(ctx, `
		INSERT INTO operation (verb, state, by, reason, filter, target, policy, rate, max_bad, base_replay_id,
		                       idempotency_key, request_hash, created_at, due_at, started_at, ended_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, (SELECT COALESCE(max(id), 0) FROM replay), ?10, ?11, ?12, ?13, ?14, ?15)
		RETURNING id`,
		c.Verb, state, c.By, c.Reason, filter, string(target), string(policy), c.Rate, maxBad, key, hash, now, due, started, ended).Scan(&c.id)
}

// freezeFilter takes what matches now and whose state allows it. Undecided
// possible copies stay out unless they were asked for.
func (c *creation) freezeFilter(ctx context.Context) error {
	w := c.store.matchingAll(*c.Filter)
	states := make([]any, len(c.states))
	for i, state := range c.states {
		states[i] = state
	}
	w.and(`m.state IN (`+placeholders(len(states))+`)`, states...)
	if !c.Copies && !c.Filter.Copies {
		w.and(`(m.copy_of IS NULL OR m.state NOT IN ('parked', 'in doubt'))`)
	}
	exchange, key := c.Target.Address()
	_, err := c.tx.ExecContext(ctx, freezing(w, c.Verb), append([]any{c.id, exchange, key}, w.args...)...)
	return doing("freeze the set", err)
}

// freezing is the statement that freezes what matches w. Each message is sent in
// its newest version, or out of its wrapper; one that is given back, as it arrived.
func freezing(w where, verb parkade.Verb) string {
	sends := `CASE WHEN m.version = 1 AND m.wrapper <> '' THEN 0 ELSE m.version END`
	if verb == parkade.GiveBack {
		sends = `1`
	}
	return `
		INSERT INTO operation_item (operation_id, pos, message_id, version, sends, was, exchange, routing_key)
		SELECT ?, row_number() OVER (ORDER BY m.id), m.id, m.version, ` + sends + `, m.state, ?, ?
		FROM message m
		WHERE ` + w.String()
}

// freezeItems takes the messages that were named, if none of them moved.
func (c *creation) freezeItems(ctx context.Context) error {
	items, named := c.Items, len(c.Items) > 0
	if !named {
		exchange, key := c.Target.Address()
		for _, id := range c.IDs {
			items = append(items, Planned{Message: id, Exchange: exchange, RoutingKey: key, Into: c.into()})
		}
	}
	now, err := c.current(ctx, items)
	if err != nil {
		return err
	}
	insert, err := c.tx.PrepareContext(ctx, `
		INSERT INTO operation_item (operation_id, pos, message_id, version, sends, was, exchange, routing_key, skipped)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	var moved []parkade.MessageID
	pos, seen := 0, make(map[parkade.MessageID]bool, len(items))
	for _, item := range items {
		if seen[item.Message] {
			continue
		}
		seen[item.Message] = true
		m, there := now[item.Message]
		if item.Skip == "" && (!there || !c.stands(m, item, named)) {
			moved = append(moved, item.Message)
			continue
		}
		sends, err := c.sends(m, item)
		if err != nil {
			return err
		}
		if item.Into != "" && item.Skip == "" {
			if item.Exchange, err = c.privateExchange(ctx, item.Message, item.Into); err != nil {
				return err
			}
		}
		pos++
		if _, err := insert.ExecContext(ctx, c.id, pos, item.Message, m.version, sends, m.state, item.Exchange, item.RoutingKey, item.Skip); err != nil {
			return err
		}
	}
	if len(moved) > 0 {
		return c.conflict(ctx, moved, items)
	}
	return nil
}

// standing is what has to be as it was shown.
type standing struct {
	id      parkade.MessageID
	state   parkade.State
	version int64
	last    parkade.ReplayID
	wrapper parkade.Wrapper
}

// stands reports whether a message is as it was shown, and may be taken.
func (c *creation) stands(m standing, item Planned, shown bool) bool {
	if shown && (m.version != item.Version || m.last != item.LastReplay) {
		return false
	}
	return slices.Contains(c.states, m.state)
}

func (c *creation) current(ctx context.Context, items []Planned) (map[parkade.MessageID]standing, error) {
	ids := make([]parkade.MessageID, len(items))
	for i, item := range items {
		ids[i] = item.Message
	}
	list, err := standingOf(ctx, c.tx, ids)
	now := make(map[parkade.MessageID]standing, len(list))
	for _, m := range list {
		now[m.id] = m
	}
	return now, err
}

// frozen counts the set and compares it with what was expected.
func (c *creation) frozen(ctx context.Context) (total, skipped int64, err error) {
	if err := c.tx.QueryRowContext(ctx, `
		SELECT count(*), COALESCE(sum(skipped <> ''), 0) FROM operation_item WHERE operation_id = ?`, c.id).Scan(&total, &skipped); err != nil {
		return 0, 0, err
	}
	if total == 0 {
		return 0, 0, parkade.Errorf(parkade.Invalid, "Nothing is selected: no message is both in the set and in a state that this operation takes.")
	}
	if c.Expect == nil {
		return total, skipped, nil
	}
	if c.Expect.Count != total {
		return 0, 0, parkade.Errorf(parkade.Conflict,
			"The set moved: %d messages were shown, and now it would be %d. %s", c.Expect.Count, total, c.nothing())
	}
	if c.Expect.Hash == "" {
		return total, skipped, nil
	}
	hash, err := hashOf(ctx, c.tx, c.id)
	if err == nil && hash != c.Expect.Hash {
		err = parkade.Errorf(parkade.Conflict,
			"The set moved: it still has %d messages, but they aren't the same, or some were replayed or edited meanwhile. %s", total, c.nothing())
	}
	return total, skipped, err
}

// nothing says that a refused operation had no effect.
func (c *creation) nothing() string {
	if sends(c.Verb) {
		return "Nothing was sent."
	}
	return "Nothing was changed."
}

// hold puts the messages of the frozen set where the verb wants them: in operation,
// or at once into their new state.
func (c *creation) hold(ctx context.Context) error {
	t := tally{}
	next, holder := `'in operation'`, any(c.id)
	switch c.Verb {
	case parkade.Discard:
		next, holder = `'discarded'`, nil
	case parkade.Resolve:
		next, holder = `'resolved'`, nil
	case parkade.Restore:
		next, holder = `CASE WHEN `+unsettled+` THEN 'in doubt' ELSE 'parked' END`, nil
	case parkade.Replay, parkade.GiveBack:
	}
	if err := c.store.moveItems(ctx, c.tx, c.now, t, next, holder, `i.operation_id = ? AND i.skipped = ''`, c.id); err != nil {
		return err
	}
	return adjustCounters(ctx, c.tx, t)
}

// unsettled holds for a message m with a replay that may have arrived, about which
// nobody has decided.
const unsettled = `EXISTS (SELECT 1 FROM replay u WHERE u.message_id = m.id AND u.state = 'unknown' AND u.settled_by IS NULL)`

// moveItems moves the messages m of those items i that are meant to the state that
// the expression next gives, held by holder or, where that is nil, by nobody.
func (s *Store) moveItems(ctx context.Context, tx *sql.Tx, now time.Time, t tally, next string, holder any, items string, args ...any) error {
	type move struct {
		source   parkade.SourceID
		from, to parkade.State
		n        amount
	}
	from := ` FROM operation_item i JOIN message m ON m.id = i.message_id WHERE ` + items
	moves, err := query(ctx, tx, func(r row) (move, error) {
		var v move
		err := r.Scan(&v.source, &v.from, &v.to, &v.n.messages, &v.n.bytes, &v.n.copies)
		return v, err
	}, `SELECT m.source_id, m.state, `+next+`, count(*), sum(m.size), sum(m.copy_of IS NOT NULL)`+from+` GROUP BY 1, 2, 3`, args...)
	if err != nil {
		return err
	}
	for _, v := range moves {
		t.move(v.source, v.from, v.to, v.n)
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE message
		SET state = n.next, operation_id = ?, changed_at = ?,
		    expires_at = CASE WHEN n.next IN ('parked', 'in operation', 'in doubt') THEN NULL WHEN n.next = 'discarded' THEN ? ELSE ? END
		FROM (SELECT i.message_id, `+next+` AS next`+from+`) AS n
		WHERE message.id = n.message_id`,
		append([]any{holder, millis(now), s.expiry(parkade.Discarded, now), s.expiry(parkade.Replayed, now)}, args...)...)
	return err
}

// act writes the operation's entry in the audit trail.
func (c *creation) act(ctx context.Context, count int64) error {
	a := parkade.Action{At: c.now, By: c.By, Verb: string(c.Verb), Operation: c.id, Count: count, Reason: c.Reason}
	sources, err := query(ctx, c.tx, one[parkade.SourceID], `
		SELECT DISTINCT m.source_id FROM operation_item i JOIN message m ON m.id = i.message_id WHERE i.operation_id = ? LIMIT 2`, c.id)
	if err != nil {
		return err
	}
	if len(sources) == 1 {
		q := c.store.queueOf(sources[0])
		a.Queue = &q
	}
	if c.Filter != nil {
		a.Detail = "all that match: " + c.Filter.Query().Encode()
	} else if count == 1 {
		a.Message, err = one[parkade.MessageID](c.tx.QueryRowContext(ctx,
			`SELECT message_id FROM operation_item WHERE operation_id = ? AND skipped = '' LIMIT 1`, c.id))
	}
	if err != nil {
		return err
	}
	return doing(fmt.Sprintf("operation %d", c.id), addAction(ctx, c.tx, a))
}
