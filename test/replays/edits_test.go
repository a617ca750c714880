package replays

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"pgregory.net/rapid"

	"parkade"
	"parkade/broker/brokertest"
)

// exact is what the API tells of a message or of a publish, as its bytes.
type exact struct {
	Properties json.RawMessage   `json:"properties"`
	Headers    []json.RawMessage `json:"headers"`
}

// named returns the headers by their names, which may not be UTF-8.
func (e exact) named(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, raw := range e.Headers {
		var h struct {
			Name       string `json:"name"`
			NameBase64 string `json:"name_base64"`
		}
		if err := json.Unmarshal(raw, &h); err != nil {
			t.Fatal(err)
		}
		all[h.Name+h.NameBase64] = string(raw)
	}
	return all
}

type exactPreview struct {
	Hash       string      `json:"hash"`
	Problem    string      `json:"problem"`
	Publish    *exact      `json:"publish"`
	Treatments []treatment `json:"treatments"`
}

const edited = "test-edited"

// TestAnEditOfOneHeaderChangesNothingElse edits one header of any message, and has
// what arrives compared with the preview and with what was parked, as JSON and as
// bytes. The target is drained, too, so that the API tells what arrived.
func TestAnEditOfOneHeaderChangesNothingElse(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := prepare(t, b)
		for _, q := range []string{"in.parking", "out.parking"} {
			brokertest.Queue(t, s.amqp, brokertest.Classic, q, nil)
		}
		s = s.open("in.parking", "out.parking")
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			m := parked([]parkable{messages("").Draw(rt, "message")})[0]
			m.Headers[edited] = values(2).Draw(rt, "before")
			brokertest.Publish(t, s.amqp, "", "in.parking", m)
			before := s.nth("in.parking", n)
			header := rapid.SampledFrom(newHeaders()).Draw(rt, "after")
			sent := s.editAndSend(before, header)
			after := s.nth("out.parking", n)
			got, original := s.exactly(after), s.exactly(before)
			if string(got.Properties) != string(sent.Properties) {
				rt.Errorf("the properties arrive as %s, and the preview said %s", got.Properties, sent.Properties)
			}
			arrived, previewed, was := got.named(t), sent.named(t), original.named(t)
			delete(arrived, parkade.ReplayIDHeader)
			delete(previewed, parkade.ReplayIDHeader)
			wantSame(rt, "what arrives", arrived, "the preview", previewed)
			if arrived[edited] != header {
				rt.Errorf("the edited header arrives as %s, not %s", arrived[edited], header)
			}
			for name, raw := range arrived {
				if name != edited && name != parkade.ReplayAttemptHeader && was[name] != raw {
					rt.Errorf("the header %q was %s and arrives as %s", name, was[name], raw)
				}
			}
			if body := s.body(after); body != string(m.Body) || s.body(before) != string(m.Body) {
				rt.Errorf("a body of %d bytes arrives with %d", len(m.Body), len(body))
			}
		})
	})
}

// newHeaders are what the header becomes: one of each AMQP type.
func newHeaders() []string {
	values := map[string]string{
		"boolean": "true", "int8": "-128", "uint8": "255", "int16": "-32768", "uint16": "65535", "int32": "-2147483648", "uint32": "4294967295",
		"int64": `"9007199254740993"`, "float": "0.1", "double": "1e+300", "decimal": `"-0.05"`, "longstr": `"größe\n"`, "bytes": `{"base64":"AP8="}`,
		"timestamp": `"1790000000123"`, "void": "null", "array": `[{"type":"int16","value":3},{"type":"longstr","value":{"base64":"/w=="}}]`,
		"table": `[{"name":"deep","type":"int64","value":"1"}]`,
	}
	var all []string
	for kind, v := range values {
		all = append(all, fmt.Sprintf(`{"name":%q,"type":%q,"value":%s}`, edited, kind, v))
	}
	return all
}

func wantSame(t *rapid.T, one string, a map[string]string, other string, b map[string]string) {
	for name := range b {
		if a[name] != b[name] {
			t.Errorf("the header %q is %s in %s and %s in %s", name, a[name], one, b[name], other)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%s has %d headers, %s %d", one, len(a), other, len(b))
	}
}

// nth waits until n messages came out of a queue, and returns the last one's id.
func (s stage) nth(queue string, n int) string {
	s.t.Helper()
	var page struct {
		Items []message `json:"items"`
		Total int       `json:"total"`
	}
	s.Eventually(strconv.Itoa(n)+" messages of "+queue+" are here", patience, func() bool {
		s.Get("/messages?limit=1&queue="+queue, &page)
		return page.Total == n
	})
	return page.Items[0].ID
}

func (s stage) exactly(id string) exact {
	s.t.Helper()
	var e exact
	s.Get("/messages/"+id, &e)
	return e
}

// editAndSend replaces one header of a message as the API answers it, and sends the
// result to out.parking as its preview showed it.
func (s stage) editAndSend(id, header string) exact {
	s.t.Helper()
	all := s.exactly(id)
	for i, raw := range all.Headers {
		if bytes.HasPrefix(raw, []byte(`{"name":"`+edited+`"`)) {
			all.Headers[i] = json.RawMessage(header)
		}
	}
	request := map[string]any{
		"seen": 1, "edit": map[string]any{"base": 1, "headers": all.Headers}, "target": parkade.Target{To: parkade.ToQueue, Queue: "out.parking"},
	}
	var p exactPreview
	s.Post("/messages/"+id+"/preview", request, &p)
	if p.Publish == nil || p.Problem != "" {
		s.t.Fatalf("it would not be sent: %s", p.Problem)
	}
	request["verb"], request["select"] = "replay", map[string]any{"ids": []string{id}}
	request["expect"] = map[string]any{"count": 1, "hash": p.Hash}
	if op := s.finish(s.begin(request)); op.Counts[parkade.Confirmed] != 1 {
		s.t.Fatalf("the operation ended with %v", op.Counts)
	}
	return *p.Publish
}

// TestAnEditThatFailsAgainIsAChain: edited, replayed, failed and back, edited once
// more, and then handled.
func TestAnEditThatFailsAgainIsAChain(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		s := prepare(t, b)
		l := loop{exchange: "direct", kind: brokertest.Quorum, work: dlx("orders.retry", "retry"), wait: dlx("orders", placed)}
		l.declare(t, s.amqp)
		s = s.open(parking)
		w := startWorker(t, brokertest.Channel(t, s.amqp), work, parking)
		brokertest.Publish(t, s.amqp, "orders", placed, amqp.Publishing{MessageId: "o-1", Body: []byte("broken")})
		around := []step{{"failed", "orders", placed}, {"failed", "orders", placed}, {"parked", "orders", placed}}
		w.takes(around...)
		chain := []message{s.parked(parking, 1)[0]}
		bodies := []string{"mended", "mended again"}
		for i, body := range bodies {
			last := chain[i]
			request := map[string]any{
				"verb": "replay", "select": map[string]any{"ids": []string{last.ID}}, "seen": 1,
				// The id, too: it is known again by what was sent.
				"edit": map[string]any{"body": body, "properties": map[string]any{"message_id": "o-" + strconv.Itoa(i+2)}, "note": body},
			}
			if i == len(bodies)-1 {
				close(w.fixed)
			}
			if op := s.finish(s.begin(request)); op.Counts[parkade.Confirmed] != 1 {
				t.Fatalf("the operation ended with %v", op.Counts)
			}
			if i == len(bodies)-1 {
				w.takes(step{"handled", "orders", placed})
				break
			}
			w.takes(around...)
			chain = append(chain, s.parked(parking, 1)[0])
		}
		s.wantChain(chain, bodies)
	})
}

// wantChain checks what the API tells of each round.
func (s stage) wantChain(chain []message, bodies []string) {
	s.t.Helper()
	for i, m := range chain {
		var got struct {
			message

			Version int `json:"version"`
			History []struct {
				Version    int    `json:"version"`
				SHA256     string `json:"sha256"`
				CameBack   bool   `json:"came_back"`
				ReturnedAs string `json:"returned_as"`
			} `json:"replay_history"`
		}
		s.Get("/messages/"+m.ID, &got)
		var versions struct {
			Items []struct {
				Version          int
				By, Note, SHA256 string
			}
		}
		s.Get("/messages/"+m.ID+"/versions", &versions)
		if len(versions.Items) != 2 || len(got.History) != 1 || got.Version != 2 || got.Round != i+1 || len(got.Rounds) != len(chain) {
			s.t.Fatalf("round %d is %+v with %+v", i+1, got, versions)
		}
		sent, newest, back := got.History[0], versions.Items[0], i+1 < len(chain)
		if sent.Version != 2 || sent.SHA256 != newest.SHA256 || newest.Note != bodies[i] || newest.By == "" || sent.CameBack != back || got.State != parkade.Replayed {
			s.t.Errorf("round %d was sent as %+v of %+v", i+1, sent, newest)
		}
		if back && sent.ReturnedAs != chain[i+1].ID || i > 0 && got.Previous != chain[i-1].ID {
			s.t.Errorf("round %d follows %s and came back as %s", i+1, got.Previous, sent.ReturnedAs)
		}
		if i > 0 && s.body(m.ID) != bodies[i-1] {
			s.t.Errorf("round %d arrived with %q", i+1, s.body(m.ID))
		}
	}
}
