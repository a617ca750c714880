// Package broker is all of RabbitMQ: sessions that take deliveries out of a
// parking queue, a publisher that says of each message what became of it, and
// what the management API knows. It hides both client libraries; to others, it
// speaks in package parkade's types.
package broker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// Config says how a broker is reached.
type Config struct {
	Name           string
	AMQP           string // URL; the vhost and the heartbeat in it don't count
	Management     string // URL
	Program        string // version of Parkade, for the names of connections
	Store          string // tells our consumers and connections from those of other dashboards
	MaxMessageSize int64  // of the broker, in bytes; 0: the default of its version
	RPCTimeout     time.Duration
	ConfirmTimeout time.Duration // since the last confirm; both are 30 s when 0
}

// Broker is one RabbitMQ, or one cluster of them.
type Broker struct {
	cfg        Config
	log        *slog.Logger
	management *url.URL // without its login
	login      *url.Userinfo
	http       *http.Transport

	mu      sync.Mutex
	version string // the last that was heard, or ""
	frame   int64  // the frame size that was negotiated last, or 0
	sizes   sizes
}

// dialTimeout bounds the TCP connect and the handshakes.
const dialTimeout = 30 * time.Second

// New returns a broker. It connects to nothing. An error names the URL that is
// wrong by its key, and never shows it, because it may carry a password.
func New(cfg Config, log *slog.Logger) (*Broker, error) {
	cfg.RPCTimeout = cmp.Or(cfg.RPCTimeout, 30*time.Second)
	cfg.ConfirmTimeout = cmp.Or(cfg.ConfirmTimeout, 30*time.Second)
	address, err := url.Parse(cfg.AMQP)
	if err != nil {
		return nil, parkade.Errorf(parkade.Invalid, "The AMQP URL of %s can't be read. Characters such as ? and # in a password are written as %%3F and %%23.", cfg.Name).At("amqp")
	}
	query := address.Query()
	query.Del("heartbeat") // the fence of a drain rests on ours
	address.RawQuery = query.Encode()
	cfg.AMQP = address.String()
	if _, err := amqp.ParseURI(cfg.AMQP); err != nil {
		return nil, parkade.Errorf(parkade.Invalid, "The AMQP URL of %s is none: it begins with amqp:// or amqps://, and names a host.", cfg.Name).At("amqp")
	}
	management, err := url.Parse(strings.TrimRight(cfg.Management, "/"))
	if err != nil || management.Host == "" || management.Scheme != "http" && management.Scheme != "https" {
		return nil, parkade.Errorf(parkade.Invalid, "The management URL of %s is none: it begins with http:// or https://, and names a host.", cfg.Name).At("management")
	}
	login := management.User
	management.User = nil
	return &Broker{cfg: cfg, log: log.With("broker", cfg.Name), management: management, login: login, http: newTransport()}, nil
}

// Name returns the broker's name in the configuration.
func (b *Broker) Name() string { return b.cfg.Name }

// Close gives up idle connections to the management API. Intakes and publishers
// are closed by whoever opened them.
func (b *Broker) Close() { b.http.CloseIdleConnections() }

// session is one connection. It keeps the socket, because a write that is stuck
// ends by closing that, and by nothing else.
type session struct {
	conn    *amqp.Connection
	socket  net.Conn
	wire    *wire         // what was on it that the client library can't tell
	timeout time.Duration // of a synchronous call
	silent  atomic.Bool   // cut because a call wasn't answered in time
}

// dial opens a connection into vhost that management shows under name.
func (b *Broker) dial(ctx context.Context, vhost, name string, heartbeat time.Duration) (*session, error) {
	s := &session{timeout: b.cfg.RPCTimeout}
	properties := amqp.NewConnectionProperties()
	properties["product"] = "Parkade"
	properties["version"] = b.cfg.Program
	properties.SetClientConnectionName(name)
	address, secret, err := plainly(b.cfg.AMQP)
	if err != nil {
		return nil, b.refused(vhost, err)
	}
	conn, err := amqp.DialConfig(address, amqp.Config{
		Vhost:      vhost,
		Heartbeat:  heartbeat,
		FrameSize:  amqp.FrameSizeUnlimited, // the broker's, or a large header ends every session
		Properties: properties,
		Dial: func(network, address string) (net.Conn, error) {
			var d net.Dialer
			timed, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			socket, err := d.DialContext(timed, network, address)
			if err != nil {
				return nil, err
			}
			s.socket = socket
			// The library lifts it once the connection is open.
			if err := socket.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
				return socket, err
			}
			conn, err := encrypted(timed, socket, secret)
			if err != nil {
				return nil, err
			}
			s.wire = newWire(conn)
			return s.wire, nil
		},
	})
	if err != nil {
		s.cut()
		return nil, b.refused(vhost, err)
	}
	s.conn = conn
	b.learn(conn)
	return s, nil
}

// connectionName is how management names a connection of ours.
func (b *Broker) connectionName(purpose string) string {
	name := "parkade"
	if b.cfg.Store != "" {
		name = "parkade-" + b.cfg.Store
	}
	return strings.Join(strings.Fields(name+" "+b.cfg.Program+" "+purpose), " ")
}

// ownTag is what the tags of our consumers begin with, and nobody else's.
func (b *Broker) ownTag() string { return "parkade-" + b.cfg.Store + "-" }

// refused phrases why no connection came about.
func (b *Broker) refused(vhost string, err error) error {
	e, ok := errors.AsType[*amqp.Error](err)
	switch {
	case !ok, !e.Server && e.Code == amqp.FrameError: // the network
		return parkade.Errorf(parkade.Unavailable, "RabbitMQ %s can't be reached: %s.", b.cfg.Name, cause(err)).Because(err)
	case errors.Is(err, amqp.ErrCredentials), e.Code == amqp.AccessRefused && vhost == "":
		return parkade.Errorf(parkade.Unavailable, "RabbitMQ %s refuses the login.", b.cfg.Name).Because(err)
	case e.Code == amqp.AccessRefused, e.Code == amqp.NotAllowed:
		return parkade.Errorf(parkade.Unavailable, "RabbitMQ %s doesn't let us into the vhost %s: %s.", b.cfg.Name, vhost, brokerWords(e)).Because(err)
	}
	return parkade.Errorf(parkade.Unavailable, "RabbitMQ %s ended the connection: %s.", b.cfg.Name, brokerWords(e)).Because(err)
}

// cause returns the innermost words of a network error, such as "connection refused".
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// brokerWords is what the broker said, without the AMQP name of the code.
func brokerWords(e *amqp.Error) string {
	_, words, found := strings.Cut(e.Reason, " - ")
	if !found {
		words = e.Reason
	}
	return strings.TrimRight(strings.Join(strings.Fields(words), " "), ".")
}

// cut closes the socket. All that waits on the connection returns at once.
func (s *session) cut() {
	if s.socket != nil {
		_ = s.socket.Close()
	}
}

// call makes a synchronous call. One that isn't answered in time is ended by
// cutting the connection: a late answer must not meet the next question.
func (s *session) call(f func() error) error {
	timer := time.AfterFunc(s.timeout, func() {
		s.silent.Store(true)
		s.cut()
	})
	defer timer.Stop()
	return f()
}

// close ends the connection in good order, or cuts it at the deadline.
func (s *session) close(deadline time.Time) {
	timer := time.AfterFunc(time.Until(deadline), s.cut)
	defer timer.Stop()
	_ = s.conn.CloseDeadline(deadline)
	s.cut()
}
