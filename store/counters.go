package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"parkade"
)

// Counter is how many messages of a queue are in a state, copies included.
type Counter struct {
	Queue    parkade.Queue
	State    parkade.State
	Messages int64
	Bytes    int64 // of their bodies
	Copies   int64 // possible copies among Messages
}

// tally is what one transaction changes in the counters.
type tally map[place]amount

// place is where messages are counted.
type place struct {
	source parkade.SourceID
	state  parkade.State
}

// amount is a number of messages; negative when they leave.
type amount struct{ messages, bytes, copies int64 }

// add counts n as having arrived in a place.
func (t tally) add(source parkade.SourceID, state parkade.State, n amount) {
	p := place{source, state}
	have := t[p]
	t[p] = amount{have.messages + n.messages, have.bytes + n.bytes, have.copies + n.copies}
}

// move counts n as having gone from one state to another.
func (t tally) move(source parkade.SourceID, from, to parkade.State, n amount) {
	t.add(source, from, amount{-n.messages, -n.bytes, -n.copies})
	t.add(source, to, n)
}

// adjustCounters brings the counters up to what the transaction changed. Every
// transaction that inserts, deletes or moves messages calls it once.
func adjustCounters(ctx context.Context, tx *sql.Tx, t tally) error {
	places := slices.SortedFunc(maps.Keys(t), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.state, b.state))
	})
	for _, p := range places {
		n := t[p]
		if n == (amount{}) {
			continue
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO counter (source_id, state, messages, bytes, copies)
			VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (source_id, state) DO UPDATE
			SET messages = messages + excluded.messages, bytes = bytes + excluded.bytes, copies = copies + excluded.copies`,
			p.source, p.state, n.messages, n.bytes, n.copies)
		if err != nil {
			return doing("count messages", err)
		}
	}
	return nil
}

// Counters returns what is counted, by queue and state; places without messages
// are left out.
func (s *Store) Counters(ctx context.Context) ([]Counter, error) {
	return counters(ctx, s.reader)
}

func counters(ctx context.Context, q querier) ([]Counter, error) {
	return query(ctx, q, func(r row) (Counter, error) {
		var c Counter
		err := r.Scan(&c.Queue.Broker, &c.Queue.Vhost, &c.Queue.Name, &c.State, &c.Messages, &c.Bytes, &c.Copies)
		return c, err
	}, `
		SELECT s.broker, s.vhost, s.queue, c.state, c.messages, c.bytes, c.copies
		FROM counter c JOIN source s ON s.id = c.source_id
		WHERE c.messages <> 0
		ORDER BY s.broker, s.vhost, s.queue, c.state`)
}
