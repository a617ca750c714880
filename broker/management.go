package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v3"

	"parkade"
)

const (
	answerTimeout = 15 * time.Second // of one call to the management API
	longestAnswer = 64 << 20         // bytes; 10,000 queues are about 15 MiB
)

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: answerTimeout,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
	}
}

// transport makes the calls of one client for one caller: it carries the caller's
// context, which the library can't, keeps connections alive, which the library
// forbids, bounds answers, and phrases what the broker refuses.
type transport struct {
	ctx    context.Context //nolint:containedctx // the library takes none
	broker *Broker
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(t.ctx)
	r.Close = false
	if login := t.broker.login; login != nil {
		password, _ := login.Password()
		r.SetBasicAuth(login.Username(), password)
	}
	res, err := t.broker.http.RoundTrip(r)
	if err != nil {
		return nil, t.broker.unanswered(err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		defer res.Body.Close()
		return nil, t.broker.status(res)
	}
	res.Body = bounded{io.LimitReader(res.Body, longestAnswer), res.Body}
	return res, nil
}

type bounded struct {
	io.Reader
	io.Closer
}

// unanswered phrases why there was no answer.
func (b *Broker) unanswered(err error) error {
	timeout, ok := errors.AsType[net.Error](err)
	if errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout() {
		return parkade.Errorf(parkade.Unavailable, "The management API of %s doesn't answer in time.", b.cfg.Name).Because(err)
	}
	return parkade.Errorf(parkade.Unavailable, "The management API of %s can't be reached: %s.", b.cfg.Name, cause(err)).Because(err)
}

// errNotAllowed says that the login lacks a tag or a permission. RabbitMQ answers
// with the same status whichever it is.
var errNotAllowed = errors.New("not allowed")

// status phrases an answer that is none.
func (b *Broker) status(res *http.Response) error {
	var said struct{ Error, Reason json.RawMessage }
	_ = json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&said)
	why := fmt.Errorf("%s %s: %s", res.Request.Method, res.Request.URL.Path, res.Status)
	if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
		why = fmt.Errorf("%w: %w", errNotAllowed, why)
	}
	switch res.StatusCode {
	case http.StatusUnauthorized:
		return parkade.Errorf(parkade.Unavailable, "The management API of %s refuses the login, or the login lacks the tag management.", b.cfg.Name).Because(why)
	case http.StatusForbidden:
		return parkade.Errorf(parkade.Forbidden, "The login of %s may not see that in the management API.", b.cfg.Name).Because(why)
	case http.StatusNotFound:
		return parkade.Errorf(parkade.NotFound, "RabbitMQ %s has no such thing, or the login may not see its vhost.", b.cfg.Name).Because(why)
	}
	return parkade.Errorf(parkade.Unavailable, "The management API of %s answers %s. %s", b.cfg.Name, res.Status, words(said.Reason)).Because(why)
}

// words is a reason of the management API if it is a text.
func words(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// client returns rabbit-hole's client for one caller.
func (b *Broker) client(ctx context.Context) (*rabbithole.Client, error) {
	return rabbithole.NewTLSClient(b.management.String(), "", "", transport{ctx, b})
}

// get reads what a path under /api/ answers into v. It stands beside rabbit-hole
// where that lacks fields, or where one odd object would hide all others.
func (b *Broker) get(ctx context.Context, v any, query url.Values, path ...string) error {
	address := b.management.String() + "/api/" + escape(path...)
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask the management API of %s: %w", b.cfg.Name, err)
	}
	res, err := transport{ctx, b}.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return b.unanswered(err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return parkade.Errorf(parkade.Unavailable, "The management API of %s answers something that isn't understood.", b.cfg.Name).Because(err)
	}
	return nil
}

// escape joins path segments: names may hold slashes.
func escape(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return strings.Join(escaped, "/")
}

// phrased returns the sentence within an error of rabbit-hole.
func (b *Broker) phrased(err error) error {
	if e, ok := errors.AsType[*parkade.Error](err); ok {
		return e
	}
	return parkade.Errorf(parkade.Unavailable, "The management API of %s answers something that isn't understood.", b.cfg.Name).Because(err)
}

// Alive asks the management API for the least that it can answer. The error is
// that of no answer.
func (b *Broker) Alive(ctx context.Context) error {
	return b.get(ctx, new(struct{}), nil, "whoami")
}

// Version asks for the broker's version, such as 4.3.6.
func (b *Broker) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := b.client(ctx)
	if err != nil {
		return "", err
	}
	o, err := c.Overview()
	if err != nil {
		return "", b.phrased(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.version = o.RabbitMQVersion
	return o.RabbitMQVersion, nil
}
