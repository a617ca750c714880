package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"parkade"
)

// versionColumns are what scanEdit reads, of the table edit.
const versionColumns = `message_id, version, base, by, note, created_at, exchange, routing_key, size, body_hash, properties, headers`

// scanEdit reads a row with versionColumns and whatever more is asked for.
func scanEdit(r row, more ...any) (parkade.Edit, error) {
	var (
		e                         parkade.Edit
		at                        int64
		hash, properties, headers []byte
	)
	err := r.Scan(append([]any{
		&e.Message, &e.Version, &e.Base, &e.By, &e.Note, &at, &e.Draft.Exchange, &e.Draft.RoutingKey, &e.Size, &hash, &properties, &headers,
	}, more...)...)
	if err != nil {
		return e, err
	}
	e.At = moment(at)
	copy(e.BodyHash[:], hash)
	if e.Draft.Properties, err = parkade.ParseProperties(properties); err == nil {
		e.Draft.Headers, err = parkade.ParseTable(headers)
	}
	return e, err
}

// Versions returns all versions of a message without their bodies, newest first:
// its edits, what arrived, and what is in its wrapper.
func (s *Store) Versions(ctx context.Context, id parkade.MessageID) ([]parkade.Edit, error) {
	all, err := query(ctx, s.reader, func(r row) (parkade.Edit, error) { return scanEdit(r) },
		`SELECT `+versionColumns+` FROM edit WHERE message_id = ? ORDER BY version DESC`, id)
	if err != nil {
		return nil, doing("versions of message "+id.String(), err)
	}
	first, wrapper, err := arrived(ctx, s.reader, id)
	if err != nil {
		return nil, noMessage(id, err)
	}
	inner, wrapped := unwrapped(first, wrapper)
	first.Draft.Body = nil
	all = append(all, first)
	if wrapped {
		inner.Draft.Body = nil
		all = append(all, inner)
	}
	return all, nil
}

// Version returns one version of a message with its body.
func (s *Store) Version(ctx context.Context, id parkade.MessageID, version int64) (parkade.Edit, error) {
	return s.version(ctx, s.reader, id, version)
}

func (s *Store) version(ctx context.Context, q querier, id parkade.MessageID, version int64) (parkade.Edit, error) {
	if version > parkade.Arrived {
		return savedVersion(ctx, q, id, version)
	}
	e, wrapper, err := arrived(ctx, q, id)
	if err != nil {
		return e, noMessage(id, err)
	}
	if version == parkade.Arrived {
		return e, nil
	}
	if inner, ok := unwrapped(e, wrapper); ok && version == parkade.Unwrapped {
		return inner, nil
	}
	return e, noVersion(id, version)
}

func savedVersion(ctx context.Context, q querier, id parkade.MessageID, version int64) (parkade.Edit, error) {
	var body []byte
	e, err := scanEdit(q.QueryRowContext(ctx, `SELECT `+versionColumns+`, body FROM edit WHERE message_id = ? AND version = ?`, id, version), &body)
	if errors.Is(err, sql.ErrNoRows) {
		return e, noVersion(id, version)
	}
	e.Draft.Body = body
	return e, doing(fmt.Sprintf("version %d of message %d", version, id), err)
}

// noVersion phrases that there is no such version.
func noVersion(id parkade.MessageID, version int64) error {
	return parkade.Errorf(parkade.NotFound, "There is no version %d of message #%d.", version, id).At("version")
}

// arrived reads what never changes as the first version, and its wrapper.
func arrived(ctx context.Context, q querier, id parkade.MessageID) (parkade.Edit, parkade.Wrapper, error) {
	var body []byte
	var wrapper parkade.Wrapper
	e, err := scanEdit(q.QueryRowContext(ctx, `
		SELECT m.id, 1, 1, '', '', m.parked_at, m.exchange, m.routing_key, m.size, m.body_hash, c.properties, c.headers, c.body, m.wrapper
		FROM message m JOIN content c ON c.message_id = m.id
		WHERE m.id = ?`, id), &body, &wrapper)
	e.Draft.Body = body
	return e, wrapper, err
}

// unwrapped returns what is in the wrapper of what arrived.
func unwrapped(e parkade.Edit, wrapper parkade.Wrapper) (parkade.Edit, bool) {
	if wrapper == "" {
		return e, false
	}
	w, ok := parkade.Unwrap(e.Draft.Content, e.Draft.Body)
	if !ok {
		return e, false
	}
	e.Version, e.Draft = parkade.Unwrapped, w.Draft
	e.BodyHash, e.Size = sha256.Sum256(w.Draft.Body), int64(len(w.Draft.Body))
	return e, true
}

// sends returns the version of m that is sent, if m has it.
func (c *creation) sends(m standing, item Planned) (int64, error) {
	switch {
	case c.Verb == parkade.GiveBack:
		return parkade.Arrived, nil
	case item.Sends == nil:
		return parkade.Message{Version: m.version, Wrapper: m.wrapper}.Sends(), nil
	case *item.Sends < 0 || *item.Sends > m.version || *item.Sends == parkade.Unwrapped && m.wrapper == "":
		return 0, noVersion(item.Message, *item.Sends)
	}
	return *item.Sends, nil
}
