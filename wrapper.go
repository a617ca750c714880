package parkade

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Wrapper is a framework's way to park a message inside another one.
type Wrapper string

// The wrappers that are known.
const (
	EasyNetQ Wrapper = "easynetq" // JSON with the body as text, and with its properties, headers and origin
	Sneakers Wrapper = "sneakers" // JSON of Sneakers and Kicks with the body as base64; properties only from some versions
	Kicks    Wrapper = "kicks"    // the body as it was, with its properties as JSON in the header retry_info
)

// Wrapped is a message that was taken out of its wrapper.
type Wrapped struct {
	Wrapper   Wrapper
	Draft     Draft   // its exchange and key are those of Origin
	Origin    *Origin // nil: the wrapper doesn't tell
	Exception string  // what the wrapper says went wrong, in one line
}

// maxWrapped bounds what is looked into.
const maxWrapped = 32 << 20

// Unwrap takes a message out of the wrapper that it arrived in, and reports
// whether it has one. Whatever isn't wholly what a framework writes, or has lost
// bytes on its way into JSON, is no wrapper. It is cheap where there is none.
func Unwrap(c Content, body []byte) (Wrapped, bool) {
	if len(body) > maxWrapped {
		return Wrapped{}, false
	}
	if info := c.Headers.Text(retryInfo); info != "" {
		return unwrapKicks(c, info, body)
	}
	// The keys tell at little cost whether JSON has to be read at all.
	if len(body) == 0 || body[0] != '{' {
		return Wrapped{}, false
	}
	easy := bytes.Contains(body, []byte(`"BasicProperties"`)) && bytes.Contains(body, []byte(`"Exception"`))
	sneak := bytes.Contains(body, []byte(`"payload"`)) && bytes.Contains(body, []byte(`"failed_at"`))
	if !easy && !sneak || !utf8.Valid(body) {
		return Wrapped{}, false
	}
	fields := object(body)
	if easy {
		return unwrapEasyNetQ(fields)
	}
	return unwrapSneakers(c, fields)
}

// jsonObject is a JSON object with its keys exactly as written.
type jsonObject map[string]json.RawMessage

// object reads an object; nil where b is none.
func object(b []byte) jsonObject {
	var o jsonObject
	if json.Unmarshal(b, &o) != nil {
		return nil
	}
	return o
}

func (o jsonObject) has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := o[k]; !ok {
			return false
		}
	}
	return true
}

// text returns a string that came through JSON whole; null is "".
func (o jsonObject) text(key string) (string, bool) {
	raw := o[key]
	if string(raw) == "null" {
		return "", true
	}
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil || strings.ContainsRune(s, utf8.RuneError) {
		return "", false // a framework puts U+FFFD where bytes weren't UTF-8
	}
	return s, true
}

// unwrapEasyNetQ reads what EasyNetQ publishes to its error queue
// (Source/EasyNetQ/SystemMessages/Error.cs).
func unwrapEasyNetQ(o jsonObject) (Wrapped, bool) {
	if !o.has("RoutingKey", "Exchange", "Exception", "Message", "DateTime", "BasicProperties") {
		return Wrapped{}, false
	}
	key, ok1 := o.text("RoutingKey")
	exchange, ok2 := o.text("Exchange")
	body, ok3 := o.text("Message")
	w := Wrapped{Wrapper: EasyNetQ}
	w.Draft.Exchange, w.Draft.RoutingKey, w.Draft.Body = exchange, key, []byte(body)
	p := object(o["BasicProperties"])
	if !ok1 || !ok2 || !ok3 || p == nil || !easyProperties(p, &w.Draft.Content) || !short(exchange, key) {
		return Wrapped{}, false
	}
	if queue, ok := o.text("Queue"); ok && queue != "" {
		w.Origin = &Origin{Exchange: exchange, RoutingKey: key, Queue: queue}
	}
	exception, _ := o.text("Exception")
	w.Exception = oneLine(exception)
	return w, true
}

// unwrapSneakers reads what the Maxretry handler of Sneakers, and of Kicks up to
// 3.1, publishes to the exchange QUEUE-error with the original's key.
func unwrapSneakers(c Content, o jsonObject) (Wrapped, bool) {
	if !o.has("error", "failed_at", "payload") || !o.has("num_attempts") && !o.has("error_class") {
		return Wrapped{}, false
	}
	encoded, ok := o.text("payload")
	if !ok {
		return Wrapped{}, false
	}
	body, err := base64.StdEncoding.Strict().DecodeString(encoded) // which skips the line ends
	if err != nil {
		return Wrapped{}, false
	}
	w := Wrapped{Wrapper: Sneakers, Draft: Draft{Body: body}}
	return finishSneakers(w, c, o)
}

const retryInfo = "retry_info"

// unwrapKicks reads what the Maxretry handler of newer Kicks publishes: the body
// as it was, and the story in a header, newest first where it failed before.
func unwrapKicks(c Content, info string, body []byte) (Wrapped, bool) {
	if !utf8.ValidString(info) {
		return Wrapped{}, false
	}
	raw := []byte(info)
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0]
	}
	o := object(raw)
	if !o.has("error", "failed_at", "num_attempts", "properties") || o.has("payload") {
		return Wrapped{}, false
	}
	return finishSneakers(Wrapped{Wrapper: Kicks, Draft: Draft{Body: body}}, c, o)
}

// finishSneakers adds what the three forms have in common.
func finishSneakers(w Wrapped, c Content, o jsonObject) (Wrapped, bool) {
	if raw, there := o["properties"]; there && string(raw) != "null" {
		p := object(raw)
		if p == nil || !bunnyProperties(p, &w.Draft.Content) {
			return Wrapped{}, false
		}
	}
	w.Draft.RoutingKey = c.RoutingKey
	if queue, ok := strings.CutSuffix(c.Exchange, "-error"); ok && queue != "" {
		// The queue is known by the exchange's name alone, its exchange isn't.
		w.Origin = &Origin{RoutingKey: queue, Queue: queue}
		w.Draft.RoutingKey = queue
	}
	message, _ := o.text("error_message")
	if class, _ := o.text("error_class"); class != "" {
		message = strings.TrimSuffix(class+": "+message, ": ")
	}
	if message == "" {
		message, _ = o.text("error")
	}
	w.Exception = oneLine(message)
	return w, true
}

func short(all ...string) bool {
	for _, s := range all {
		if len(s) > 255 {
			return false
		}
	}
	return true
}

// Name is what people call the framework.
func (w Wrapper) Name() string {
	return map[Wrapper]string{EasyNetQ: "EasyNetQ", Sneakers: "Sneakers", Kicks: "Kicks"}[w]
}
