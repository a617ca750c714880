package config

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"parkade"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// The brokers that are meant where nothing else is said: RabbitMQ's own defaults.
const (
	defaultAMQP       = "amqp://guest:guest@localhost:5672"  //nolint:gosec // the login that RabbitMQ ships with
	defaultManagement = "http://guest:guest@localhost:15672" //nolint:gosec // the login that RabbitMQ ships with
)

// Source says where a configuration comes from. What the command line says wins
// over the file.
type Source struct {
	File           string // "" is none: everything has its default
	Getenv         func(string) string
	Listen         string // "" says nothing
	Database       string // "" says nothing
	InsecureListen bool
}

// Load reads a configuration. Where anything is wrong with it, the error is an
// *Error that names everything. PARKADE_AMQP_URL and PARKADE_MANAGEMENT_URL in the
// environment are the URLs of brokers for which the file has none.
func Load(src Source) (*Config, error) {
	f := &file{getenv: src.Getenv, anchors: map[string]ast.Node{}, lines: map[string]int{}}
	c := &Config{
		Listen: "127.0.0.1:8080", Database: "parkade.db",
		Retention: Retention{Discarded: 7 * day, Closed: 30 * day, Readings: 14 * day},
		Auth:      Auth{Mode: "none"},
		File:      src.File,
	}
	if src.File != "" {
		root, err := f.parse(src.File)
		if err != nil {
			return nil, err
		}
		if root.node != nil {
			f.read(root, c)
		}
	}
	if src.Listen != "" {
		c.Listen, f.lines["listen"] = src.Listen, 0
	}
	if src.Database != "" {
		c.Database = src.Database
	}
	c.InsecureListen = c.InsecureListen || src.InsecureListen
	if len(c.Brokers) == 0 {
		c.Brokers = []Broker{{Name: "main"}}
	}
	for i := range c.Brokers {
		f.defaultURLs(&c.Brokers[i])
	}
	f.checkListen(c)
	f.checkNames(c)
	return c, f.err(src.File)
}

// parse reads the file's YAML. An empty file is a value without a node.
func (f *file) parse(path string) (value, error) {
	text, err := os.ReadFile(path)
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return value{}, parkade.Errorf(parkade.Invalid, "The configuration %s can't be read: %v.", path, pe.Err)
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		f.syntax(err)
		return value{}, f.err(path)
	}
	if len(tree.Docs) > 1 {
		f.add(0, "", "the file holds more than one document; one is expected")
		return value{}, f.err(path)
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil || tree.Docs[0].Body.Type() == ast.NullType {
		return value{}, nil
	}
	root := tree.Docs[0].Body
	ast.Walk(anchors(f.anchors), root)
	return value{file: f, node: root}, nil
}

// syntax adds what the parser found. Its own text would quote the line, which may
// hold a password.
func (f *file) syntax(err error) {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		line := 0
		if t := e.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
		f.add(line, "", "this is no valid YAML: %s", e.GetMessage())
		return
	}
	f.add(0, "", "this is no valid YAML")
}

// anchors collects what the file names with &.
type anchors map[string]ast.Node

func (a anchors) Visit(n ast.Node) ast.Visitor {
	if n, ok := n.(*ast.AnchorNode); ok {
		a[n.Name.GetToken().Value] = n.Value
	}
	return a
}

func (f *file) read(root value, c *Config) {
	root.keys(map[string]func(value){
		"listen":          into(&c.Listen, value.text),
		"insecure_listen": into(&c.InsecureListen, value.boolean),
		"public_url":      func(v value) { c.PublicURL = v.publicURL() },
		"hosts":           into(&c.Hosts, value.hosts),
		"database":        into(&c.Database, value.text),
		"retention": func(v value) {
			keep := func(v value) time.Duration { return v.duration(time.Hour, 10*year) }
			v.keys(map[string]func(value){
				"discarded": into(&c.Retention.Discarded, keep),
				"closed":    into(&c.Retention.Closed, keep),
				"readings":  into(&c.Retention.Readings, keep),
			})
		},
		"brokers":   func(v value) { v.each(func(v value) { c.Brokers = append(c.Brokers, v.broker()) }) },
		"outboxes":  func(v value) { v.each(func(v value) { c.Outboxes = append(c.Outboxes, v.outbox()) }) },
		"rules":     func(v value) { v.each(func(v value) { c.Rules = append(c.Rules, v.rule()) }) },
		"receivers": func(v value) { v.each(func(v value) { c.Receivers = append(c.Receivers, v.receiver()) }) },
		"auth": func(v value) {
			v.need(v.keys(map[string]func(value){"mode": func(v value) { c.Auth.Mode = v.authMode() }}), "mode")
		},
	})
}

func (v value) authMode() string {
	mode := v.oneOf("none", "local", "oidc", "proxy")
	if mode != "" && mode != "none" {
		v.reject("this version has no sign-in yet: none is the only mode")
	}
	return mode
}

// publicURL reads the address by which browsers reach the pages.
func (v value) publicURL() *url.URL {
	s, ok := v.raw()
	if !ok {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		v.reject("must be a URL such as https://ops.example.com/parkade, without a login and a query")
		return nil
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u
}

func (v value) hosts() []string {
	var all []string
	v.each(func(v value) {
		host := v.text()
		if strings.ContainsAny(host, "/:@ ") {
			v.reject("must be a host's name only, without a scheme and a port")
		}
		all = append(all, host)
	})
	return all
}

func (f *file) defaultURLs(b *Broker) {
	set := func(url *Secret, variable, scheme, otherwise string) {
		if *url != "" {
			return
		}
		*url = Secret(otherwise)
		value := f.getenv(variable)
		if value == "" {
			return
		}
		if !strings.HasPrefix(value, scheme+"://") && !strings.HasPrefix(value, scheme+"s://") {
			f.add(0, variable, "must be a URL that starts with %s:// or %ss://", scheme, scheme)
		}
		*url = Secret(value)
	}
	set(&b.AMQP, "PARKADE_AMQP_URL", "amqp", defaultAMQP)
	set(&b.Management, "PARKADE_MANAGEMENT_URL", "http", defaultManagement)
}

// checkListen refuses an address at which anybody could replay and discard.
func (f *file) checkListen(c *Config) {
	line := f.lines["listen"]
	_, port, err := net.SplitHostPort(c.Listen)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 && port != "0" {
		f.add(line, "listen", "must be a host and a port, such as 127.0.0.1:8080")
		return
	}
	if c.OpenListen() && c.Auth.Mode == "none" && !c.InsecureListen {
		f.add(line, "listen", "%s can be reached from other machines, and auth.mode is none: whoever reaches it could read, replay and discard messages. "+
			"Listen on 127.0.0.1 behind something that signs people in, or say insecure_listen: true if that is what you want", c.Listen)
	}
	if filepath.Base(c.Database) == "." {
		f.add(0, "database", "must be the path of a file")
	}
}
