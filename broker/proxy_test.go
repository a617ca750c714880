package broker_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"parkade/broker/brokertest"
)

// proxy stands between a client and a broker, and breaks things there.
type proxy struct {
	mu     sync.Mutex
	frozen *sync.Cond
	freeze bool
	conns  []net.Conn
	swap   [2][]byte // what the client writes, and what the broker reads instead
}

// behind returns b as reached through a new proxy.
func behind(t *testing.T, b brokertest.Broker) (brokertest.Broker, *proxy) {
	t.Helper()
	target, err := url.Parse(b.AMQP)
	if err != nil {
		t.Fatal(err)
	}
	address := target.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	p.frozen = sync.NewCond(&p.mu)
	t.Cleanup(func() {
		l.Close()
		p.thaw()
		p.cut()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				client.Close()
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			go p.copy(server, client, true)
			go p.copy(client, server, false)
		}
	}()
	target.Host = l.Addr().String()
	b.AMQP = target.String()
	return b, p
}

func (p *proxy) copy(to, from net.Conn, swaps bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		for p.freeze {
			p.frozen.Wait()
		}
		b := buf[:n]
		if swaps && p.swap[0] != nil {
			b = bytes.ReplaceAll(b, p.swap[0], p.swap[1])
		}
		p.mu.Unlock()
		if _, err := io.Copy(to, bytes.NewReader(b)); err != nil {
			return
		}
	}
}

// hold stops all bytes, as a dead network does.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freeze = true
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freeze = false
	p.frozen.Broadcast()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}
