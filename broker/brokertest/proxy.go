package brokertest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy stands between clients and a broker, and breaks things there.
type Proxy struct {
	mu      sync.Mutex
	thawed  *sync.Cond
	held    [2]bool // by direction
	waiting int     // bytes that are held
	conns   []net.Conn
	replace [2][]byte // what clients write, and what the broker reads instead
}

// The directions of a connection.
const (
	toBroker = iota
	toClient
)

// Behind returns b as reached through a new proxy.
func Behind(tb testing.TB, b Broker) (Broker, *Proxy) {
	tb.Helper()
	target, err := url.Parse(b.AMQP)
	if err != nil {
		tb.Fatal("the broker's AMQP URL is none")
	}
	address := target.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{}
	p.thawed = sync.NewCond(&p.mu)
	tb.Cleanup(func() {
		l.Close()
		p.Thaw()
		p.Cut()
	})
	go p.serve(l, address)
	target.Host = l.Addr().String()
	b.AMQP = target.String()
	return b, p
}

func (p *Proxy) serve(l net.Listener, address string) {
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
		go p.copy(server, client, toBroker)
		go p.copy(client, server, toClient)
	}
}

func (p *Proxy) copy(to, from net.Conn, direction int) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.waiting += n
		for p.held[direction] {
			p.thawed.Wait()
		}
		p.waiting -= n
		b := buf[:n]
		if direction == toBroker && p.replace[0] != nil {
			b = bytes.ReplaceAll(b, p.replace[0], p.replace[1])
		}
		p.mu.Unlock()
		if _, err := io.Copy(to, bytes.NewReader(b)); err != nil {
			return
		}
	}
}

// Hold stops all bytes, as a dead network does.
func (p *Proxy) Hold() { p.hold(true, true) }

// HoldAnswers lets the broker hear its clients, and no client the broker.
func (p *Proxy) HoldAnswers() { p.hold(false, true) }

// Held returns how many bytes are held now, as far as they were read.
func (p *Proxy) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// Thaw lets all bytes through again.
func (p *Proxy) Thaw() { p.hold(false, false) }

func (p *Proxy) hold(broker, client bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = [2]bool{toBroker: broker, toClient: client}
	p.thawed.Broadcast()
}

// Cut ends all connections. What is held is lost.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

// Replace has the broker read by instead of each old that a client writes.
func (p *Proxy) Replace(old, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replace = [2][]byte{[]byte(old), []byte(by)}
}
