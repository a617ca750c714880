package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"
)

// plainly returns the address by which the client library is to connect, and what
// encrypts the connection below it; nil where the address asks for none. The
// library would encrypt above our socket, where no frame can be followed.
func plainly(address string) (string, *tls.Config, error) {
	uri, err := amqp.ParseURI(address)
	if err != nil || uri.Scheme != "amqps" {
		return address, nil, err
	}
	cfg := &tls.Config{ServerName: uri.ServerName, MinVersion: tls.VersionTLS12}
	if cfg.ServerName == "" {
		cfg.ServerName = uri.Host
	}
	if uri.CACertFile != "" {
		pem, err := os.ReadFile(uri.CACertFile)
		if err != nil {
			return "", nil, fmt.Errorf("read the CA certificate: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return "", nil, fmt.Errorf("there is no certificate in %s", uri.CACertFile)
		}
	}
	if uri.CertFile != "" && uri.KeyFile != "" {
		own, err := tls.LoadX509KeyPair(uri.CertFile, uri.KeyFile)
		if err != nil {
			return "", nil, fmt.Errorf("load the client certificate: %w", err)
		}
		cfg.Certificates = []tls.Certificate{own}
	}
	plain, err := url.Parse(address)
	if err != nil {
		return "", nil, err
	}
	plain.Scheme, plain.Host = "amqp", net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port)) // the port of amqps may be left out
	return plain.String(), cfg, nil
}

// encrypted does the handshake on a socket, which has a deadline.
func encrypted(ctx context.Context, socket net.Conn, cfg *tls.Config) (net.Conn, error) {
	if cfg == nil {
		return socket, nil
	}
	conn := tls.Client(socket, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = socket.Close() // it is of no more use
		return nil, err
	}
	return conn, nil
}
