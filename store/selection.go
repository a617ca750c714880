package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"slices"

	"parkade"
)

// Selection returns the messages with these ids, in that order and each once, and
// a hash that changes when one of them is edited, replayed or removed: what Expect
// holds an operation against. Ids of messages that are gone are left out.
func (s *Store) Selection(ctx context.Context, ids []parkade.MessageID) ([]parkade.Message, string, error) {
	ms, err := query(ctx, s.reader, s.scanMessage, selected, listOfIDs(ids))
	if err != nil {
		return nil, "", doing("read a selection", err)
	}
	h := sha256.New()
	for _, m := range ms { // by id
		addToHash(h, standing{id: m.ID, version: m.Version, last: m.LastReplay})
	}
	at := make(map[parkade.MessageID]int, len(ids))
	for i, id := range slices.Backward(ids) {
		at[id] = i
	}
	slices.SortFunc(ms, func(a, b parkade.Message) int { return at[a.ID] - at[b.ID] })
	return ms, hex.EncodeToString(h.Sum(nil)), nil
}

// Preview returns what Create would freeze now: the count and the hash that its
// Expect has to repeat. A set that Create would refuse fails here in the same way.
func (s *Store) Preview(ctx context.Context, n NewOperation) (Expect, error) {
	states, err := n.states()
	if err != nil {
		return Expect{}, err
	}
	n.Expect, n.IdempotencyKey = nil, ""
	var e Expect
	err = s.write(ctx, 0, func(tx *sql.Tx) error {
		c := creation{store: s, tx: tx, now: s.now(), NewOperation: n, states: states}
		err := c.insert(ctx)
		if err == nil && n.Filter != nil {
			err = c.freezeFilter(ctx)
		} else if err == nil {
			err = c.freezeItems(ctx)
		}
		if err == nil {
			e.Count, _, err = c.frozen(ctx)
		}
		if err == nil {
			e.Hash, err = hashOf(ctx, tx, c.id)
		}
		if err == nil {
			err = errOnlyLooked
		}
		return err
	})
	if errors.Is(err, errOnlyLooked) {
		err = nil
	}
	return e, err
}

// errOnlyLooked takes a transaction back that only looked what would happen.
var errOnlyLooked = errors.New("only looked")

const (
	selected = `SELECT ` + columns + ` FROM message m WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id`
	stands   = `
		SELECT m.id, m.state, m.version, COALESCE(m.last_replay_id, 0), m.wrapper
		FROM message m
		WHERE m.id IN (SELECT value FROM json_each(?))
		ORDER BY m.id`
)

func scanStanding(r row) (standing, error) {
	var m standing
	err := r.Scan(&m.id, &m.state, &m.version, &m.last, &m.wrapper)
	return m, err
}

func standingOf(ctx context.Context, tx *sql.Tx, ids []parkade.MessageID) ([]standing, error) {
	return query(ctx, tx, scanStanding, stands, listOfIDs(ids))
}

// hashOf returns the hash of an operation's frozen set.
func hashOf(ctx context.Context, tx *sql.Tx, id parkade.OperationID) (string, error) {
	h := sha256.New()
	rows, err := tx.QueryContext(ctx, `
		SELECT m.id, m.state, m.version, COALESCE(m.last_replay_id, 0), m.wrapper
		FROM operation_item i JOIN message m ON m.id = i.message_id
		WHERE i.operation_id = ?
		ORDER BY m.id`, id)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanStanding(rows)
		if err != nil {
			return "", err
		}
		addToHash(h, m)
	}
	return hex.EncodeToString(h.Sum(nil)), rows.Err()
}

func addToHash(h hash.Hash, m standing) {
	var b []byte
	b = binary.BigEndian.AppendUint64(b, uint64(m.id))      //nolint:gosec // same bits
	b = binary.BigEndian.AppendUint64(b, uint64(m.version)) //nolint:gosec // same bits
	b = binary.BigEndian.AppendUint64(b, uint64(m.last))    //nolint:gosec // same bits
	h.Write(b)
}
