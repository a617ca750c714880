package broker

import (
	"context"
	"errors"

	rabbithole "github.com/michaelklishin/rabbit-hole/v3"

	"parkade"
)

// exchange is what a decoder takes of an exchange.
type exchange struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Internal  flag   `json:"internal"`
	Arguments fields `json:"arguments"`
	Policy    string `json:"policy"` // its name
}

// Topology reads a vhost: where its exchanges route, and where its queues
// dead-letter to, by arguments or by policy.
func (b *Broker) Topology(ctx context.Context, vhost string) (parkade.Topology, error) {
	queues, err := b.queues(ctx, vhost, nil)
	if err != nil {
		return parkade.Topology{}, err
	}
	t, err := b.routes(ctx, vhost)
	if err != nil {
		return parkade.Topology{}, err
	}
	for _, q := range queues {
		t.Queues[q.Name] = q.info()
	}
	return t, nil
}

// info is what a topology holds of a queue.
func (q queue) info() parkade.QueueInfo {
	l := q.listing()
	i := parkade.QueueInfo{Type: l.Type, Consumers: l.Consumers, Ready: l.Ready}
	i.DeadLetterExchange, i.DeadLetters = q.text("dead-letter-exchange")
	i.DeadLetterKey, _ = q.text("dead-letter-routing-key")
	_, i.MessageTTL = q.number("message-ttl")
	overflow, _ := q.text("overflow")
	i.RejectPublish = overflow == "reject-publish" || overflow == "reject-publish-dlx"
	_, i.MaxPriority = integer(q.Arguments["x-max-priority"])
	return i
}

// routes reads exchanges and bindings, and names the queues that bindings reach.
func (b *Broker) routes(ctx context.Context, vhost string) (parkade.Topology, error) {
	t := parkade.Topology{Exchanges: map[string]parkade.Exchange{}, Queues: map[string]parkade.QueueInfo{}}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := b.client(ctx)
	if err != nil {
		return t, err
	}
	var exchanges []exchange
	if err := b.get(ctx, &exchanges, nil, "exchanges", vhost); err != nil {
		return t, err
	}
	policies, err := b.policies(c, vhost)
	if err != nil {
		return t, err
	}
	for _, x := range exchanges {
		if x.Name == "" {
			continue // the default exchange has no bindings to read
		}
		alternate, ok := x.Arguments["alternate-exchange"].(string)
		if !ok {
			alternate, _ = policies[x.Policy]["alternate-exchange"].(string)
		}
		t.Exchanges[x.Name] = parkade.Exchange{Type: x.Type, Alternate: alternate, Internal: bool(x.Internal)}
	}
	bindings, err := c.ListBindingsIn(vhost)
	if err != nil {
		return t, b.phrased(err)
	}
	for _, r := range bindings {
		if r.Source == "" {
			continue
		}
		t.Bindings = append(t.Bindings, parkade.Binding{
			Source: r.Source, Destination: r.Destination, ToExchange: r.DestinationType == "exchange",
			Key: r.RoutingKey, Headers: tableOf(r.Arguments),
		})
	}
	return t, nil
}

// policies returns the definitions of a vhost's policies by name. Logins that
// aren't policymakers may not read them: then alternate exchanges that come from
// a policy aren't known, and no route is ever a default for one.
func (b *Broker) policies(c *rabbithole.Client, vhost string) (map[string]map[string]any, error) {
	list, err := c.ListPoliciesIn(vhost)
	if err != nil {
		if errors.Is(err, errNotAllowed) {
			return nil, nil
		}
		return nil, b.phrased(err)
	}
	byName := map[string]map[string]any{}
	for _, p := range list {
		byName[p.Name] = p.Definition
	}
	return byName, nil
}
