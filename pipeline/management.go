package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// QueueState is how many messages a queue holds, a few seconds old.
type QueueState struct {
	Name    string `json:"name"`
	Ready   int64  `json:"messages_ready"`
	Unacked int64  `json:"messages_unacknowledged"`
}

// management is RabbitMQ's management API, as seen from one vhost. The zero value
// is none.
type management struct {
	api   *url.URL // with login and password
	vhost string
}

func newManagement(address, vhost string) (management, error) {
	if address == "" {
		return management{}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return management{}, errors.New("the management address must be a URL like http://user:password@host:15672")
	}
	return management{u.JoinPath("api"), vhost}, nil
}

// queues returns those of the wanted queues that are there, in the same order.
func (m management) queues(ctx context.Context, wanted []queue) ([]QueueState, error) {
	if m.api == nil {
		return nil, nil
	}
	u := m.api.JoinPath("queues", url.PathEscape(m.vhost))
	u.RawQuery = "columns=name,messages_ready,messages_unacknowledged"
	var all []QueueState
	if err := m.call(ctx, http.MethodGet, u, nil, &all); err != nil {
		return nil, err
	}
	found := make(map[string]QueueState, len(all))
	for _, q := range all {
		found[q.Name] = q
	}
	var ours []QueueState
	for _, q := range wanted {
		if f, ok := found[q.name]; ok {
			ours = append(ours, f)
		}
	}
	return ours, nil
}

// makeVhost makes the vhost, unless it is there, and gives the user all rights in it.
func (m management) makeVhost(ctx context.Context, user string) error {
	vhost := url.PathEscape(m.vhost)
	if err := m.call(ctx, http.MethodPut, m.api.JoinPath("vhosts", vhost), []byte(`{}`), nil); err != nil {
		return fmt.Errorf("make vhost %s: %w", m.vhost, err)
	}
	rights := []byte(`{"configure": ".*", "write": ".*", "read": ".*"}`)
	if err := m.call(ctx, http.MethodPut, m.api.JoinPath("permissions", vhost, url.PathEscape(user)), rights, nil); err != nil {
		return fmt.Errorf("allow %s into vhost %s: %w", user, m.vhost, err)
	}
	return nil
}

// setPolicy makes p, or changes the one of that name.
func (m management) setPolicy(ctx context.Context, p policy) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := m.call(ctx, http.MethodPut, m.api.JoinPath("policies", url.PathEscape(m.vhost), url.PathEscape(p.name)), body, nil); err != nil {
		return fmt.Errorf("set policy %s: %w", p.name, err)
	}
	return nil
}

// call makes one call. What the API refuses is a permanent error. No error repeats
// the URL, which may hold a password.
func (m management) call(ctx context.Context, method string, u *url.URL, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body)) // the login goes into a header
	if err != nil {
		return errors.New("the management API can't be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.New("the management API does not answer")
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("the management API answers %s", res.Status)
	case res.StatusCode >= http.StatusMultipleChoices:
		reason, _ := io.ReadAll(io.LimitReader(res.Body, 500)) // it may be cut off, like any answer
		return backoff.Permanent(fmt.Errorf("the management API answers %s: %s", res.Status, bytes.TrimSpace(reason)))
	case out == nil:
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return errors.New("the management API answers something else than was asked")
	}
	return nil
}
