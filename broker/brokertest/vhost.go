package brokertest

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Vhost creates a vhost that no other test has and returns the AMQP URL that leads
// into it. It is deleted with all that is in it when the test ends.
func Vhost(tb testing.TB, b Broker) string {
	tb.Helper()
	amqpURL, err := url.Parse(b.AMQP)
	if err != nil {
		tb.Fatal("the broker's AMQP URL is none")
	}
	name := unique(tb)
	path := "vhosts/" + url.PathEscape(name)
	b.must(tb, http.MethodPut, path, map[string]any{}, nil)
	b.forget(tb, path)
	grant(tb, b, name, amqpURL.User.Username(), Everything())
	amqpURL.Path, amqpURL.RawPath = "/"+name, ""
	return amqpURL.String()
}

// VhostName returns the name of the vhost that an AMQP URL leads into.
func VhostName(tb testing.TB, amqpURL string) string {
	tb.Helper()
	u, err := url.Parse(amqpURL)
	if err != nil {
		tb.Fatal("no AMQP URL")
	}
	if name := strings.TrimPrefix(u.Path, "/"); name != "" {
		return name
	}
	return "/"
}

// Permissions are a user's three patterns in a vhost.
type Permissions struct {
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
}

// Everything lets a user do everything in a vhost.
func Everything() Permissions { return Permissions{Configure: ".*", Write: ".*", Read: ".*"} }

// User creates a user with these permissions in the vhost of amqpURL, and with
// management tags ("management", "monitoring", "administrator"). It returns the
// same broker as that user sees it: AMQP leads into the vhost.
func User(tb testing.TB, b Broker, amqpURL string, may Permissions, tags ...string) Broker {
	tb.Helper()
	name, password := unique(tb), rand.Text()
	path := "users/" + url.PathEscape(name)
	b.must(tb, http.MethodPut, path, map[string]any{"password": password, "tags": strings.Join(tags, ",")}, nil)
	b.forget(tb, path)
	grant(tb, b, VhostName(tb, amqpURL), name, may)
	as := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			tb.Fatal("the broker's URL is none")
		}
		u.User = url.UserPassword(name, password)
		return u.String()
	}
	return Broker{Version: b.Version, AMQP: as(amqpURL), Management: as(b.Management)}
}

func grant(tb testing.TB, b Broker, vhost, user string, may Permissions) {
	tb.Helper()
	b.must(tb, http.MethodPut, "permissions/"+url.PathEscape(vhost)+"/"+url.PathEscape(user), may, nil)
}

// CloseConnections closes, from the broker's side, every connection into the vhost
// of amqpURL whose name contains named, and returns how many those were. It waits
// for the first one to show. Connections of this package are left alone.
func CloseConnections(tb testing.TB, b Broker, amqpURL, named string) int {
	tb.Helper()
	closed := 0
	Eventually(tb, "a connection named "+named, func() bool {
		var open []struct {
			Name       string `json:"name"`
			Properties struct {
				Name string `json:"connection_name"`
			} `json:"client_properties"`
		}
		b.must(tb, http.MethodGet, "vhosts/"+url.PathEscape(VhostName(tb, amqpURL))+"/connections", nil, &open)
		for _, c := range open {
			if c.Properties.Name == connectionName || !strings.Contains(c.Properties.Name, named) {
				continue
			}
			if b.API(tb, http.MethodDelete, "connections/"+url.PathEscape(c.Name), nil, nil) == http.StatusNoContent {
				closed++
			}
		}
		return closed > 0
	})
	return closed
}

// unique makes a name for something of this test's own.
func unique(tb testing.TB) string {
	tb.Helper()
	return "test." + strings.ReplaceAll(tb.Name(), "/", ".") + "." + rand.Text()[:8]
}
