package broker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"parkade"
)

// Facts reads what a preflight has to know about a queue. Without an answer of
// the management API they aren't Known, and the error says why; a queue that isn't
// there is no error.
func (b *Broker) Facts(ctx context.Context, vhost, name string) (parkade.QueueFacts, error) {
	version, err := b.Version(ctx)
	if err != nil {
		return parkade.QueueFacts{}, err
	}
	q, err := b.queue(ctx, vhost, name)
	if e, ok := errors.AsType[*parkade.Error](err); ok && e.Kind == parkade.NotFound {
		return parkade.QueueFacts{Known: true, Missing: true, Version: version}, nil
	}
	if err != nil {
		return parkade.QueueFacts{}, err
	}
	f := q.facts(version, b.ownTag())
	if f.DeadLetters {
		if f.DeadLettersReach, err = b.deadLettersReach(ctx, vhost, q); err != nil {
			return parkade.QueueFacts{}, err
		}
	}
	f.UpSince = b.upSince(ctx, q)
	return f, nil
}

// facts is what the queue itself tells.
func (q queue) facts(version, ownTag string) parkade.QueueFacts {
	l := q.listing()
	f := parkade.QueueFacts{
		Known: true, Version: version, Type: l.Type,
		Durable: bool(q.Durable), AutoDelete: bool(q.AutoDelete), Exclusive: bool(q.Exclusive),
		OtherConsumers: q.otherConsumers(ownTag),
		DeliveryLimit:  q.deliveryLimit(version),
		Ready:          max(l.Ready, 0),
		Delayed:        max(l.Delayed, 0),
	}
	f.SingleActive, _ = q.Arguments["x-single-active-consumer"].(bool)
	_, f.DeadLetters = q.text("dead-letter-exchange")
	_, f.Expires = q.number("expires")
	_, f.TTL = q.number("message-ttl")
	_, byLength := q.number("max-length")
	_, byBytes := q.number("max-length-bytes")
	f.DropsHead = (byLength || byBytes) && !q.info().RejectPublish
	_, f.Priorities = integer(q.Arguments["x-max-priority"])
	retry, _ := q.text("delayed-retry-type")
	f.DelayedRetry = retry != "" && retry != "disabled"
	if ms, ok := q.number("consumer-timeout"); ok {
		f.ConsumerTimeout = time.Duration(ms) * time.Millisecond
	}
	if n := known(q.Messages); n > 0 {
		f.AverageBytes = max(known(q.Bytes), 0) / n
	}
	return f
}

// otherConsumers counts who else takes from the queue, or returns -1. Consumers of
// ours are known by their tag; one may be left of a session that was lost.
func (q queue) otherConsumers(ownTag string) int64 {
	var consumers []struct {
		Tag string `json:"consumer_tag"`
	}
	switch err := json.Unmarshal(q.Details, &consumers); {
	case known(q.Count) == 0 && len(consumers) == 0:
		return 0
	case q.Count == nil || err != nil || consumers == nil:
		return -1
	}
	var n int64
	for _, c := range consumers {
		if !strings.HasPrefix(c.Tag, ownTag) {
			n++
		}
	}
	return n
}

// deliveryLimit is the limit in force: of argument, policy and what the queue says
// of itself the lowest, since before 4.3 a changed policy doesn't reach a queue
// that is there. A negative one means no limit from 4.0 on, and then any other wins;
// before, it is a limit like others. nil: there is none.
func (q queue) deliveryLimit(version string) *int64 {
	var limits []int64
	for _, v := range []any{q.Arguments["x-delivery-limit"], q.Policy["delivery-limit"]} {
		if n, ok := integer(v); ok {
			limits = append(limits, n)
		}
	}
	var own *int64
	if json.Unmarshal(q.Limit, &own) == nil && own != nil {
		limits = append(limits, *own)
	}
	var unlimited string
	if json.Unmarshal(q.Limit, &unlimited) == nil && unlimited == "unlimited" {
		limits = append(limits, -1)
	}
	if len(limits) == 0 {
		return nil
	}
	if parkade.AtLeast(version, 4, 0) {
		if finite := slices.DeleteFunc(slices.Clone(limits), func(n int64) bool { return n < 0 }); len(finite) > 0 {
			limits = finite
		}
	}
	return new(slices.Min(limits))
}

// deadLettersReach reports whether what leaves the queue as dead certainly arrives
// in another one. Where a message keeps its own key, only bindings that take any
// key are certain.
func (b *Broker) deadLettersReach(ctx context.Context, vhost string, q queue) (bool, error) {
	info := q.info()
	if info.DeadLetterExchange == "" {
		if info.DeadLetterKey == "" || info.DeadLetterKey == q.Name {
			return false, nil
		}
		_, err := b.queue(ctx, vhost, info.DeadLetterKey)
		if e, ok := errors.AsType[*parkade.Error](err); ok && e.Kind == parkade.NotFound {
			return false, nil
		}
		return err == nil, err
	}
	t, err := b.routes(ctx, vhost)
	if err != nil {
		return false, err
	}
	key := info.DeadLetterKey
	if key == "" {
		key = "\x00any key" // no binding names it
	}
	r := t.Route(info.DeadLetterExchange, key, nil)
	return !r.Guess && slices.ContainsFunc(r.Queues, func(name string) bool { return name != q.Name }), nil
}

// upSince returns since when the one node that holds the queue runs. It is zero
// where that isn't known: without the tag monitoring, and where another node may
// have held the queue before.
func (b *Broker) upSince(ctx context.Context, q queue) time.Time {
	holder := q.Node
	if q.Leader != "" {
		holder = q.Leader
	}
	if holder == "" || len(q.Members) > 1 || len(q.Mirrors) > 0 {
		return time.Time{}
	}
	var node struct {
		Uptime *int64 `json:"uptime"` // ms
	}
	asked := time.Now()
	if err := b.get(ctx, &node, nil, "nodes", holder); err != nil || node.Uptime == nil {
		return time.Time{}
	}
	return asked.Add(-time.Duration(*node.Uptime) * time.Millisecond)
}
