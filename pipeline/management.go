package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// QueueState is how many messages a queue holds, a few seconds old.
type QueueState struct {
	Name    string `json:"name"`
	Ready   int64  `json:"messages_ready"`
	Unacked int64  `json:"messages_unacknowledged"`
}

// management asks RabbitMQ's management API for figures. The zero value knows
// none.
type management struct {
	url      *url.URL // of one vhost's queues, with login and password
	topology Topology
}

func newManagement(address, vhost string, t Topology) (management, error) {
	if address == "" {
		return management{}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return management{}, errors.New("the management address must be a URL like http://user:password@host:15672")
	}
	u = u.JoinPath("api", "queues", url.PathEscape(vhost))
	u.RawQuery = "columns=name,messages_ready,messages_unacknowledged"
	return management{u, t}, nil
}

// queues returns the queues of the topology in the order of a message's way.
func (m management) queues(ctx context.Context) ([]QueueState, error) {
	if m.url == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url.String(), nil) // the login goes into a header
	if err != nil {
		return nil, errors.New("the management API can't be asked")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, errors.New("the management API does not answer")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the management API answers %s", res.Status)
	}
	var all []QueueState
	if err := json.NewDecoder(res.Body).Decode(&all); err != nil {
		return nil, errors.New("the management API answers no list of queues")
	}
	found := make(map[string]QueueState, len(all))
	for _, q := range all {
		found[q.Name] = q
	}
	var ours []QueueState
	for _, q := range m.topology.queues() {
		if f, ok := found[q.name]; ok {
			ours = append(ours, f)
		}
	}
	return ours, nil
}
