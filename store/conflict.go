package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"parkade"
)

// conflict says what moved, of the first message in full.
func (c *creation) conflict(ctx context.Context, moved []parkade.MessageID, items []Planned) error {
	var first Planned
	for _, item := range items {
		if item.Message == moved[0] {
			first = item
			break
		}
	}
	what, err := c.movement(ctx, first)
	if err != nil {
		return err
	}
	others := ""
	switch n := len(moved) - 1; {
	case n == 1:
		others = " Another one moved too."
	case n > 1:
		others = fmt.Sprintf(" %d others moved too.", n)
	}
	return parkade.Errorf(parkade.Conflict, "%s.%s %s", what, others, c.nothing())
}

// movement says in words, without a full stop, why a message isn't as it was
// shown or can't be taken.
func (c *creation) movement(ctx context.Context, item Planned) (string, error) {
	id := item.Message
	m, err := c.store.scanMessage(c.tx.QueryRowContext(ctx, `SELECT `+columns+` FROM message m WHERE m.id = ?`, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Sprintf("#%d is no longer in the store", id), nil
	case err != nil:
		return "", err
	case m.State == parkade.InOperation:
		return held(ctx, c.tx, m, c.now)
	case len(c.Items) > 0 && m.LastReplay != item.LastReplay:
		return c.replayed(ctx, m)
	case len(c.Items) > 0 && m.Version != item.Version:
		return edited(ctx, c.tx, m, c.now)
	case m.State == parkade.InDoubt:
		return fmt.Sprintf("#%d is in doubt: its last replay may have arrived", id), nil
	case m.State == parkade.Replayed:
		return c.replayed(ctx, m)
	}
	by, err := c.lastChange(ctx, m)
	return fmt.Sprintf("#%d is %s%s", id, m.State, by), err
}

// held says which operation holds m.
func held(ctx context.Context, tx *sql.Tx, m parkade.Message, now time.Time) (string, error) {
	o, err := scanOperation(tx.QueryRowContext(ctx, `SELECT `+operationColumns+` FROM operation o WHERE o.id = ?`, m.Operation))
	return fmt.Sprintf("#%d is already in operation #%d, which %s began %s ago", m.ID, o.ID, o.By, parkade.Age(now.Sub(o.CreatedAt))), err
}

// edited says who made the newest version of m.
func edited(ctx context.Context, tx *sql.Tx, m parkade.Message, now time.Time) (string, error) {
	var by, note string
	var at int64
	err := tx.QueryRowContext(ctx, `SELECT by, note, created_at FROM edit WHERE message_id = ? AND version = ?`, m.ID, m.Version).Scan(&by, &note, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Sprintf("#%d has no edits", m.ID), nil
	}
	if note != "" {
		note = " (" + note + ")"
	}
	return fmt.Sprintf("#%d was edited %s ago by %s: version %d%s", m.ID, parkade.Age(now.Sub(moment(at))), by, m.Version, note), err
}

// replayed tells of the last replay of m.
func (c *creation) replayed(ctx context.Context, m parkade.Message) (string, error) {
	var by string
	var operation parkade.OperationID
	var outcome parkade.Outcome
	var at int64
	err := c.tx.QueryRowContext(ctx, `
		SELECT o.by, o.id, r.state, COALESCE(r.done_at, r.intent_at)
		FROM replay r JOIN operation o ON o.id = r.operation_id
		WHERE r.id = ?`, m.LastReplay).Scan(&by, &operation, &outcome, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Sprintf("#%d was replayed meanwhile", m.ID), nil
	}
	return fmt.Sprintf("#%d was replayed %s ago by %s (operation #%d, %s)", m.ID, parkade.Age(c.now.Sub(moment(at))), by, operation, outcome), err
}

// lastChange tells which operation last took m, with a leading comma, or nothing.
func (c *creation) lastChange(ctx context.Context, m parkade.Message) (string, error) {
	var by string
	var operation parkade.OperationID
	err := c.tx.QueryRowContext(ctx, `
		SELECT o.by, o.id
		FROM operation_item i JOIN operation o ON o.id = i.operation_id
		WHERE i.message_id = ? AND i.operation_id < ?
		ORDER BY i.operation_id DESC
		LIMIT 1`, m.ID, c.id).Scan(&by, &operation)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return fmt.Sprintf(", since %s ago by %s (operation #%d)", parkade.Age(c.now.Sub(m.ChangedAt)), by, operation), err
}

// listOfIDs writes ids as the JSON array that json_each reads: one argument for a
// set of any size.
func listOfIDs[T ~int64](ids []T) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d", id)
	}
	b.WriteByte(']')
	return b.String()
}
