package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"parkade"
)

// NewOperation is what an operation is made from. The set is exactly one of Items,
// IDs and Filter.
type NewOperation struct {
	Verb   parkade.Verb
	Items  []Planned           // checked one by one against what was shown
	IDs    []parkade.MessageID // in the order in which they are worked through
	Filter *parkade.Filter     // all that match and whose state allows it, oldest first
	Copies bool                // a filter's set has undecided possible copies too
	Accept []parkade.State     // states that may be taken besides the verb's own
	Expect *Expect             // what was confirmed; nil checks neither
	Edit   *NewEdit            // saved first, and sent: of a replay whose only item is that message, seen as the edit's author did

	Target parkade.Target
	Policy parkade.Policy
	Rate   float64       // messages a second at most; 0 is no limit
	MaxBad int           // pauses after so many bad outcomes in a row; 20 where 0
	Delay  time.Duration // before anything is sent; until then it can be cancelled without a trace in RabbitMQ
	By     string
	Reason string

	IdempotencyKey string   // "" is none
	RequestHash    [32]byte // of the request behind IdempotencyKey
}

// Planned is one message of a set as it was shown, and where it is to be sent.
type Planned struct {
	Message    parkade.MessageID
	Version    int64  // that was seen
	Sends      *int64 // the version that is sent; nil: what Message.Sends says
	LastReplay parkade.ReplayID
	Exchange   string
	RoutingKey string
	Into       string // not "": by an exchange of ours into this queue, with RoutingKey
	Skip       string // not "": it stays out, for this reason, but is recorded
}

// Expect is what a person saw of a set before confirming.
type Expect struct {
	Count int64
	Hash  string // see Selection; "" isn't checked
}

const defaultMaxBad = 20

// MaxDelay is how long an operation may wait before it starts.
const MaxDelay = 24 * time.Hour

// takes returns the states that a verb takes by itself, and those that a person
// may tick besides.
func takes(v parkade.Verb) (own, ticked []parkade.State, ok bool) {
	switch v {
	case parkade.Replay:
		return []parkade.State{parkade.Parked}, []parkade.State{parkade.InDoubt, parkade.Replayed}, true
	case parkade.GiveBack, parkade.Discard, parkade.Resolve:
		return []parkade.State{parkade.Parked}, []parkade.State{parkade.InDoubt}, true
	case parkade.Restore:
		return []parkade.State{parkade.Discarded}, []parkade.State{parkade.Resolved}, true
	}
	return nil, nil, false
}

// sends reports whether an operation with that verb publishes.
func sends(v parkade.Verb) bool { return v == parkade.Replay || v == parkade.GiveBack }

// states checks n and returns the states whose messages it may take.
func (n NewOperation) states() ([]parkade.State, error) {
	own, ticked, ok := takes(n.Verb)
	if !ok {
		return nil, parkade.Errorf(parkade.Invalid, "There is no operation %q.", n.Verb).At("verb")
	}
	for _, state := range n.Accept {
		if !slices.Contains(own, state) && !slices.Contains(ticked, state) {
			return nil, parkade.Errorf(parkade.Invalid, "Messages that are %s can't be taken by this operation.", state).At("accept")
		}
	}
	if n.Filter != nil && n.Verb == parkade.Replay && n.Target.To != parkade.ToExchange && n.Target.To != parkade.ToQueue {
		return nil, parkade.Errorf(parkade.Invalid, "Say where all of these messages are to be sent: to an exchange, or to a queue.").At("target")
	}
	if n.Filter != nil && n.Target.Private() {
		return nil, parkade.Errorf(parkade.Invalid, "By an exchange of ours messages are sent one by one as planned.").At("target")
	}
	if n.Delay < 0 || n.Delay > MaxDelay || n.Delay > 0 && !sends(n.Verb) {
		return nil, parkade.Errorf(parkade.Invalid, "Only what is sent can wait, and at most 24 hours.").At("delay")
	}
	return append(own, n.Accept...), nil
}

// Create freezes a set of messages and makes the operation that works through it,
// in one transaction that checks again whatever was shown. A message that moved
// meanwhile is a Conflict that says how, and then nothing is changed. Operations
// that only change the store are finished when Create returns.
//
// The same idempotency key and request return the first operation, with created
// false; the same key with another request is a Conflict.
func (s *Store) Create(ctx context.Context, n NewOperation) (op parkade.Operation, created bool, err error) {
	states, err := n.states()
	if err != nil {
		return op, false, err
	}
	var id parkade.OperationID
	changes := Messages | Operations | Actions
	if n.Verb == parkade.GiveBack {
		changes |= Drains
	}
	err = s.write(ctx, changes, func(tx *sql.Tx) error {
		if id, err = n.first(ctx, tx); err != nil || id != 0 {
			return err
		}
		created = true
		c := creation{store: s, tx: tx, now: s.now(), NewOperation: n, states: states}
		id, err = c.run(ctx)
		return err
	})
	if err != nil {
		return op, false, err
	}
	op, err = s.Operation(ctx, id)
	return op, created, err
}

// first returns the operation that was made with the same key before, or 0.
func (n NewOperation) first(ctx context.Context, tx *sql.Tx) (parkade.OperationID, error) {
	if n.IdempotencyKey == "" {
		return 0, nil
	}
	var id parkade.OperationID
	var hash []byte
	err := tx.QueryRowContext(ctx, `SELECT id, request_hash FROM operation WHERE idempotency_key = ?`, n.IdempotencyKey).Scan(&id, &hash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	case string(hash) != string(n.RequestHash[:]):
		return 0, parkade.Errorf(parkade.Conflict,
			"This idempotency key belongs to another request, which made operation #%d. Nothing was changed.", id)
	}
	return id, nil
}

// operationColumns are what scanOperation reads, of the table operation called o.
const operationColumns = `o.id, o.verb, o.state, o.why, o.by, o.reason, o.filter, o.target, o.policy, o.rate, o.total,
	o.intent, o.confirmed, o.unroutable, o.nacked, o.refused, o.unknown, o.cancelled, o.skipped, o.came_back,
	o.created_at, COALESCE(o.due_at, 0), COALESCE(o.started_at, 0), COALESCE(o.ended_at, 0), COALESCE(o.dismissed_at, 0)`

func scanOperation(r row) (parkade.Operation, error) {
	var (
		o                                 parkade.Operation
		target, policy                    []byte
		created, due, started             int64
		ended, dismissed                  int64
		intent, confirmed, unroutable     int64
		nacked, refused, unknown, notSent int64
	)
	err := r.Scan(&o.ID, &o.Verb, &o.State, &o.Why, &o.By, &o.Reason, &o.Filter, &target, &policy, &o.Rate, &o.Total,
		&intent, &confirmed, &unroutable, &nacked, &refused, &unknown, &notSent, &o.Skipped, &o.CameBack,
		&created, &due, &started, &ended, &dismissed)
	if err != nil {
		return o, err
	}
	o.Counts = map[parkade.Outcome]int64{
		parkade.Intent: intent, parkade.Confirmed: confirmed, parkade.Unroutable: unroutable,
		parkade.Nacked: nacked, parkade.Refused: refused, parkade.Unknown: unknown, parkade.NotSent: notSent,
	}
	if sends(o.Verb) {
		o.Left = o.Total - o.Skipped
		for _, n := range o.Counts {
			o.Left -= n
		}
	}
	o.CreatedAt, o.DueAt, o.StartedAt = moment(created), moment(due), moment(started)
	o.EndedAt, o.Dismissed = moment(ended), moment(dismissed)
	if err := json.Unmarshal(target, &o.Target); err != nil {
		return o, fmt.Errorf("target of operation %d: %w", o.ID, err)
	}
	if err := json.Unmarshal(policy, &o.Policy); err != nil {
		return o, fmt.Errorf("policy of operation %d: %w", o.ID, err)
	}
	return o, nil
}

// Operation returns one operation, with counts that are kept, not counted.
func (s *Store) Operation(ctx context.Context, id parkade.OperationID) (parkade.Operation, error) {
	o, err := scanOperation(s.reader.QueryRowContext(ctx, `SELECT `+operationColumns+` FROM operation o WHERE o.id = ?`, id))
	return o, noOperation(id, err)
}

// noOperation phrases that there is no such operation.
func noOperation(id parkade.OperationID, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return parkade.Errorf(parkade.NotFound, "There is no operation %d.", id).Because(err)
	}
	return err
}

// Operations returns operations older than before, newest first; before 0 begins
// with the newest.
func (s *Store) Operations(ctx context.Context, before parkade.OperationID, limit int) ([]parkade.Operation, error) {
	return query(ctx, s.reader, scanOperation, operationsPage, fromNewest(int64(before)), min(max(limit, 1), maxPage))
}

// Undismissed is Operations without those that somebody put out of sight.
func (s *Store) Undismissed(ctx context.Context, before parkade.OperationID, limit int) ([]parkade.Operation, error) {
	return query(ctx, s.reader, scanOperation, undismissedPage, fromNewest(int64(before)), min(max(limit, 1), maxPage))
}

// Active returns all operations that haven't ended, oldest first.
func (s *Store) Active(ctx context.Context) ([]parkade.Operation, error) {
	return query(ctx, s.reader, scanOperation, activeOperations)
}

const (
	operationsPage   = `SELECT ` + operationColumns + ` FROM operation o WHERE o.id < ? ORDER BY o.id DESC LIMIT ?`
	undismissedPage  = `SELECT ` + operationColumns + ` FROM operation o WHERE o.id < ? AND o.dismissed_at IS NULL ORDER BY o.id DESC LIMIT ?`
	activeOperations = `SELECT ` + operationColumns + ` FROM operation o WHERE o.state NOT IN ('cancelled', 'finished') ORDER BY o.id`
)

// fromNewest is the cursor of a list that begins with the newest where before is 0.
func fromNewest(before int64) int64 {
	if before == 0 {
		return math.MaxInt64
	}
	return before
}
