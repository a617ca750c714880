package store

import (
	"context"

	"parkade"
)

// ActionFilter is a part of the audit trail. The zero ActionFilter is all of it.
type ActionFilter struct {
	Message   parkade.MessageID   // what was done with it, alone or as one of a set
	Operation parkade.OperationID // what was done with it
	Verb      string              // only this, where neither is given; "" is every one
	Queue     *parkade.Queue      // only what was done with this queue, likewise
}

// Actions returns entries of the audit trail that are older than before, newest
// first; before 0 begins with the newest.
func (s *Store) Actions(ctx context.Context, f ActionFilter, before int64, limit int) ([]parkade.Action, error) {
	stmt, args := actionsPage(f)
	return query(ctx, s.reader, scanAction, stmt, append(args, fromNewest(before), min(max(limit, 1), maxPage))...)
}

func actionsPage(f ActionFilter) (stmt string, args []any) {
	const head = `
		SELECT a.id, a.at, a.by, a.verb, a.broker, a.vhost, a.queue, COALESCE(a.operation_id, 0), COALESCE(a.message_id, 0),
		       a.count, a.reason, a.detail
		FROM action a
		WHERE `
	switch {
	case f.Message != 0: // few, so that sorting them costs nothing
		return head + `a.id IN (
			SELECT id FROM action WHERE message_id = ?1
			UNION
			SELECT o.id FROM operation_item i JOIN action o ON o.operation_id = i.operation_id WHERE i.message_id = ?1)
		  AND a.id < ?2 ORDER BY a.id DESC LIMIT ?3`, []any{f.Message}
	case f.Operation != 0:
		return head + `a.operation_id = ? AND a.id < ? ORDER BY a.id DESC LIMIT ?`, []any{f.Operation}
	}
	// What people did is little, so that looking through it costs little.
	where := ""
	if f.Verb != "" {
		where, args = `a.verb = ? AND `, append(args, f.Verb)
	}
	if f.Queue != nil {
		where, args = where+`a.broker = ? AND a.vhost = ? AND a.queue = ? AND `, append(args, f.Queue.Broker, f.Queue.Vhost, f.Queue.Name)
	}
	return head + where + `a.id < ? ORDER BY a.id DESC LIMIT ?`, args
}

func scanAction(r row) (parkade.Action, error) {
	var a parkade.Action
	var q parkade.Queue
	var at int64
	err := r.Scan(&a.ID, &at, &a.By, &a.Verb, &q.Broker, &q.Vhost, &q.Name, &a.Operation, &a.Message, &a.Count, &a.Reason, &a.Detail)
	a.At = moment(at)
	if q != (parkade.Queue{}) {
		a.Queue = &q
	}
	return a, err
}
