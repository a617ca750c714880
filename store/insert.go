package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"strings"
	"sync"

	"parkade"
)

// record is a delivery on its way to becoming a row.
type record struct {
	parkade.Delivery

	encoded parkade.Encoded

	id          parkade.MessageID
	identified  bool
	brokerCount int64
	copyOf      parkade.MessageID
	lastChance  bool

	messageID string
	exception string
	reason    string
	origin    *parkade.Origin
	hint      *parkade.Origin // that headers name, for where nothing better tells
	attempts  parkade.Attempts
	wrapper   parkade.Wrapper
	inner     *parkade.Draft // what is in the wrapper, where only that carries a stamp

	cameFrom parkade.ReplayID
	foreign  string
	previous parkade.MessageID
	round    int64

	raw bool // in the fallback form
}

// newRecords encodes and hashes a batch on every core, before the transaction that
// all other writers wait for.
func newRecords(b parkade.Batch) []*record {
	const share = 64
	records := make([]*record, len(b.Deliveries))
	var wg sync.WaitGroup
	for from := 0; from < len(records); from += share {
		wg.Go(func() {
			for i := from; i < min(from+share, len(records)); i++ {
				records[i] = newRecord(b.Deliveries[i], b.DeliveryLimit)
			}
		})
	}
	wg.Wait()
	return records
}

// newRecord works out what a row says about a delivery.
func newRecord(d parkade.Delivery, limit int64) *record {
	deaths := parkade.Deaths(d.Headers)
	r := &record{
		Delivery: d, identified: d.Identified(), brokerCount: d.BrokerCount(),
		messageID: parkade.Text(d.Properties.MessageID), exception: parkade.ExceptionOf(d.Headers),
		reason: parkade.ReasonOf(deaths), attempts: parkade.AttemptsOf(d.Headers, deaths),
	}
	if n, ok := d.Headers.Int(parkade.DeliveryCount); ok && limit > 0 {
		r.lastChance = n >= limit
	}
	if o, ok := parkade.OriginOf(deaths); ok {
		r.origin = &o
	}
	if o, _, ok := parkade.HintOf(d.Headers); ok {
		r.hint = &o
	}
	r.unwrap()
	var err error
	if r.encoded, err = d.Encode(); err != nil {
		r.fallBack(err)
	}
	return r
}

// unwrap notes what a framework's error wrapper tells: it knows better than the
// deaths, which are those of the wrapper.
func (r *record) unwrap() {
	w, ok := parkade.Unwrap(r.Content, r.Body)
	if !ok {
		return
	}
	r.wrapper = w.Wrapper
	if w.Origin != nil {
		r.origin = w.Origin
	}
	if r.exception == "" {
		r.exception = w.Exception
	}
	if r.Headers.Text(parkade.ReplayIDHeader) == "" && w.Draft.Headers.Text(parkade.ReplayIDHeader) != "" {
		r.inner = &w.Draft
	}
}

// stamped returns the stamp that r carries, and the message id and body that were
// sent with it. A framework that wraps what fails wraps a replay's headers, too.
func (r *record) stamped() (stamp, id string, body [32]byte) {
	if r.inner != nil {
		return r.inner.Headers.Text(parkade.ReplayIDHeader), parkade.Text(r.inner.Properties.MessageID), sha256.Sum256(r.inner.Body)
	}
	return r.Headers.Text(parkade.ReplayIDHeader), r.messageID, r.encoded.BodyHash
}

// fallBack reduces r to what can always be written: where it was published to,
// its properties as far as they can be encoded, and its body.
func (r *record) fallBack(why error) {
	r.raw = true
	if r.encoded.Fingerprint == ([32]byte{}) {
		r.encoded.Fingerprint = r.encoded.BodyHash
	}
	if properties, err := r.Properties.AppendBinary(nil); err == nil {
		r.encoded.Properties = properties
	} else {
		r.encoded.Properties = []byte{0, 0}
	}
	r.encoded.Headers = []byte{0, 0, 0, 0}
	r.exception = "stored without its headers: " + why.Error()
	r.messageID, r.reason, r.origin, r.hint, r.attempts, r.wrapper, r.inner = "", "", nil, nil, parkade.Attempts{}, "", nil
	r.foreign = ""
}

// group is how many rows one INSERT takes: enough to make the calls cheap.
const group = 20

// groupBytes is how many bytes of bodies may be in one INSERT, since SQLite holds
// copies of all of them until it is done.
const groupBytes = 1 << 20

func bodies(records []*record) (bytes int) {
	for _, r := range records {
		bytes += len(r.Body)
	}
	return bytes
}

const (
	messageColumns = `id, source_id, batch_id, fp, identified, redelivered, broker_count, copy_of, last_chance,
		exchange, routing_key, message_id, correlation_id, type, content_type, reason, exception, wrapper,
		origin_exchange, origin_key, origin_queue, attempts, attempts_from, size, body_hash,
		came_from, foreign_replay, previous_id, round, parked_at, changed_at`
	contentColumns = `message_id, properties, headers, body`
)

// inserts are the prepared statements of Park, for a group of rows and for one.
type inserts struct {
	messages, message, contents, content *sql.Stmt
}

func (i *inserts) prepare(ctx context.Context, db *sql.DB) error {
	for _, p := range []struct {
		to             **sql.Stmt
		table, columns string
		rows           int
	}{
		{&i.messages, "message", messageColumns, group},
		{&i.message, "message", messageColumns, 1},
		{&i.contents, "content", contentColumns, group},
		{&i.content, "content", contentColumns, 1},
	} {
		values := "(" + placeholders(strings.Count(p.columns, ",")+1) + "), "
		// FAIL leaves the rows before a bad one in, for insertEach to take out. To take
		// them out itself, SQLite would keep a copy of every page until the end of each
		// statement.
		stmt, err := db.PrepareContext(ctx, //nolint:sqlclosecheck // closed by close
			`INSERT OR FAIL INTO `+p.table+` (`+p.columns+`) VALUES `+strings.TrimSuffix(strings.Repeat(values, p.rows), ", "))
		if err != nil {
			return doing("prepare to insert a "+p.table, err)
		}
		*p.to = stmt
	}
	return nil
}

func (i *inserts) close() error {
	var errs []error
	for _, stmt := range []*sql.Stmt{i.messages, i.message, i.contents, i.content} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(errs...)
}

// flush inserts what is pending, in groups. A group with a row that can't be
// written is inserted row by row.
func (p *parking) flush(ctx context.Context) error {
	for len(p.pending) > 0 {
		n := 1
		if len(p.pending) >= group && bodies(p.pending[:group]) <= groupBytes {
			n = group
		}
		err := p.insert(ctx, p.pending[:n])
		if refusedRow(err) {
			err = p.insertEach(ctx, p.pending[:n])
		}
		if err != nil {
			return err
		}
		p.pending = p.pending[n:]
	}
	return nil
}

func (p *parking) insertEach(ctx context.Context, records []*record) error {
	for _, r := range records { // of which the table message may have some already
		if _, err := p.tx.ExecContext(ctx, `DELETE FROM message WHERE id = ?`, r.id); err != nil {
			return err
		}
	}
	for _, r := range records {
		err := p.insert(ctx, []*record{r})
		if refusedRow(err) && !r.raw {
			p.store.log.Warn("message stored without its headers", "message", int64(r.id), "err", err)
			if _, err := p.tx.ExecContext(ctx, `DELETE FROM message WHERE id = ?`, r.id); err != nil {
				return err
			}
			r.fallBack(err)
			err = p.insert(ctx, []*record{r})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// insert writes a whole group, or one row.
func (p *parking) insert(ctx context.Context, records []*record) error {
	i := &p.store.inserts
	messages, contents := i.messages, i.contents
	if len(records) == 1 {
		messages, contents = i.message, i.content
	}
	var rows, bodies []any
	for _, r := range records {
		rows = p.row(rows, r)
		body := r.Body
		if body == nil {
			body = []byte{}
		}
		bodies = append(bodies, int64(r.id), r.encoded.Properties, r.encoded.Headers, body)
	}
	// The transaction closes what StmtContext returns.
	if _, err := p.tx.StmtContext(ctx, messages).ExecContext(ctx, rows...); err != nil { //nolint:sqlclosecheck // see above
		return err
	}
	_, err := p.tx.StmtContext(ctx, contents).ExecContext(ctx, bodies...) //nolint:sqlclosecheck // see above
	return err
}

// row appends the values of messageColumns.
func (p *parking) row(to []any, r *record) []any {
	var exchange, key, queue any
	if r.origin != nil {
		exchange, key, queue = r.origin.Exchange, r.origin.RoutingKey, r.origin.Queue
	}
	var correlation, typ, contentType string
	if !r.raw {
		correlation, typ, contentType = parkade.Text(r.Properties.CorrelationID), parkade.Text(r.Properties.Type), parkade.Text(r.Properties.ContentType)
	}
	now := millis(p.now)
	return append(to, int64(r.id), int64(p.session.Source), p.result.Batch, r.encoded.Fingerprint[:], r.identified, r.Redelivered, r.brokerCount,
		orNull(int64(r.copyOf)), r.lastChance, r.Exchange, r.RoutingKey, r.messageID, correlation, typ, contentType, r.reason, r.exception, r.wrapper,
		exchange, key, queue, r.attempts.Count, r.attempts.From, int64(len(r.Body)), r.encoded.BodyHash[:],
		orNull(int64(r.cameFrom)), r.foreign, orNull(int64(r.previous)), r.round, now, now)
}

// orNull returns n, and NULL for 0, which stands for none.
func orNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
