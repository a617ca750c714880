package parkade

import (
	"math"
	"net/url"
	"strings"
)

// The header pair in which Spring AMQP's RepublishMessageRecoverer, and what was
// modelled on it, keeps where a message was published to.
const (
	originalExchange = "x-original-exchange"
	originalKey      = "x-original-routingKey"
)

// queueHeaders are the headers in which frameworks name the queue that failed a
// message, the clearest first.
//
//nolint:gochecknoglobals // a constant table
var queueHeaders = []struct {
	name  string
	queue func(value string) string
}{
	{"NServiceBus.FailedQ", bare},
	{"MT-Fault-InputAddress", queueOfAddress},
	{"rbs2-source-queue", bare},
}

// HintOf returns the origin that headers name, and the header that does. Whoever
// parks a message itself leaves no death that would tell, and these are what it
// says instead: an exchange and a key, where the queue is empty, or only a queue,
// which is its own way then. Headers can lie, so what they name is checked like any
// target before it is used.
func HintOf(headers Table) (o Origin, from string, ok bool) {
	exchange, there := textOf(headers, originalExchange)
	key, too := textOf(headers, originalKey)
	switch {
	case !there || !too || strings.HasPrefix(exchange, PrivateExchange+"."): // one of ours is gone by now
	case exchange != "":
		return Origin{Exchange: exchange, RoutingKey: key}, originalExchange, true
	case key != "": // the default exchange routes by the name of a queue
		return Origin{RoutingKey: key, Queue: key}, originalKey, true
	}
	for _, h := range queueHeaders {
		value, there := headers.Get(h.name)
		text, _ := value.(string)
		if q := h.queue(text); there && q != "" && len(q) <= math.MaxUint8 {
			return Origin{RoutingKey: q, Queue: q}, h.name, true
		}
	}
	return Origin{}, "", false
}

// textOf returns a header that is a text and fits into a name of AMQP.
func textOf(headers Table, name string) (string, bool) {
	v, _ := headers.Get(name)
	s, ok := v.(string)
	return s, ok && len(s) <= math.MaxUint8
}

func bare(value string) string { return value }

// queueOfAddress returns the queue of a MassTransit address, as in
// rabbitmq://host/vhost/orders?durable=true and queue:orders; "" for anything else.
func queueOfAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "queue":
		return u.Opaque
	case "rabbitmq", "rabbitmqs", "amqp", "amqps":
		path := u.EscapedPath()
		name, err := url.PathUnescape(path[strings.LastIndex(path, "/")+1:])
		if err != nil {
			return ""
		}
		return name
	}
	return ""
}

// OriginFrom says what the origin of m rests on: "x-death", the header that names
// it, or "" where an earlier round or a wrapper told it, or nothing does. headers
// are those that m arrived with.
func OriginFrom(m Message, headers Table) string {
	if m.Origin == nil {
		return ""
	}
	if o, ok := OriginOf(Deaths(headers)); ok {
		if o == *m.Origin {
			return "x-death"
		}
		return ""
	}
	if o, from, ok := HintOf(headers); ok && o == *m.Origin {
		return from
	}
	return ""
}
