package pipeline

import (
	"context"
	"regexp"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// policy sets what a queue would otherwise have as arguments. Unlike those it can
// be changed while the queue is there.
type policy struct {
	name       string
	Pattern    string         `json:"pattern"`
	Definition map[string]any `json:"definition"`
	ApplyTo    string         `json:"apply-to"`
	Priority   int            `json:"priority"`
}

// policyPriority is above the default of 0: of all policies that match a queue
// only the highest counts.
const policyPriority = 10

// policies returns a policy for each queue. Only the type of a queue can't be set
// by policy.
func (t Topology) policies() []policy {
	var all []policy
	for _, q := range t.queues() {
		p := policy{
			name: q.name, Pattern: "^" + regexp.QuoteMeta(q.name) + "$", ApplyTo: "queues", Priority: policyPriority,
			Definition: map[string]any{},
		}
		for name, value := range q.arguments {
			if name != amqp.QueueTypeArg {
				p.Definition[strings.TrimPrefix(name, "x-")] = value
			}
		}
		all = append(all, p)
	}
	return all
}

// setPolicies sets them all. It comes before the queues: up to RabbitMQ 4.2 a
// delivery limit has no effect on a quorum queue that exists.
func (b *Billing) setPolicies(ctx context.Context) error {
	for _, p := range b.topology.policies() {
		if err := b.management.setPolicy(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
