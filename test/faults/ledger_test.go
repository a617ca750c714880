package faults

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/store"
)

// ledger is what a test published, and how often each.
type ledger map[content]int

// content is what tells messages apart.
type content struct{ id, body string }

// mixed returns the i-th message of a mixed load and notes it: one half has ids, a
// quarter differs without ids, and of both halves one half is the very same again
// and again.
func (l ledger) mixed(i int) amqp.Publishing {
	m := amqp.Publishing{DeliveryMode: amqp.Persistent, ContentType: "text/plain", Body: []byte("the very same")}
	if i%2 == 0 {
		m.MessageId = fmt.Sprintf("id-%d", i)
	}
	if i%4 < 2 {
		m.Body = fmt.Appendf(nil, "message %d", i)
	}
	l[content{m.MessageId, string(m.Body)}]++
	return m
}

// from is mixed with the numbers from first up.
func (l ledger) from(first int) func(i int) amqp.Publishing {
	return func(i int) amqp.Publishing { return l.mixed(first + i) }
}

// promise is how exactly the protocol promises to recognise what came back.
type promise int

const (
	exactly     promise = iota // one row each
	exactWithID                // one row each with an id, and possible copies are marked without
	marked                     // possible copies are marked
)

// check compares the store with what was published: nothing is missing, a copy is
// never unmarked, and nothing is marked that the protocol promises to recognise.
func (l ledger) check(t *testing.T, s *store.Store, p promise) {
	t.Helper()
	rows, copies := map[content]int{}, map[content]int{}
	of := map[parkade.MessageID]content{}
	all := everything(t, s)
	seen := 0
	for _, m := range all {
		body, err := s.Body(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		c := content{m.MessageID, string(body)}
		of[m.ID] = c
		rows[c]++
		seen += int(m.SeenAgain)
		if m.CopyOf != 0 {
			copies[c]++
		}
	}
	for c, published := range l {
		switch stored, marks := rows[c], copies[c]; {
		case stored < published:
			t.Errorf("lost: %+v was published %d times and is stored %d times", c, published, stored)
		case stored-marks > published:
			t.Errorf("%+v was published %d times and is stored %d times unmarked", c, published, stored-marks)
		case marks > 0 && (p == exactly || p == exactWithID && c.id != ""):
			t.Errorf("%+v should have been recognised, and is marked as a possible copy %d times", c, marks)
		}
	}
	for c := range rows {
		if l[c] == 0 {
			t.Errorf("stored but never published: %+v", c)
		}
	}
	marks := checkMarks(t, all, of)
	t.Logf("%d messages, %d possible copies marked, %d copies recognised", len(all), marks, seen)
}

// checkMarks looks whether each mark names another row of the same content, no two
// name the same, and RabbitMQ had said of each that it was handed out before.
func checkMarks(t *testing.T, all []parkade.Message, of map[parkade.MessageID]content) (n int) {
	t.Helper()
	named := map[parkade.MessageID]bool{}
	for _, m := range all {
		if m.CopyOf == 0 {
			continue
		}
		n++
		if of[m.CopyOf] != of[m.ID] || m.CopyOf >= m.ID || named[m.CopyOf] || !m.Redelivered {
			t.Errorf("message %s (%+v, redelivered %t) is marked as a copy of %s (%+v), which is named already: %t",
				m.ID, of[m.ID], m.Redelivered, m.CopyOf, of[m.CopyOf], named[m.CopyOf])
		}
		named[m.CopyOf] = true
	}
	return n
}

// sound fails unless a store at rest holds what docs/protocol.md says it does.
func sound(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for claim, broken := range map[string]string{
		"nothing is on its way at rest":           `SELECT id FROM replay WHERE state = 'intent'`,
		"what came back arrived":                  `SELECT id FROM replay WHERE came_back AND state <> 'confirmed'`,
		"replayed means confirmed":                `SELECT id FROM message m WHERE state = 'replayed' AND NOT EXISTS (SELECT 1 FROM replay r WHERE r.message_id = m.id AND r.state = 'confirmed')`,
		"in doubt means unknown and undecided":    `SELECT id FROM message m WHERE state = 'in doubt' AND NOT EXISTS (SELECT 1 FROM replay r WHERE r.message_id = m.id AND r.state = 'unknown' AND r.settled_by IS NULL)`,
		"one batch of a session is unproven":      `SELECT session_id FROM drain_batch WHERE state = 'stored' GROUP BY 1 HAVING count(*) > 1`,
		"an ended operation holds nothing":        `SELECT m.id FROM message m JOIN operation o ON o.id = m.operation_id WHERE o.state IN ('cancelled', 'finished')`,
		"an operation sends each message once":    `SELECT pos FROM replay WHERE state <> 'cancelled' GROUP BY operation_id, pos HAVING count(*) > 1`,
		"the counters are what the store holds":   `SELECT source_id FROM (SELECT source_id, state, count(*), sum(size), sum(copy_of IS NOT NULL) FROM message GROUP BY 1, 2 EXCEPT SELECT source_id, state, messages, bytes, copies FROM counter)`,
		"the database file itself is not damaged": `SELECT 1 FROM pragma_quick_check WHERE quick_check <> 'ok'`,
	} {
		var id int64
		switch err := db.QueryRowContext(t.Context(), broken).Scan(&id); {
		case err == nil:
			t.Errorf("broken: %s: %d", claim, id)
		case !errors.Is(err, sql.ErrNoRows):
			t.Fatalf("%s: %v", claim, err)
		}
	}
}
