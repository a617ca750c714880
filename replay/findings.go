package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"parkade"
)

// oldAfter is from when on the world may have moved on without the message.
const oldAfter = 24 * time.Hour

// findings is what a person has to know before v is sent, worst first.
func (p *Planner) findings(ctx context.Context, v Preview, topo *parkade.Topology) ([]parkade.Finding, error) {
	f := found{Preview: v}
	f.sendable(p.topos.brokers[v.Message.Queue.Broker])
	f.history(p.topos.now())
	before, last, err := p.store.ReplaysOfID(ctx, parkade.Text(v.Draft.Properties.MessageID))
	if err != nil {
		return nil, err
	}
	if before > 0 {
		f.say(parkade.Warn, "replayed_before", "A message with this message id was replayed %s before, last %s ago.", times(before), parkade.Age(p.topos.now().Sub(last)))
	}
	f.content()
	if v.Chosen != nil {
		f.target(topo)
	}
	f.wrapper()
	order := []parkade.Verdict{parkade.Refuse, parkade.Ask, parkade.Warn, parkade.Unchecked, parkade.Note}
	slices.SortStableFunc(f.all, func(a, b parkade.Finding) int {
		return slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict)
	})
	return f.all, nil
}

// found collects findings about a preview.
type found struct {
	Preview

	version string // of the broker, or ""
	all     []parkade.Finding
}

func (f *found) say(v parkade.Verdict, code, format string, args ...any) {
	f.all = append(f.all, parkade.Finding{Verdict: v, Code: code, Text: fmt.Sprintf(format, args...)})
}

// sendable says what the broker wouldn't take.
func (f *found) sendable(b Broker) {
	if b.Version != nil {
		f.version = b.Version()
	}
	if b.Check == nil {
		return
	}
	if err := b.Check(f.Draft); err != nil {
		_, sentence := parkade.Explain(err)
		f.say(parkade.Refuse, "unsendable", "%s", sentence)
	}
}

// history says what already happened to the message.
func (f *found) history(now time.Time) {
	m := f.Message
	switch {
	case m.State == parkade.InDoubt:
		f.say(parkade.Ask, "in_doubt", "Its last replay may have arrived: nobody knows. Sent again, it may be done twice.")
	case m.State == parkade.Replayed:
		f.say(parkade.Ask, "replayed", "It was replayed and RabbitMQ confirmed it. Sent again, it arrives a second time.")
	case m.LastOutcome == parkade.Unknown:
		f.say(parkade.Warn, "was_unknown", "The outcome of its last replay is unknown, and somebody took it as not arrived.")
	}
	if m.CopyOf != 0 {
		f.say(parkade.Warn, "possible_copy", "It may be the same arrival as #%d.", m.CopyOf)
	}
	if m.Round > 1 {
		f.say(parkade.Note, "came_back", "It has come back %s: nothing yet shows that it can be handled.", times(m.Round-1))
	}
	if old := now.Sub(m.ParkedAt); old > oldAfter {
		f.say(parkade.Warn, "old", "It was parked %s ago. What it says may have been overtaken since.", parkade.Age(old))
	}
}

// content says what is odd about what would be sent.
func (f *found) content() {
	p, body := f.Draft.Properties, f.Draft.Body
	encoding := strings.ToLower(parkade.Text(p.ContentEncoding))
	zipped := bytes.HasPrefix(body, []byte{0x1f, 0x8b})
	if (encoding == "gzip" || encoding == "x-gzip") && !zipped {
		f.say(parkade.Warn, "encoding", "Its content-encoding is %s, and its body isn't: whoever decodes it will fail.", encoding)
	}
	if plain := encoding == "" || encoding == "utf-8"; plain && strings.Contains(strings.ToLower(parkade.Text(p.ContentType)), "json") && !json.Valid(body) {
		f.say(parkade.Warn, "json", "Its content type is JSON, and its body isn't valid JSON.")
	}
	if strings.HasPrefix(parkade.Text(p.ReplyTo), "amq.rabbitmq.reply-to") {
		f.say(parkade.Warn, "reply_to", "Nobody waits at its direct reply address any more: an answer would be lost.")
	}
}

// target says what is to be known about where it goes.
func (f *found) target(topo *parkade.Topology) {
	for _, w := range f.Chosen.Warnings {
		f.say(parkade.Warn, "target", "%s", w)
	}
	if f.Chosen.Guess {
		f.say(parkade.Warn, "guess", "This target rests on what other messages of the parking queue had.")
	}
	if topo == nil {
		f.say(parkade.Unchecked, "topology", "The broker's bindings and queues can't be read, so nothing is known about the target.")
		return
	}
	f.loop()
	for _, q := range f.Facts {
		if q.Consumers == 0 {
			f.say(parkade.Warn, "no_consumers", "Nobody consumes %s at the moment: it will wait there.", q.Queue)
		}
		if q.Type == "quorum" && f.version != "" && parkade.AtLeast(f.version, 4, 3) && f.Draft.Properties.Priority == nil {
			f.say(parkade.Note, "no_priority",
				"It has no priority, which RabbitMQ %s counts as 4 in %s.", f.version, q.Queue)
		}
	}
	if to := parkade.Text(f.Draft.Properties.ReplyTo); to != "" && !strings.HasPrefix(to, "amq.rabbitmq.reply-to") {
		if _, there := topo.Queues[to]; !there {
			f.say(parkade.Warn, "reply_to", "There is no queue %s any more, where it asks for an answer.", to)
		}
	}
}

// loop says what a second failure would lead to, unless it comes back here or is
// tried again.
func (f *found) loop() {
	l := f.Chosen.Loop
	if len(l.Hops) == 0 || l.Unchecked {
		return
	}
	first, last := l.Hops[0].Queue, l.Hops[len(l.Hops)-1].Queue
	parks := slices.ContainsFunc(l.Hops, func(h parkade.Hop) bool { return h.Queue == f.Message.Queue.Name })
	switch {
	case l.Lost != "":
		f.say(parkade.Warn, "loop_lost", "%s", l.Lost)
	case len(l.Hops) == 1 && !l.Back:
		f.say(parkade.Note, "no_dead_letter", "%s has no dead-letter exchange: a rejected message is lost there, unless its consumer parks it itself.", first)
	case !parks && !l.Back:
		f.say(parkade.Warn, "loop_open", "If it fails in %s once more, it goes to %s and doesn't come back here.", first, last)
	}
}

// wrapper says whether the wrapper is sent or what is in it.
func (f *found) wrapper() {
	switch {
	case f.Message.Wrapper == "":
	case f.Sends == parkade.Unwrapped:
		f.say(parkade.Note, "unwrapped", "It arrived in an error wrapper of %s. What is in the wrapper is sent.", f.Message.Wrapper.Name())
	case f.Sends == parkade.Arrived:
		f.say(parkade.Warn, "wrapper", "The error wrapper of %s is sent as it arrived, which its first consumer can't read.", f.Message.Wrapper.Name())
	}
}

func times(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
