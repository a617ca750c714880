package faults

import (
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"
	"time"

	"parkade"
	"parkade/broker/brokertest"
)

func TestNoReplayIsLostOrClaimedWhenItIsKilledAtRandom(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s site) {
		const kills, n = 20, 10_000
		r := stocked(t, s, "random", n)
		r.Run()
		r.Ready()
		op := r.order(parkade.Parked, straight(r.target), 2500)
		for range kills {
			time.Sleep(rand.N(250 * time.Millisecond))
			r.Kill()
			r.Run()
			r.Ready()
			r.resume(op)
		}
		r.finish(op)
		r.insist(t)
		r.check(t)
	})
}

func TestNoReplayIsLostOrClaimedWhenItIsKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	type steps func(t *testing.T, r *replaying, op *operation)
	tests := []struct {
		point  string
		broker bool // what the broker does then is part of it
		over   bool // an exchange, which may go meanwhile
		slow   bool // it takes seconds to get hold of its connection
		rate   float64
		then   steps
	}{
		{point: "job.chunk_claimed"},
		{point: "job.chunk_claimed@3"},
		{point: "replay.claimed"},
		{point: "replay.claimed@3"},
		{point: "replay.sent_first", broker: true},
		{point: "replay.sent_all", broker: true},
		{point: "replay.confirm_read", broker: true},
		{point: "replay.confirm_read@300"},
		{point: "replay.outcome_open"},
		{point: "replay.outcome_open@2"},
		{point: "replay.outcome_done"},
		{point: "replay.outcome_done@2"},
		{point: "replay.return_read", broker: true, over: true, rate: 300, then: unbind},
		{point: "replay.return_read@10", over: true, rate: 300, then: unbind},
		{point: "replay.exception_read", broker: true, over: true, rate: 50, then: dropExchange},
		{point: "replay.timeout_cut", broker: true, slow: true, rate: 300, then: cutReplay},
		{point: "job.pausing", rate: 300, then: steer("pause")},
		{point: "job.cancelling", rate: 300, then: steer("cancel")},
		{point: "job.given_back", rate: 300, then: steer("cancel")},
		{point: "stop.jobs", rate: 300, then: terminate},
		{point: "stop.drain", rate: 300, then: terminate},
	}
	eachSite(t, func(t *testing.T, s site) {
		for _, tt := range tests {
			if !tt.broker && !s.everything() {
				continue
			}
			t.Run(tt.point, func(t *testing.T) {
				n := 600 // three chunks
				if tt.slow {
					n = 4500
				}
				r := stocked(t, s, tt.point, n)
				to := straight(r.target)
				if tt.over {
					to = map[string]string{"to": "exchange", "exchange": exchange}
					brokertest.Exchange(t, s.amqp, "fanout", exchange)
					brokertest.Bind(t, s.amqp, r.target, "", exchange)
				}
				killedAt(t, r.Dashboard, tt.point, func() {
					op := r.order(parkade.Parked, to, tt.rate)
					if tt.then != nil {
						tt.then(t, r, op)
					}
				})
				killedAt(t, r.Dashboard, "replay.recovered", nil)
				r.Run()
				r.Ready()
				if tt.over { // which leads nowhere any more
					r.Post("/operations/"+r.operations[0].ID+"/cancel", nil, nil)
				}
				r.finish(&r.operations[0])
				r.insist(t)
				r.check(t)
			})
		}
	})
}

// exchange leads into the target.
const exchange = "kill.exchange"

// dropExchange deletes the exchange that an operation sends to: the next message
// closes the channel.
func dropExchange(t *testing.T, r *replaying, op *operation) {
	t.Helper()
	r.underWay(op)
	if err := brokertest.Channel(t, r.amqp).ExchangeDelete(exchange, false, false); err != nil {
		t.Fatal(err)
	}
}

// unbind leaves the exchange that an operation sends to without a queue.
func unbind(t *testing.T, r *replaying, op *operation) {
	t.Helper()
	r.underWay(op)
	if err := brokertest.Channel(t, r.amqp).QueueUnbind(r.target, "", exchange, nil); err != nil {
		t.Fatal(err)
	}
}

// cutReplay closes the connection that an operation sends over, until something was
// on its way at that moment.
func cutReplay(t *testing.T, r *replaying, op *operation) {
	t.Helper()
	r.underWay(op)
	for range 3 {
		brokertest.CloseConnections(t, r.broker, r.amqp, "replay "+op.ID)
		for range 20 {
			if _, err := r.Try(http.MethodGet, "/operations/"+op.ID, nil, nil); err != nil {
				return // it is dead
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// steer pauses or cancels an operation; the process may die before it answers.
func steer(verb string) func(*testing.T, *replaying, *operation) {
	return func(_ *testing.T, r *replaying, op *operation) {
		r.underWay(op)
		_, _ = r.Try(http.MethodPost, "/operations/"+op.ID+"/"+verb, nil, nil)
	}
}

// terminate asks the process to end in good order.
func terminate(_ *testing.T, r *replaying, op *operation) {
	r.underWay(op)
	r.Signal(syscall.SIGTERM)
}

// underWay waits until something of an operation is confirmed.
func (r *replaying) underWay(op *operation) {
	r.Eventually("the operation is under way", 20*time.Second, func() bool { return r.confirmed(op) > 0 })
}

// A replay into its own parking queue comes back at once, often before it is
// confirmed. Then nothing stays unknown but what didn't arrive.
func TestReplayThatComesBackIsRecognisedWhenItIsKilled(t *testing.T) {
	t.Parallel()
	eachNewSite(t, func(t *testing.T, s site) {
		for _, point := range []string{"drain.came_back", "drain.came_back@20", "replay.outcome_open", "drain.acked"} {
			t.Run(point, func(t *testing.T) {
				const n = 300 // slow enough that outcomes wait for the next chunk
				r := stocked(t, s, point, n)
				killedAt(t, r.Dashboard, point, func() { r.order(parkade.Parked, straight(r.parking), 200) })
				killedAt(t, r.Dashboard, "replay.recovered", nil)
				r.Run()
				r.Ready()
				r.finish(&r.operations[0])
				s.awaitRest(t, r.Dashboard, r.parking)
				r.Stop()
				st := opened(t, r.Dashboard)
				back := map[parkade.ReplayID]int{}
				for _, m := range everything(t, st) {
					if m.CameFrom != 0 {
						back[m.CameFrom]++
					}
				}
				outcomes := map[parkade.Outcome]int{}
				for _, one := range r.replays(t, st) {
					outcomes[one.Outcome]++
					if want := (map[bool]int{true: 1})[one.Outcome == parkade.Confirmed]; back[one.ID] != want {
						t.Errorf("replay %s is %s and came back %d times", one.Stamp, one.Outcome, back[one.ID])
					}
				}
				if len(back) == 0 {
					t.Error("nothing came back")
				}
				t.Logf("outcomes %v, %d came back", outcomes, len(back))
			})
		}
	})
}
