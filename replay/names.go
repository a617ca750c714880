package replay

import (
	"context"
	"maps"
	"slices"
	"strings"

	"parkade"
)

// Names returns what a message beside a parking queue could be sent to: exchanges
// that take messages from clients, and queues, both sorted. They are empty where the
// broker doesn't tell.
func (p *Planner) Names(ctx context.Context, q parkade.Queue) (exchanges, queues []string) {
	topo := p.topos.get(ctx, place{q.Broker, q.Vhost})
	if topo == nil {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(topo.Exchanges)) {
		if name != "" && !topo.Exchanges[name].Internal && !strings.HasPrefix(name, parkade.PrivateExchange+".") {
			exchanges = append(exchanges, name)
		}
	}
	return exchanges, slices.Sorted(maps.Keys(topo.Queues))
}
