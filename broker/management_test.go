package broker_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker"
	"parkade/broker/brokertest"
)

// answering returns a broker whose management API is handler, and how many
// connections to it were opened.
func answering(t *testing.T, handler http.HandlerFunc) (*broker.Broker, *atomic.Int64) {
	t.Helper()
	var opened atomic.Int64
	srv := httptest.NewUnstartedServer(handler)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	url := strings.Replace(srv.URL, "http://", "http://user:hunter2@", 1)
	return open(t, brokertest.Broker{AMQP: "amqp://localhost", Management: url + "/"}), &opened
}

func TestRefusalsOfTheManagementAPIArePhrased(t *testing.T) {
	t.Parallel()
	for status, tt := range map[int]struct {
		kind parkade.Kind
		want string
	}{
		401: {parkade.Unavailable, "refuses the login"},
		403: {parkade.Forbidden, "may not see"},
		404: {parkade.NotFound, "no such thing"},
		500: {parkade.Unavailable, "500 Internal Server Error. the reason"},
		200: {parkade.Unavailable, "isn't understood"},
	} {
		br, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":"e","reason":"the reason"} and more`)
		})
		_, viaLibrary := br.Version(t.Context())
		_, viaOurs := br.Queues(t.Context(), "/")
		if status == 200 {
			viaLibrary = viaOurs // the library takes what it finds
		}
		for _, err := range []error{viaLibrary, viaOurs} {
			kind, sentence := parkade.Explain(err)
			if kind != tt.kind || !strings.Contains(sentence, tt.want) || strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("%d: kind %v, %q (%v)", status, kind, sentence, err)
			}
		}
	}
}

func TestALateAnswerOfTheManagementAPIIsGivenUpWithItsContext(t *testing.T) {
	t.Parallel()
	br, _ := answering(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, viaLibrary := br.Version(ctx)
	_, viaOurs := br.Queues(ctx, "/")
	for _, err := range []error{viaLibrary, viaOurs} {
		if _, sentence := parkade.Explain(err); !strings.Contains(sentence, "doesn't answer in time") {
			t.Error(err)
		}
	}
}

func TestOneConnectionServesManyCalls(t *testing.T) {
	t.Parallel()
	br, opened := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, `{"rabbitmq_version":"4.3.6"}`)
	})
	for range 5 {
		if v, err := br.Version(t.Context()); err != nil || v != "4.3.6" {
			t.Fatal(v, err)
		}
		if _, err := br.Queues(t.Context(), "/"); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestOneOddQueueHidesNoOther(t *testing.T) {
	t.Parallel()
	br, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "1" {
			fmt.Fprint(w, `{"page_count":2,"items":[
				{"name":"odd","vhost":"/","type":"quorum","garbage_collection":[],"owner_pid_details":[],"arguments":[],
				 "effective_policy_definition":"","messages_ready":"NaN","consumers":null,"exclusive":null,"delivery_limit":"unlimited","members":{}},
				{"name":{"not":"a name"}},
				{"name":"plain","vhost":"/","type":"classic","state":"running","messages_ready":5,"messages_unacknowledged":1,"consumers":2}]}`)
			return
		}
		fmt.Fprint(w, `{"page_count":2,"items":[{"name":"second page","vhost":"/"}]}`)
	})
	got, err := br.Queues(t.Context(), "/")
	want := []broker.QueueListing{
		{Vhost: "/", Name: "odd", Type: "quorum", Ready: -1, Unacked: -1, Delayed: -1, Consumers: -1},
		{Vhost: "/", Name: "plain", Type: "classic", State: "running", Ready: 5, Unacked: 1, Delayed: -1, Consumers: 2},
		{Vhost: "/", Name: "second page", Type: "classic", Ready: -1, Unacked: -1, Delayed: -1, Consumers: -1},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// oddVhost makes a vhost with a name that needs care in URLs.
func oddVhost(t *testing.T, b brokertest.Broker) (name, url string) {
	t.Helper()
	name = "a/b c?#%é " + brokertest.VhostName(t, brokertest.Vhost(t, b))
	path := "vhosts/" + strings.ReplaceAll(pathEscape(name), "+", "%20")
	b.API(t, http.MethodPut, path, map[string]any{}, nil)
	t.Cleanup(func() {
		r, _ := http.NewRequest(http.MethodDelete, b.Management+"/api/"+path, nil)
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
		}
	})
	b.API(t, http.MethodPut, "permissions/"+pathEscape(name)+"/guest", brokertest.Everything(), nil)
	return name, b.AMQP + "/" + pathEscape(name)
}

func TestOddNamesAreFound(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		vhost, url := oddVhost(t, b)
		br := open(t, b)
		odd := []string{"a/b c?#%é", "..", "a+b&c=d.parking"}
		for _, queue := range odd {
			brokertest.Queue(t, url, brokertest.Quorum, queue, nil)
			brokertest.Publish(t, url, "", queue, amqp.Publishing{})
		}
		for _, queue := range odd {
			f, err := br.Facts(t.Context(), vhost, queue)
			if err != nil || !f.Known || f.Missing || f.Type != "quorum" || !f.Durable {
				t.Errorf("%s: %+v, %v", queue, f, err)
			}
			brokertest.Eventually(t, "its depth", func() bool {
				r := br.Depth(t.Context(), vhost, queue)
				return r.Known() && r.Value == 1 && r.Err == ""
			})
			in, err := br.OpenIntake(t.Context(), vhost, queue, 1, heartbeat)
			if err != nil {
				t.Fatal(err)
			}
			if batch := collect(t, in, 1); len(batch) != 1 {
				t.Errorf("%d messages in %s", len(batch), queue)
			}
			in.Close(time.Now().Add(time.Second))
		}
		topology, err := br.Topology(t.Context(), vhost)
		if _, ok := topology.Queues["a/b c?#%é"]; err != nil || !ok {
			t.Error(topology.Queues, err)
		}
		listed, err := br.Queues(t.Context(), vhost)
		if err != nil || len(listed) != 3 {
			t.Error(listed, err)
		}
		if r := br.Depth(t.Context(), vhost, "not there"); r.Known() || !strings.Contains(r.Err, "no such thing") {
			t.Errorf("%+v", r)
		}
	})
}

func TestLikelyParkingQueuesAreCandidates(t *testing.T) {
	t.Parallel()
	brokertest.Each(t, func(t *testing.T, b brokertest.Broker) {
		t.Parallel()
		url := brokertest.Vhost(t, b)
		vhost := brokertest.VhostName(t, url)
		likely := []string{"a.dead-letters", "a.deadletter.b", "a.dlq", "a.parking", "a_error", "error", "x/y.parked"}
		for _, name := range append(slices.Clone(likely), "orders", "errors", "a.parking.work", "dlq") {
			brokertest.Queue(t, url, brokertest.Classic, name, nil)
		}
		found, err := open(t, b).Candidates(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range found {
			if c.Queue.Vhost == vhost {
				names = append(names, c.Queue.Name)
				if c.Queue.Broker != "main" || c.Type != "classic" {
					t.Errorf("%+v", c)
				}
			}
		}
		slices.Sort(names)
		if diff := cmp.Diff(likely, names); diff != "" {
			t.Error(diff)
		}
	})
}
