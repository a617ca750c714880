package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"time"

	"parkade"
	"parkade/store"
)

// StampLater stands in a preview where a replay's own id will be, which is made
// when it is sent.
const StampLater = "(made when it is sent)"

// PreviewRequest is one message to be replayed as a person looks at it.
type PreviewRequest struct {
	Message parkade.MessageID
	Seen    int64          // the message's version that was seen; 0 isn't checked
	Sends   *int64         // the version to send; nil is what Message.Sends says
	Draft   *parkade.Draft // not nil: sent instead of a version, as an edit to be saved
	Target  parkade.Target
}

// Preview is exactly what a replay would publish, where it would go, and what is to
// be known before.
type Preview struct {
	Message parkade.Message
	Sends   int64 // the version; that of a Draft would be the message's next
	Policy  parkade.Policy
	Rate    float64

	// Draft is the publish, byte for byte but for the value of x-replay-id. Where no
	// target is certain it lacks an exchange and a key.
	Draft      parkade.Draft
	BodyHash   [32]byte
	Treatments []parkade.Treatment

	Choices []parkade.Choice
	Chosen  *parkade.Choice // nil: nothing can be sent, and Why says why
	Why     string
	Facts   []TargetFacts // of the queues that Chosen reaches
	FactsAt time.Time     // when the broker was asked; zero: it doesn't answer

	Findings []parkade.Finding // worst first; Refuse: it can't be sent like this
	Item     store.Planned     // what Create is to be given
	Hash     string            // of all that would be published and where; see Stands
}

// TargetFacts is what is known of a queue that would get the message.
type TargetFacts struct {
	Queue     string
	Type      string
	Consumers int64 // -1: not known
	Ready     int64 // -1: not known
}

// Refused returns why it can't be sent like this, or "".
func (v Preview) Refused() string {
	if v.Why != "" {
		return v.Why
	}
	for _, f := range v.Findings {
		if f.Verdict == parkade.Refuse {
			return f.Text
		}
	}
	return ""
}

// Stands returns a Conflict unless hash is that of v: what a person confirmed isn't
// what would be sent now.
func (v Preview) Stands(hash string) error {
	if hash == v.Hash {
		return nil
	}
	return parkade.Errorf(parkade.Conflict,
		"What would be sent, or where it would go, isn't what was shown any more. Look at it again. Nothing was sent.").At("expect.hash")
}

// Preview works out what r would do. It changes nothing.
func (p *Planner) Preview(ctx context.Context, r PreviewRequest) (Preview, error) {
	m, err := p.store.Message(ctx, r.Message)
	if err != nil {
		return Preview{}, err
	}
	if r.Seen != 0 && r.Seen != m.Version {
		return Preview{}, p.moved(ctx, m)
	}
	v := Preview{Message: m, Sends: m.Version + 1}
	var draft parkade.Draft
	if r.Draft != nil {
		draft = *r.Draft
	} else {
		v.Sends = m.Sends()
		if r.Sends != nil {
			v.Sends = *r.Sends
		}
		e, err := p.store.Version(ctx, m.ID, v.Sends)
		if err != nil {
			return Preview{}, err
		}
		draft = e.Draft
	}
	return p.preview(ctx, v, draft, r)
}

// moved says that somebody edited m.
func (p *Planner) moved(ctx context.Context, m parkade.Message) error {
	all, err := p.store.Versions(ctx, m.ID)
	if err != nil {
		return err
	}
	by := ""
	if all[0].By != "" {
		by = " by " + all[0].By
	}
	return parkade.Errorf(parkade.Conflict, "#%d was edited meanwhile%s: it has version %d now.", m.ID, by, m.Version).At("seen")
}

func (p *Planner) preview(ctx context.Context, v Preview, draft parkade.Draft, r PreviewRequest) (Preview, error) {
	m := v.Message
	d := &drawing{
		Planner: p, siblings: map[parkade.Queue]*parkade.Origin{},
		request: Request{IDs: []parkade.MessageID{m.ID}, Target: r.Target, Accept: []parkade.State{parkade.InDoubt, parkade.Replayed}},
	}
	d.rules([]parkade.Message{m})
	v.Policy, v.Rate = d.plan.Policy, d.plan.Rate
	topo, at := p.topos.read(ctx, place{m.Queue.Broker, m.Queue.Vhost})
	g := &Group{Queue: m.Queue, Origin: m.Origin, Example: m.ID}
	if err := d.decide(ctx, g, draft.Content, topo); err != nil {
		return v, err
	}
	v.Choices, v.Chosen, v.Why = g.Choices, g.Chosen, g.Why
	if why := d.untakeable(m); why != "" {
		v.Chosen, v.Why = nil, why
	}
	v.Item = store.Planned{Message: m.ID, Version: m.Version, LastReplay: m.LastReplay}
	if r.Draft == nil {
		v.Item.Sends = new(v.Sends)
	}
	if v.Chosen != nil {
		v.Item.Exchange, v.Item.RoutingKey = v.Chosen.Target.Address()
		v.Item.Into = into(v.Chosen.Target)
	}
	attempt := int32(min(m.Replays, math.MaxInt32-1)) + 1 //nolint:gosec // bounded
	v.Draft.Content, v.Treatments = parkade.Prepare(draft.Content, v.Item.Exchange, v.Item.RoutingKey, v.Policy,
		parkade.Stamp{ID: StampLater, Attempt: attempt})
	v.Draft.Body, v.BodyHash = draft.Body, sha256.Sum256(draft.Body)
	if topo != nil {
		v.FactsAt = at
		v.Facts = facts(v.Chosen, topo)
	}
	var err error
	if v.Findings, err = p.findings(ctx, v, topo); err == nil {
		v.Hash, err = v.hash()
	}
	return v, err
}

func facts(chosen *parkade.Choice, topo *parkade.Topology) []TargetFacts {
	if chosen == nil {
		return nil
	}
	var all []TargetFacts
	for _, name := range chosen.Reaches {
		if q, ok := topo.Queues[name]; ok {
			all = append(all, TargetFacts{name, q.Type, q.Consumers, q.Ready})
		}
	}
	return all
}

// hash covers what is published, where it goes, and which things were said about
// it. Counts and ages, which change by themselves, aren't part of it.
func (v Preview) hash() (string, error) {
	properties, err := v.Draft.Properties.AppendBinary(nil)
	if err != nil {
		properties = []byte(err.Error()) // and it is refused
	}
	headers, err := v.Draft.Headers.AppendBinary(nil)
	if err != nil {
		headers = []byte(err.Error())
	}
	var said, reaches []string
	for _, f := range v.Findings {
		if f.Verdict != parkade.Note && f.Code != "no_consumers" { // who consumes comes and goes
			said = append(said, f.Code)
		}
	}
	var target parkade.Target
	if v.Chosen != nil {
		target, reaches = v.Chosen.Target, v.Chosen.Reaches
	}
	all, err := json.Marshal([]any{
		v.Message.ID, v.Message.State, v.Message.Version, v.Message.LastReplay, v.Sends, target, reaches, v.Why, said,
		[]byte(v.Draft.Exchange), []byte(v.Draft.RoutingKey), properties, headers, v.BodyHash,
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:]), nil
}
