// Package replays sends parked messages back through the real dashboard, and takes
// them out of RabbitMQ at the other end.
package replays

import (
	"flag"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/test/dashtest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !given("rapid.checks") {
		_ = flag.Set("rapid.checks", "60") // each takes a batch through two queues
	}
	code := m.Run()
	dashtest.Cleanup()
	os.Exit(code)
}

// given reports whether a flag stands on the command line.
func given(name string) (yes bool) {
	flag.Visit(func(f *flag.Flag) { yes = yes || f.Name == name })
	return yes
}

// patience is for what takes several rounds through a wait queue.
const patience = 90 * time.Second

// stage is a vhost of a test's own, and a dashboard that sees nothing else.
type stage struct {
	*dashtest.Dashboard

	t      *testing.T
	admin  brokertest.Broker // as the tests log in
	broker brokertest.Broker // as the dashboard does
	amqp   string            // of the vhost
}

// prepare makes the vhost. The dashboard of it is started by open.
func prepare(t *testing.T, b brokertest.Broker) stage {
	t.Helper()
	vhost := brokertest.Vhost(t, b)
	return stage{t: t, admin: b, broker: brokertest.User(t, b, vhost, brokertest.Everything(), "management"), amqp: vhost}
}

// open starts the dashboard, which drains these queues.
func (s stage) open(parking ...string) stage {
	s.t.Helper()
	c := dashtest.Config{Broker: s.broker, AMQP: s.broker.AMQP}
	for _, q := range parking {
		c.Parking = append(c.Parking, dashtest.Parking{Queue: q, Auto: true})
	}
	s.Dashboard = dashtest.Start(s.t, c)
	return s
}

// The answers of the API, as far as these tests read them.
type (
	message struct {
		ID        string          `json:"id"`
		State     parkade.State   `json:"state"`
		MessageID string          `json:"message_id"`
		SHA256    string          `json:"sha256"`
		Round     int             `json:"round"`
		Previous  string          `json:"previous"`
		CameBack  bool            `json:"came_back"`
		Attempts  int             `json:"attempts"`
		Origin    *parkade.Origin `json:"origin"`
		Rounds    []message       `json:"rounds"`
		History   []record        `json:"replay_history"`
	}
	record struct {
		Message    string          `json:"message"`
		Stamp      string          `json:"stamp"`
		Outcome    parkade.Outcome `json:"outcome"`
		Why        string          `json:"why"`
		CameBack   bool            `json:"came_back"`
		ReturnedAs string          `json:"returned_as"`
	}
	operation struct {
		ID       string                    `json:"id"`
		State    parkade.OperationState    `json:"state"`
		Why      string                    `json:"why"`
		Total    int64                     `json:"total"`
		Left     int64                     `json:"left"`
		CameBack int64                     `json:"came_back"`
		Counts   map[parkade.Outcome]int64 `json:"counts"`
		Waiting  *struct {
			Why string `json:"why"`
		} `json:"waiting"`
	}
	choice struct {
		Target   parkade.Target `json:"target"`
		Reaches  []string       `json:"reaches"`
		Default  bool           `json:"default"`
		Blocked  string         `json:"blocked"`
		Warnings []string       `json:"warnings"`
	}
	treatment struct {
		Name     string           `json:"name"`
		Header   bool             `json:"header"`
		Handling parkade.Handling `json:"handling"`
		Why      string           `json:"why"`
	}
	preview struct {
		Choices    []choice    `json:"choices"`
		Publish    *publish    `json:"publish"`
		Treatments []treatment `json:"treatments"`
		Problem    string      `json:"problem"`
	}
	publish struct {
		Exchange   string         `json:"exchange"`
		RoutingKey string         `json:"routing_key"`
		Properties map[string]any `json:"properties"`
		Headers    []header       `json:"headers"`
	}
	header struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Value any    `json:"value"`
	}
)

// parked waits until exactly n messages of a queue are parked here, and returns
// them, oldest first.
func (s stage) parked(queue string, n int) []message {
	s.t.Helper()
	var page struct {
		Items []message `json:"items"`
		Total int       `json:"total"`
	}
	s.Eventually("what was parked in "+queue+" is here", patience, func() bool {
		s.Get("/messages?state=parked&order=oldest&limit=200&queue="+url.QueryEscape(queue), &page)
		return page.Total == n
	})
	return page.Items
}

// message reads all that the API tells of a message.
func (s stage) message(id string) message {
	s.t.Helper()
	var m message
	s.Get("/messages/"+id, &m)
	return m
}

// preview asks what a replay of a message would send.
func (s stage) preview(id string, target parkade.Target) preview {
	s.t.Helper()
	var p preview
	s.Post("/messages/"+id+"/preview", map[string]any{"target": target}, &p)
	return p
}

// order is a request for a replay, with more fields of the API, if any.
func order(target parkade.Target, more map[string]any, messages ...message) map[string]any {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	request := map[string]any{"verb": "replay", "select": map[string]any{"ids": ids}, "target": target}
	maps.Copy(request, more)
	return request
}

// replay has messages replayed and returns once that is over.
func (s stage) replay(target parkade.Target, messages ...message) operation {
	s.t.Helper()
	return s.finish(s.begin(order(target, nil, messages...)))
}

func (s stage) begin(request map[string]any) operation {
	s.t.Helper()
	var op operation
	s.Post("/operations", request, &op)
	return op
}

// finish waits until an operation is finished, and returns it.
func (s stage) finish(op operation) operation {
	s.t.Helper()
	s.Eventually("operation "+op.ID+" finishes", patience, func() bool {
		op = s.operation(op.ID)
		return op.State == parkade.Finished
	})
	return op
}

func (s stage) operation(id string) operation {
	s.t.Helper()
	var op operation
	s.Get("/operations/"+id, &op)
	return op
}

// wantRefused checks that the API refuses a request with a conflict, and why.
func (s stage) wantRefused(request map[string]any, why string) {
	s.t.Helper()
	status, err := s.Try(http.MethodPost, "/operations", request, nil)
	if status != http.StatusConflict || !strings.Contains(err.Error(), why) {
		s.t.Errorf("status %d (%v), want a conflict because %q", status, err, why)
	}
}

// records returns what became of each message of an operation, in its order.
func (s stage) records(op operation) []record {
	s.t.Helper()
	var page struct {
		Items []struct {
			Skipped string  `json:"skipped"`
			Replay  *record `json:"replay"`
		} `json:"items"`
	}
	s.Get("/operations/"+op.ID+"/replays?limit=200", &page)
	var all []record
	for _, i := range page.Items {
		if i.Replay == nil {
			s.t.Fatalf("operation %s left a message out: %s", op.ID, i.Skipped)
		}
		all = append(all, *i.Replay)
	}
	return all
}
