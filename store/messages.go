package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"parkade"
)

// columns are what scanMessage reads, of the table message called m.
const columns = `m.id, m.source_id, m.state, m.version, m.exchange, m.routing_key, m.message_id, m.correlation_id,
	m.type, m.content_type, m.origin_exchange, m.origin_key, m.origin_queue, m.reason, m.exception, m.wrapper,
	m.attempts, m.attempts_from, m.size, m.body_hash, m.parked_at, m.changed_at, COALESCE(m.expires_at, 0),
	m.redelivered, m.seen_again, COALESCE(m.copy_of, 0), m.last_chance, m.round, COALESCE(m.previous_id, 0),
	COALESCE(m.came_from, 0), m.foreign_replay, m.replays, COALESCE(m.last_replay_id, 0), m.last_outcome, m.came_back,
	COALESCE(m.operation_id, 0)`

func (s *Store) scanMessage(r row) (parkade.Message, error) {
	var (
		m                        parkade.Message
		source                   parkade.SourceID
		exchange, key, queue     sql.NullString
		hash                     []byte
		parked, changed, expires int64
	)
	err := r.Scan(&m.ID, &source, &m.State, &m.Version, &m.Exchange, &m.RoutingKey, &m.MessageID, &m.CorrelationID,
		&m.Type, &m.ContentType, &exchange, &key, &queue, &m.Reason, &m.Exception, &m.Wrapper,
		&m.Attempts.Count, &m.Attempts.From, &m.Size, &hash, &parked, &changed, &expires,
		&m.Redelivered, &m.SeenAgain, &m.CopyOf, &m.LastChance, &m.Round, &m.Previous,
		&m.CameFrom, &m.ForeignReplay, &m.Replays, &m.LastReplay, &m.LastOutcome, &m.CameBack,
		&m.Operation)
	if err != nil {
		return m, err
	}
	m.Queue = s.queueOf(source)
	if queue.Valid {
		m.Origin = &parkade.Origin{Exchange: exchange.String, RoutingKey: key.String, Queue: queue.String}
	}
	copy(m.BodyHash[:], hash)
	m.ParkedAt, m.ChangedAt, m.ExpiresAt = moment(parked), moment(changed), moment(expires)
	return m, nil
}

// maxPage is how many messages one page can have.
const maxPage = 500

// Messages returns the messages that match f, newest first unless p says
// otherwise, and whether there are more after the last of them. Arrival order is
// id order, so the id is all the cursor that paging needs. View reads a list
// together with its count.
func (s *Store) Messages(ctx context.Context, f parkade.Filter, p parkade.Page) (ms []parkade.Message, more bool, err error) {
	err = s.View(ctx, func(v View) error {
		ms, more, err = v.Messages(ctx, f, p)
		return err
	})
	return ms, more, err
}

// messages merges what each queue of f has, all of it read through q.
func (s *Store) messages(ctx context.Context, q querier, f parkade.Filter, p parkade.Page) (ms []parkade.Message, more bool, err error) {
	limit := min(max(p.Limit, 1), maxPage)
	sources, all := s.sourcesOf(f)
	if all {
		ms, err = s.list(ctx, q, s.matching(f, nil), p, limit+1)
	}
	for _, source := range sources {
		if all {
			break
		}
		part, e := s.list(ctx, q, s.matching(f, []parkade.SourceID{source}), p, limit+1)
		if e != nil {
			return nil, false, e
		}
		ms = append(ms, part...)
	}
	if !all && len(sources) > 1 {
		slices.SortFunc(ms, func(a, b parkade.Message) int {
			if (a.ID < b.ID) == p.Oldest {
				return -1
			}
			return 1
		})
	}
	if len(ms) > limit {
		return ms[:limit], true, err
	}
	return ms, false, err
}

// list reads one page of what matches w.
func (s *Store) list(ctx context.Context, q querier, w where, p parkade.Page, limit int) ([]parkade.Message, error) {
	stmt, args := listing(w, p, limit)
	return query(ctx, q, s.scanMessage, stmt, args...)
}

// listing is the statement of list. It always has a cursor, so that the newest
// page costs what any other costs.
func listing(w where, p parkade.Page, limit int) (stmt string, args []any) {
	order := `DESC`
	if p.Oldest {
		order = `ASC`
		w.and(`m.id > ?`, p.Before)
	} else {
		before := p.Before
		if before == 0 {
			before = math.MaxInt64
		}
		w.and(`m.id < ?`, before)
	}
	return `SELECT ` + columns + ` FROM message m WHERE ` + w.String() + ` ORDER BY m.id ` + order + ` LIMIT ?`, append(w.args, limit)
}

// Message returns one message.
func (s *Store) Message(ctx context.Context, id parkade.MessageID) (parkade.Message, error) {
	m, err := s.scanMessage(s.reader.QueryRowContext(ctx, `SELECT `+columns+` FROM message m WHERE m.id = ?`, id))
	return m, noMessage(id, err)
}

// noMessage phrases that there is no such message.
func noMessage(id parkade.MessageID, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return parkade.Errorf(parkade.NotFound,
			"There is no message %d. Closed messages are removed when their retention ends.", id).Because(err)
	}
	return err
}

// Content returns what a message carries besides its body.
func (s *Store) Content(ctx context.Context, id parkade.MessageID) (parkade.Content, error) {
	var c parkade.Content
	var properties, headers []byte
	err := s.reader.QueryRowContext(ctx, `
		SELECT m.exchange, m.routing_key, c.properties, c.headers
		FROM message m JOIN content c ON c.message_id = m.id
		WHERE m.id = ?`, id).Scan(&c.Exchange, &c.RoutingKey, &properties, &headers)
	if err != nil {
		return c, noMessage(id, err)
	}
	if c.Properties, err = parkade.ParseProperties(properties); err != nil {
		return c, doing("message "+id.String(), err)
	}
	c.Headers, err = parkade.ParseTable(headers)
	return c, doing("message "+id.String(), err)
}

// Body returns the whole body of a message, byte for byte as it arrived.
func (s *Store) Body(ctx context.Context, id parkade.MessageID) ([]byte, error) {
	b, err := one[[]byte](s.reader.QueryRowContext(ctx, `SELECT body FROM content WHERE message_id = ?`, id))
	return b, noMessage(id, err)
}

// BodyHead returns the first n bytes of the body of a message.
func (s *Store) BodyHead(ctx context.Context, id parkade.MessageID, n int) ([]byte, error) {
	b, err := one[[]byte](s.reader.QueryRowContext(ctx, `SELECT substr(body, 1, ?) FROM content WHERE message_id = ?`, n, id))
	return b, noMessage(id, err)
}

// Neighbours returns the messages before and after id in the list of f, or 0 where
// it begins or ends.
func (s *Store) Neighbours(ctx context.Context, f parkade.Filter, oldest bool, id parkade.MessageID) (prev, next parkade.MessageID, err error) {
	for _, way := range []struct {
		oldest bool
		to     *parkade.MessageID
	}{{!oldest, &prev}, {oldest, &next}} {
		ms, _, err := s.Messages(ctx, f, parkade.Page{Before: id, Limit: 1, Oldest: way.oldest})
		if err != nil {
			return 0, 0, err
		}
		if len(ms) > 0 {
			*way.to = ms[0].ID
		}
	}
	return prev, next, nil
}
