package config

import (
	"fmt"
	"slices"
)

// checkNames refuses names that stand twice, and names of what isn't there.
func (f *file) checkNames(c *Config) {
	brokers := unique(f, "brokers", c.Brokers, func(b Broker) string { return b.Name })
	outboxes := unique(f, "outboxes", c.Outboxes, func(o Outbox) string { return o.Name })
	receivers := unique(f, "receivers", c.Receivers, func(r Receiver) string { return r.Name })
	unique(f, "rules", c.Rules, func(r Rule) string { return r.Name })
	for i, r := range c.Rules {
		known := func(field, name string, names []string) {
			if name != "" && !slices.Contains(names, name) {
				f.add(f.lines[fmt.Sprintf("rules[%d]", i)], fmt.Sprintf("rules[%d].%s", i, field), "there is no %q; possible are %s", name, list(names))
			}
		}
		known("subject.broker", r.Subject.Broker, brokers)
		known("subject.outbox", r.Subject.Outbox, outboxes)
		for _, name := range r.Notify {
			known("notify", name, receivers)
		}
	}
}

// unique returns the names of all, and rejects one that stands twice.
func unique[T any](f *file, section string, all []T, name func(T) string) []string {
	var names []string
	for i, one := range all {
		n := name(one)
		if n != "" && slices.Contains(names, n) {
			key := fmt.Sprintf("%s[%d]", section, i)
			f.add(f.lines[key], key+".name", "%q stands twice; each name once", n)
		}
		names = append(names, n)
	}
	return names
}
