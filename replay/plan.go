package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parkade"
	"parkade/store"
)

// most is how many messages one operation may replay.
const most = 100_000

// Planner works out where messages would be sent. A page, a dry run and the
// operation made from them ask the same planner, so that they can't disagree.
type Planner struct {
	store *store.Store
	rule  func(parkade.Queue) Rule
	topos *topologies
}

// NewPlanner returns a planner. rule says what the configuration has about a
// queue; the clock is time.Now where nil.
func NewPlanner(s *store.Store, brokers map[string]Broker, rule func(parkade.Queue) Rule, clock func() time.Time) *Planner {
	if clock == nil {
		clock = time.Now
	}
	return &Planner{store: s, rule: rule, topos: &topologies{brokers: brokers, now: clock}}
}

// Request is what somebody wants to replay: the messages ticked, or those of a
// filter.
type Request struct {
	IDs    []parkade.MessageID
	Filter *parkade.Filter
	Accept []parkade.State // states besides parked that may be taken
	Copies bool            // a filter's possible copies may be taken, too

	// Target is where to. ToExchange and ToQueue without a name mean each
	// message's own exchange and key, or its own failed queue; the zero Target is
	// ToAuto.
	Target parkade.Target
}

// Plan is what would happen to each message of a request.
type Plan struct {
	Items   []store.Planned // of every message of the request
	Groups  []Group         // of those that can be taken, biggest first
	Skips   []Skip          // of those that can't, or lack a target
	Send    int64           // how many would be sent
	Hash    string          // of the set: ids, versions and last replays
	Policy  parkade.Policy  // of the queues together
	Rate    float64         // the lowest of the queues, or 0
	Expects store.Expect    // what Create is told that was seen
	Of      int64           // not 0: Items are only the newest of that many; see Look
}

// Group is the messages of a plan that came from the same place the same way.
type Group struct {
	Queue      parkade.Queue
	Origin     *parkade.Origin // nil: nothing tells
	Guess      bool            // Origin is what most others of the queue have
	Messages   int64
	Example    parkade.MessageID
	Choices    []parkade.Choice
	Chosen     *parkade.Choice     // what is done; nil: somebody has to choose
	Why        string              // of no Chosen
	Treatments []parkade.Treatment // of Example

	example parkade.Message
}

// Skip is why some messages stay where they are.
type Skip struct {
	Why      string
	Messages int64
}

// Plan works out what r would do. It changes nothing.
func (p *Planner) Plan(ctx context.Context, r Request) (Plan, error) {
	messages, hash, err := p.selection(ctx, r)
	if err != nil {
		return Plan{}, err
	}
	return p.plan(ctx, r, messages, hash)
}

func (p *Planner) plan(ctx context.Context, r Request, messages []parkade.Message, hash string) (Plan, error) {
	d := &drawing{Planner: p, request: r, groups: map[groupKey]*Group{}, siblings: map[parkade.Queue]*parkade.Origin{}}
	d.plan.Hash = hash
	d.rules(messages)
	for _, m := range messages {
		if err := d.add(ctx, m); err != nil {
			return Plan{}, err
		}
	}
	return d.finish(ctx)
}

// selection reads the messages of a request, as one snapshot with its hash. Of a
// filter it leaves out what is in a state that can't be taken.
func (p *Planner) selection(ctx context.Context, r Request) ([]parkade.Message, string, error) {
	ids := r.IDs
	if r.Filter != nil {
		var err error
		if ids, err = p.matching(ctx, *r.Filter, r.states()); err != nil {
			return nil, "", err
		}
	}
	if len(ids) > most {
		return nil, "", tooMany()
	}
	return p.store.Selection(ctx, ids)
}

func tooMany() error {
	return parkade.Errorf(parkade.TooLarge, "One operation replays at most %d messages. Narrow the selection.", most)
}

// states are those of messages that a filter selects.
func (r Request) states() []parkade.State {
	return append([]parkade.State{parkade.Parked}, r.Accept...)
}

// matching returns the messages of a filter that are in one of states, oldest
// first: at most one more than an operation takes.
func (p *Planner) matching(ctx context.Context, f parkade.Filter, states []parkade.State) ([]parkade.MessageID, error) {
	var ids []parkade.MessageID
	for _, state := range states {
		if f.State != "" && f.State != state {
			continue
		}
		one := f
		one.State = state
		page := parkade.Page{Limit: 1000, Oldest: true}
		for more := true; more && len(ids) <= most; {
			var ms []parkade.Message
			var err error
			if ms, more, err = p.store.Messages(ctx, one, page); err != nil {
				return nil, err
			}
			for _, m := range ms {
				ids = append(ids, m.ID)
				page.Before = m.ID
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// drawing is a plan being made.
type drawing struct {
	*Planner
	request  Request
	plan     Plan
	groups   map[groupKey]*Group
	order    []*Group
	siblings map[parkade.Queue]*parkade.Origin
}

// groupKey is what decides where a message goes.
type groupKey struct {
	queue   parkade.Queue
	origin  parkade.Origin
	known   bool   // origin is the message's own
	headers string // only where an exchange routes by them
}

// rules sets what the queues of the messages have together: what is stripped for
// one of them is stripped for all, and the slowest sets the rate.
func (d *drawing) rules(messages []parkade.Message) {
	seen := map[parkade.Queue]bool{}
	for _, m := range messages {
		if seen[m.Queue] {
			continue
		}
		seen[m.Queue] = true
		r := d.rule(m.Queue)
		for _, h := range r.Policy.ResetHeaders {
			if !slices.Contains(d.plan.Policy.ResetHeaders, h) {
				d.plan.Policy.ResetHeaders = append(d.plan.Policy.ResetHeaders, h)
			}
		}
		if r.Rate > 0 && (d.plan.Rate == 0 || r.Rate < d.plan.Rate) {
			d.plan.Rate = r.Rate
		}
	}
}

// add plans one message.
func (d *drawing) add(ctx context.Context, m parkade.Message) error {
	item := store.Planned{Message: m.ID, Version: m.Version, LastReplay: m.LastReplay, Skip: d.untakeable(m)}
	if item.Skip == "" {
		g, err := d.group(ctx, m)
		if err != nil {
			return err
		}
		g.Messages++
		item.Skip = g.Why
		if g.Chosen != nil {
			item.Exchange, item.RoutingKey = g.Chosen.Target.Address()
			item.Into = into(g.Chosen.Target)
			d.plan.Send++
		}
	}
	if item.Skip != "" {
		d.skip(item.Skip)
	}
	d.plan.Items = append(d.plan.Items, item)
	return nil
}

func (d *drawing) skip(why string) {
	for i := range d.plan.Skips {
		if d.plan.Skips[i].Why == why {
			d.plan.Skips[i].Messages++
			return
		}
	}
	d.plan.Skips = append(d.plan.Skips, Skip{why, 1})
}

// untakeable says why the state of a message keeps it out of a replay, or "".
func (d *drawing) untakeable(m parkade.Message) string {
	switch {
	case m.State == parkade.InOperation:
		return fmt.Sprintf("Operation %s holds it.", m.Operation)
	case m.State == parkade.InDoubt && !slices.Contains(d.request.Accept, m.State):
		return "It is in doubt: its last replay may have arrived. Tick it to send it again."
	case m.State != parkade.Parked && !slices.Contains(d.request.Accept, m.State):
		return fmt.Sprintf("It is %s already.", m.State)
	case m.CopyOf != 0 && d.request.Filter != nil && !d.request.Copies && !d.request.Filter.Copies:
		return "It may be a copy of another message. Tick it to send it all the same."
	}
	return ""
}

// finish adds what is shown of an example of each group.
func (d *drawing) finish(ctx context.Context) (Plan, error) {
	slices.SortStableFunc(d.order, func(a, b *Group) int { return int(b.Messages - a.Messages) })
	for _, g := range d.order {
		c, err := d.content(ctx, g.example)
		if err != nil {
			return Plan{}, err
		}
		var exchange, key string
		if g.Chosen != nil {
			exchange, key = g.Chosen.Target.Address()
		}
		_, g.Treatments = parkade.Prepare(c, exchange, key, d.plan.Policy, parkade.Stamp{})
		d.plan.Groups = append(d.plan.Groups, *g)
	}
	d.plan.Expects = store.Expect{Count: int64(len(d.plan.Items)), Hash: d.plan.Hash}
	return d.plan, nil
}

// content is what m carries besides its body, in the version that would be sent.
func (d *drawing) content(ctx context.Context, m parkade.Message) (parkade.Content, error) {
	if m.Sends() == parkade.Arrived {
		return d.store.Content(ctx, m.ID)
	}
	e, err := d.store.Version(ctx, m.ID, m.Sends())
	return e.Draft.Content, err
}
