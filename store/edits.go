package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"parkade"
	"parkade/store/crash"
)

// NewEdit is what a person made of a message.
type NewEdit struct {
	Message parkade.MessageID
	Seen    int64 // the message's version when the person began
	Base    int64 // the version that it was made from
	By      string
	Note    string
	Draft   parkade.Draft // all that would be sent, before the hygiene of a replay
}

// SaveEdit keeps n as the newest version of its message. What arrived, and every
// earlier version, stays. It is a Conflict, which says who did what when, if
// somebody else was first or an operation holds the message. Saving the same thing
// once more, as a double click does, gives the version that was saved.
func (s *Store) SaveEdit(ctx context.Context, n NewEdit) (parkade.Edit, error) {
	w, err := newEditing(n)
	if err != nil {
		return parkade.Edit{}, err
	}
	var e parkade.Edit
	err = s.write(ctx, Messages|Actions, func(tx *sql.Tx) error {
		w.store, w.tx, w.now, w.nothing = s, tx, s.now(), "Nothing was saved."
		e, err = w.save(ctx)
		return err
	})
	if err != nil {
		return parkade.Edit{}, doing("save an edit", err)
	}
	crash.Point("edit.saved")
	return e, nil
}

// editing is an edit being saved, encoded before the transaction.
type editing struct {
	NewEdit

	properties, headers []byte
	hash                [32]byte

	store   *Store
	tx      *sql.Tx
	now     time.Time
	nothing string // how a refusal ends
}

func newEditing(n NewEdit) (*editing, error) {
	w := &editing{NewEdit: n, hash: sha256.Sum256(n.Draft.Body)}
	for _, s := range []struct{ field, name, value string }{
		{"exchange", "exchange", n.Draft.Exchange}, {"routing_key", "routing key", n.Draft.RoutingKey},
	} {
		if len(s.value) > math.MaxUint8 {
			return nil, parkade.Errorf(parkade.Invalid, "The %s has %d bytes; at most 255 are possible.", s.name, len(s.value)).At(s.field)
		}
	}
	var err error
	if w.properties, err = n.Draft.Properties.AppendBinary(nil); err != nil {
		return nil, parkade.Errorf(parkade.Invalid, "The properties can't be sent: %s.", err).At("properties").Because(err)
	}
	if w.headers, err = n.Draft.Headers.AppendBinary(nil); err != nil {
		return nil, parkade.Errorf(parkade.Invalid, "The headers can't be sent: %s.", err).At("headers").Because(err)
	}
	return w, nil
}

func (w *editing) save(ctx context.Context) (parkade.Edit, error) {
	m, err := w.store.scanMessage(w.tx.QueryRowContext(ctx, `SELECT `+columns+` FROM message m WHERE m.id = ?`, w.Message))
	if err != nil {
		return parkade.Edit{}, noMessage(w.Message, err)
	}
	if m.State == parkade.InOperation {
		return parkade.Edit{}, w.refused(held(ctx, w.tx, m, w.now))
	}
	if m.Version != w.Seen {
		if e, again, err := w.repeated(ctx, m); again || err != nil {
			return e, err
		}
		return parkade.Edit{}, w.refused(edited(ctx, w.tx, m, w.now))
	}
	if w.Base < 0 || w.Base > m.Version || w.Base == parkade.Unwrapped && m.Wrapper == "" {
		return parkade.Edit{}, parkade.Errorf(parkade.Invalid, "#%d has no version %d to start from.", m.ID, w.Base).At("base")
	}
	e := w.edit(m.Version + 1)
	if err := w.insert(ctx, e); err != nil {
		return e, err
	}
	crash.Point("edit.open")
	return e, addAction(ctx, w.tx, parkade.Action{
		At: w.now, By: w.By, Verb: "edit", Queue: &m.Queue, Message: m.ID, Count: 1, Reason: w.Note,
		Detail: "version " + parkade.MessageID(e.Version).String() + " of " + parkade.MessageID(e.Base).String(),
	})
}

func (w *editing) refused(what string, err error) error {
	if err != nil {
		return err
	}
	return parkade.Errorf(parkade.Conflict, "%s. %s", what, w.nothing)
}

// edit is the version that is saved, with the times that the store keeps.
func (w *editing) edit(version int64) parkade.Edit {
	return parkade.Edit{
		Message: w.Message, Version: version, Base: w.Base, By: w.By, At: moment(millis(w.now)), Note: w.Note,
		Draft: w.Draft, BodyHash: w.hash, Size: int64(len(w.Draft.Body)),
	}
}

func (w *editing) insert(ctx context.Context, e parkade.Edit) error {
	body := w.Draft.Body
	if body == nil {
		body = []byte{}
	}
	_, err := w.tx.ExecContext(ctx, `
		INSERT INTO edit (message_id, version, base, by, note, created_at, exchange, routing_key, size, body_hash, properties, headers, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.Message, e.Version, e.Base, w.By, w.Note, millis(w.now), w.Draft.Exchange, w.Draft.RoutingKey, e.Size, w.hash[:],
		w.properties, w.headers, body)
	if err == nil {
		_, err = w.tx.ExecContext(ctx, `UPDATE message SET version = ? WHERE id = ?`, e.Version, w.Message)
	}
	return err
}

// repeated returns the newest version if it is this very edit.
func (w *editing) repeated(ctx context.Context, m parkade.Message) (parkade.Edit, bool, error) {
	if m.Version != w.Seen+1 {
		return parkade.Edit{}, false, nil
	}
	e := w.edit(m.Version)
	var at int64
	err := w.tx.QueryRowContext(ctx, `
		SELECT created_at FROM edit
		WHERE message_id = ? AND version = ? AND base = ? AND by = ? AND note = ? AND exchange = ? AND routing_key = ?
		  AND body_hash = ? AND properties = ? AND headers = ?`,
		m.ID, m.Version, w.Base, w.By, w.Note, w.Draft.Exchange, w.Draft.RoutingKey, w.hash[:], w.properties, w.headers).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return e, false, nil
	}
	e.At = moment(at)
	return e, err == nil, err
}

// edit saves the edit that an operation is made with, and has it sent.
func (c *creation) edit(ctx context.Context) error {
	if c.Edit == nil {
		return nil
	}
	n := *c.Edit
	if c.Verb != parkade.Replay || len(c.Items) != 1 || c.Items[0].Message != n.Message || c.Items[0].Skip != "" {
		return parkade.Errorf(parkade.Invalid, "An edit belongs to the replay of one message, which is its own.").At("edit")
	}
	w, err := newEditing(n)
	if err != nil {
		return err
	}
	w.store, w.tx, w.now, w.nothing = c.store, c.tx, c.now, "Nothing was saved or sent."
	e, err := w.save(ctx)
	if err != nil {
		return err
	}
	if c.Expect != nil { // the items' versions say what the hash of a set would
		c.Expect = &Expect{Count: c.Expect.Count}
	}
	c.Items = slices.Clone(c.Items)
	c.Items[0].Version, c.Items[0].Sends = e.Version, &e.Version
	return nil
}
