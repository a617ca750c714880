package bench

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
	"parkade/store"
	"parkade/store/storetest"
	"parkade/test/dashtest"
)

// pages are what somebody sees who looks at messages: all of them, by state and
// queue, by a failure's reason, and by the id that a customer names.
func pages() []string {
	return []string{
		"/messages",
		"/messages?state=parked&broker=main&vhost=%2F&queue=orders-3.parking",
		"/messages?reason=rejected",
		"/messages?message_id=m-4711",
	}
}

// A page costs the same however much is stored, and a start too.
func TestPagesBudget(t *testing.T) {
	const few = 10_000 // where counts stop, too
	many := max(scaled(t, 1_000_000), 2*few)
	small, large := dashboardWith(t, few), dashboardWith(t, many)

	var starts []time.Duration
	for range pairs {
		began := time.Now()
		large.Run()
		for !ok(large.URL + "/messages") {
			time.Sleep(time.Millisecond)
		}
		starts = append(starts, time.Since(began))
		large.Kill()
	}
	atMost(t, "start to first page with "+strconv.Itoa(many)+" stored", median(starts), 300*time.Millisecond)

	small.Run()
	large.Run()
	small.Ready()
	large.Ready()
	for _, page := range pages() {
		var ratios []float64
		var all []time.Duration
		for range pairs {
			a, b := load(t, small.URL+page), load(t, large.URL+page)
			ratios = append(ratios, float64(median(b))/float64(median(a)))
			all = append(all, b...)
		}
		slices.Sort(all)
		p99 := all[len(all)*99/100]
		ratio := median(ratios)
		t.Logf("%s: median %s of a page, %.2f × that with %d stored, budget at most 1.50", page, median(all), ratio, few)
		if ratio > 1.5 {
			t.Errorf("%s takes %.2f × as long with %d stored as with %d", page, ratio, many, few)
		}
		atMost(t, page+" p99", p99, 50*time.Millisecond)
	}
}

// With many queues on the broker a dashboard that nobody looks at costs next to
// nothing.
func TestIdleBudget(t *testing.T) {
	queues := scaled(t, 1000)
	b := brokertest.Main(t)
	amqpURL := brokertest.Vhost(t, b)
	ch := brokertest.Channel(t, amqpURL)
	for i := range queues {
		args := amqp.Table{"x-queue-type": brokertest.Classic}
		if _, err := ch.QueueDeclare("orders."+strconv.Itoa(i), true, false, false, false, args); err != nil {
			t.Fatal(err)
		}
	}
	d := dashtest.Start(t, dashtest.Config{Broker: b, AMQP: amqpURL, Parking: []dashtest.Parking{{Queue: parking(t, amqpURL, brokertest.Classic), Auto: true}}})
	time.Sleep(10 * time.Second) // until what a start does is over
	const window = 60 * time.Second
	before := cpuTime(t, d.PID())
	time.Sleep(window)
	share := 100 * (cpuTime(t, d.PID()) - before).Seconds() / window.Seconds()
	t.Logf("%d queues, nobody looks: %.2f %% of a core, budget at most 1 %%", queues, share)
	if share > 1 {
		t.Errorf("an idle dashboard takes %.2f %% of a core, the budget is 1 %%", share)
	}
}

// dashboardWith prepares a dashboard whose store has n messages of 1 KiB, stored by
// the way that a drain stores them.
func dashboardWith(t *testing.T, n int) *dashtest.Dashboard {
	t.Helper()
	b := brokertest.Main(t)
	d := dashtest.New(t, dashtest.Config{Broker: b, AMQP: brokertest.Vhost(t, b)})
	s, err := store.Open(t.Context(), d.Store(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const queues, batch = 5, 1000
	body := string(make([]byte, 1024))
	for from := 0; from < n; from += batch {
		deliveries := make([]parkade.Delivery, 0, batch)
		for i := from; i < min(from+batch, n); i++ {
			deliveries = append(deliveries, storetest.Delivery("m-"+strconv.Itoa(i), body))
		}
		q := storetest.Queue()
		q.Name = "orders-" + strconv.Itoa(from/batch%queues) + ".parking"
		storetest.Park(t, s, q, deliveries...)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return d
}

// load asks for a page often and returns how long each answer took.
func load(t *testing.T, url string) []time.Duration {
	t.Helper()
	const times = 100
	took := make([]time.Duration, 0, times)
	for range times {
		began := time.Now()
		if !ok(url) {
			t.Fatalf("%s isn't answered", url)
		}
		took = append(took, time.Since(began))
	}
	return took
}

// ok reads a page to its end and reports whether it is one.
func ok(url string) bool {
	r, err := http.Get(url)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err == nil && r.StatusCode == http.StatusOK
}

// atMost fails the test where something took longer than the budget.
func atMost(t *testing.T, what string, took, budget time.Duration) {
	t.Helper()
	t.Logf("%s: %s, budget at most %s", what, took, budget)
	if took > budget {
		t.Errorf("%s: %s, the budget is %s", what, took, budget)
	}
}
