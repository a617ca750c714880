package broker

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"parkade"
)

// QueueListing is one queue as the management API lists it. Figures are a few
// seconds old; -1 is not known.
type QueueListing struct {
	Vhost     string
	Name      string
	Type      string // classic, quorum or stream
	State     string // running, idle, down, …
	Ready     int64
	Unacked   int64
	Delayed   int64
	Consumers int64
}

// queue is what a decoder takes from the API: every field may be missing, or
// have another type than usual.
type queue struct {
	Vhost      string          `json:"vhost"`
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	State      string          `json:"state"`
	Node       string          `json:"node"`
	Leader     string          `json:"leader"`
	Durable    flag            `json:"durable"`
	AutoDelete flag            `json:"auto_delete"`
	Exclusive  flag            `json:"exclusive"`
	Arguments  fields          `json:"arguments"`
	Policy     fields          `json:"effective_policy_definition"`
	Limit      json.RawMessage `json:"delivery_limit"` // a number, or "unlimited"
	Members    names           `json:"members"`
	Mirrors    names           `json:"slave_nodes"`
	Ready      *number         `json:"messages_ready"`
	Unacked    *number         `json:"messages_unacknowledged"`
	Delayed    *number         `json:"messages_delayed"`
	Messages   *number         `json:"messages"`
	Bytes      *number         `json:"message_bytes"`
	Count      *number         `json:"consumers"`
	Details    json.RawMessage `json:"consumer_details"`
}

// The types of values that RabbitMQ writes in more than one way. What isn't
// understood is left out, so that it hides nothing else.
type (
	fields map[string]any
	names  []string
	number int64
	flag   bool
)

func (f *fields) UnmarshalJSON(b []byte) error {
	var m map[string]any // [] or "" where there is nothing
	if json.Unmarshal(b, &m) == nil {
		*f = m
	}
	return nil
}

func (n *names) UnmarshalJSON(b []byte) error {
	var s []string
	if json.Unmarshal(b, &s) == nil {
		*n = s
	}
	return nil
}

func (n *number) UnmarshalJSON(b []byte) error {
	var f float64
	if json.Unmarshal(b, &f) != nil {
		f = -1 // "NaN", "undefined", …
	}
	*n = number(f)
	return nil
}

func (f *flag) UnmarshalJSON(b []byte) error {
	*f = string(b) == "true"
	return nil
}

// known returns a figure, or -1.
func known(n *number) int64 {
	if n == nil {
		return -1
	}
	return int64(*n)
}

func (q queue) listing() QueueListing {
	kind := q.Type
	if kind == "" {
		kind = "classic"
	}
	return QueueListing{q.Vhost, q.Name, kind, q.State, known(q.Ready), known(q.Unacked), known(q.Delayed), known(q.Count)}
}

// number returns what limits the queue under this name, as argument or by policy:
// the lower of both, as RabbitMQ has it.
func (q queue) number(name string) (int64, bool) {
	a, okA := integer(q.Arguments["x-"+name])
	p, okP := integer(q.Policy[name])
	switch {
	case okA && okP:
		return min(a, p), true
	case okA:
		return a, true
	}
	return p, okP
}

func integer(v any) (int64, bool) {
	f, ok := v.(float64)
	return int64(f), ok
}

// text returns a setting that is a text, as argument or else by policy.
func (q queue) text(name string) (string, bool) {
	if s, ok := q.Arguments["x-"+name].(string); ok {
		return s, true
	}
	s, ok := q.Policy[name].(string)
	return s, ok
}

// Queues lists the queues of a vhost, or of all vhosts for "". A queue that can't
// be understood is left out and logged.
func (b *Broker) Queues(ctx context.Context, vhost string) ([]QueueListing, error) {
	queues, err := b.queues(ctx, vhost, nil)
	if err != nil {
		return nil, err
	}
	all := make([]QueueListing, len(queues))
	for i, q := range queues {
		all[i] = q.listing()
	}
	return all, nil
}

// queues reads all pages of a list of queues.
func (b *Broker) queues(ctx context.Context, vhost string, query url.Values) ([]queue, error) {
	path := []string{"queues"}
	if vhost != "" {
		path = append(path, vhost)
	}
	var all []queue
	for page, pages := 1, 1; page <= pages; page++ {
		q := url.Values{"page": {strconv.Itoa(page)}, "page_size": {"500"}}
		maps.Copy(q, query)
		var answer struct {
			Items []json.RawMessage `json:"items"`
			Pages int               `json:"page_count"`
		}
		if err := b.get(ctx, &answer, q, path...); err != nil {
			return nil, err
		}
		pages = answer.Pages
		for _, item := range answer.Items {
			var one queue
			if err := json.Unmarshal(item, &one); err != nil {
				b.log.WarnContext(ctx, "queue not understood", "err", err)
				continue
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// queue reads one queue. A name that a path would swallow is looked up in the list,
// which doesn't say who consumes.
func (b *Broker) queue(ctx context.Context, vhost, name string) (queue, error) {
	var q queue
	if name == "." || name == ".." {
		found, err := b.queues(ctx, vhost, url.Values{"name": {"^" + regexp.QuoteMeta(name) + "$"}, "use_regex": {"true"}})
		if err == nil && len(found) == 0 {
			err = parkade.Errorf(parkade.NotFound, "RabbitMQ %s has no queue %s.", b.cfg.Name, name)
		}
		return append(found, q)[0], err
	}
	err := b.get(ctx, &q, nil, "queues", vhost, name)
	return q, err
}

// Depth reads how many messages are ready in a queue. Where RabbitMQ doesn't say,
// the reading says why, and has no value.
func (b *Broker) Depth(ctx context.Context, vhost, name string) parkade.Reading {
	q, err := b.queue(ctx, vhost, name)
	switch {
	case err != nil:
		_, why := parkade.Explain(err)
		return parkade.Reading{Err: why}
	case known(q.Ready) < 0:
		return parkade.Reading{Err: "RabbitMQ doesn't count the messages of this queue at the moment."}
	}
	return parkade.Reading{Value: known(q.Ready), At: time.Now()}
}
