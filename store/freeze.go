package store

import (
	"context"
	"database/sql"
	"encoding/json"
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

// unsettled holds for a message m with a replay that may have arrived, about which
// nobody has decided.
const unsettled = `EXISTS (SELECT 1 FROM replay u WHERE u.message_id = m.id AND u.state = 'unknown' AND u.settled_by IS NULL)`
