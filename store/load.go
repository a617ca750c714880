package store

import (
	"context"
	"fmt"

	"parkade"
)

const loading = `
	SELECT r.id, r.message_id, r.version, m.source_id, m.replays, m.last_outcome, r.exchange, r.routing_key, ` + into + `, c.properties, c.headers, c.body
	FROM replay r JOIN message m ON m.id = r.message_id JOIN content c ON c.message_id = m.id
	WHERE r.id > ?
	ORDER BY r.id`

// loaded is a claimed message before the hygiene of a replay.
type loaded struct {
	parkade.Send

	version int64
	replays int32
	before  parkade.Outcome // of its replay before this one
	to      parkade.Target
}

func (p *progress) scanLoaded(r row) (loaded, error) {
	var (
		v                   loaded
		source              parkade.SourceID
		properties, headers []byte
	)
	err := r.Scan(&v.Replay, &v.Message, &v.version, &source, &v.replays, &v.before, &v.to.Exchange, &v.to.RoutingKey, &v.Into,
		&properties, &headers, &v.Draft.Body)
	if err != nil {
		return v, err
	}
	if v.Draft.Properties, err = parkade.ParseProperties(properties); err == nil {
		v.Draft.Headers, err = parkade.ParseTable(headers)
	}
	v.Queue, v.Stamp = p.store.queueOf(source), stamp(p.store.run.epoch[:], v.Replay)
	return v, doing("message "+v.Message.String(), err)
}

// load prepares what was claimed after newest for sending.
func (p *progress) load(ctx context.Context, newest parkade.ReplayID, policy parkade.Policy) ([]parkade.Send, error) {
	all, err := query(ctx, p.tx, p.scanLoaded, loading, newest)
	if err != nil {
		return nil, err
	}
	sends := make([]parkade.Send, len(all))
	for i, v := range all {
		if v.version != parkade.Arrived {
			if err := p.exchangeFor(ctx, &v); err != nil {
				return nil, doing(fmt.Sprintf("version %d of message %d", v.version, v.Message), err)
			}
		}
		if p.verb == parkade.GiveBack {
			v.Draft.Content, _ = parkade.Return(v.Draft.Content, v.to.RoutingKey, v.Stamp)
		} else {
			v.Draft.Content, _ = parkade.Prepare(v.Draft.Content, v.to.Exchange, v.to.RoutingKey, policy, parkade.Stamp{ID: v.Stamp, Attempt: v.replays + 1})
		}
		v.Risky = v.before == parkade.Refused || v.version != parkade.Arrived || risky(v.Draft.Content)
		sends[i] = v.Send
	}
	return sends, nil
}

// exchangeFor replaces what arrived by the version that is sent, and notes with the
// replay what that is: it is recognised by it when it comes back.
func (p *progress) exchangeFor(ctx context.Context, v *loaded) error {
	e, err := p.store.version(ctx, p.tx, v.Message, v.version)
	if err != nil {
		return err
	}
	v.Draft = e.Draft
	_, err = p.tx.ExecContext(ctx, `UPDATE replay SET sent_hash = ?, sent_id = ? WHERE id = ?`,
		e.BodyHash[:], parkade.Text(e.Draft.Properties.MessageID), v.Replay)
	return err
}

// risky reports whether the broker may close the channel over c, which would leave
// its neighbours without an outcome.
func risky(c parkade.Content) bool {
	_, cc := c.Headers.Get("CC")
	_, bcc := c.Headers.Get("BCC")
	return cc || bcc || c.Properties.UserID != nil || c.Properties.Expiration != nil
}
