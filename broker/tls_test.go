package broker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

// encrypting puts TLS in front of a broker, and returns its address with the file
// of the authority that it is to be trusted by.
func encrypting(t *testing.T, amqpURL string) (address, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	u, err := url.Parse(amqpURL)
	if err != nil {
		t.Fatal(err)
	}
	go forward(l, u.Host)
	authority = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	u.Scheme, u.Host = "amqps", l.Addr().String()
	return u.String(), authority
}

// forward copies both ways until either end is closed.
func forward(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer out.Close()
			go func() {
				_, _ = io.Copy(out, in)
				out.Close()
			}()
			_, _ = io.Copy(in, out)
		}()
	}
}

func TestWhatIsThereAndEmptyArrivesSoOverTLS(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	plain := brokertest.Vhost(t, b)
	queue := brokertest.Queue(t, plain, brokertest.Quorum, "orders", nil)
	address, authority := encrypting(t, plain)
	br := open(t, b, func(c *broker.Config) { c.AMQP = address + "?cacertfile=" + url.QueryEscape(authority) })
	p, in := publisher(t, br, plain), intake(t, br, plain, queue, 1)
	d := parkade.Draft{Content: parkade.Content{RoutingKey: queue, Properties: empty()}, Body: []byte("body")}
	if diff := cmp.Diff(parkade.Delivery{Content: d.Content, Body: d.Body}, there(t, p, in, 1, d), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACertificateOfAStrangerIsRefused(t *testing.T) {
	t.Parallel()
	b := brokertest.Main(t)
	plain := brokertest.Vhost(t, b)
	address, _ := encrypting(t, plain)
	br := open(t, b, func(c *broker.Config) { c.AMQP = address })
	_, err := br.OpenPublisher(t.Context(), brokertest.VhostName(t, plain), "test")
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("it says %v", err)
	}
}
