package faults

import (
	"net/http"
	"slices"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
	"parkade/broker/brokertest"
)

// TestAConfirmedEditIsPublishedOnceWhereverItIsKilled : killed at a point, started
// again, and confirmed a second time as a browser or an impatient person would.
func TestAConfirmedEditIsPublishedOnceWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		point    string
		again    bool // nothing was kept, so that the second confirmation counts
		outcomes []parkade.Outcome
		arrives  []int
	}{
		{"edit.open", true, []parkade.Outcome{parkade.Confirmed}, []int{1}},
		{"job.chunk_claimed", false, []parkade.Outcome{parkade.Confirmed}, []int{1}},
		{"replay.claimed", false, []parkade.Outcome{parkade.Unknown}, []int{0}},
		{"replay.sent_first", false, []parkade.Outcome{parkade.Unknown}, []int{0, 1}},
		{"replay.sent_all", false, []parkade.Outcome{parkade.Unknown}, []int{0, 1}},
		{"replay.confirm_read", false, []parkade.Outcome{parkade.Unknown}, []int{1}},
		{"replay.outcome_open", false, []parkade.Outcome{parkade.Unknown}, []int{1}},
		{"replay.outcome_done", false, []parkade.Outcome{parkade.Confirmed}, []int{1}},
	}
	eachNewSite(t, func(t *testing.T, s site) {
		for _, tt := range tests {
			t.Run(tt.point, func(t *testing.T) {
				r := stocked(t, s, tt.point, 1)
				confirm := map[string]any{
					"verb": "replay", "select": map[string]any{"ids": []string{"1"}}, "target": straight(r.target),
					"seen": 1, "edit": map[string]any{"body": "mended"},
				}
				killedAt(t, r.Dashboard, tt.point, func() { _, _ = r.Try(http.MethodPost, "/operations", confirm, nil) })
				killedAt(t, r.Dashboard, "replay.recovered", nil)
				r.Run()
				r.Ready()
				status, err := r.Try(http.MethodPost, "/operations", confirm, nil)
				if want := map[bool]int{true: http.StatusCreated, false: http.StatusConflict}[tt.again]; status != want {
					t.Errorf("confirmed again: status %d, want %d (%v)", status, want, err)
				}
				r.finish(&operation{ID: "1"})
				r.Stop()
				r.wantOneEdit(t, tt.outcomes, tt.arrives)
			})
		}
	})
}

// wantOneEdit checks the only replay against what is in its target.
func (r *replaying) wantOneEdit(t *testing.T, outcomes []parkade.Outcome, arrives []int) {
	t.Helper()
	st := opened(t, r.Dashboard)
	all, err := st.Versions(t.Context(), 1)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d versions, %v", len(all), err)
	}
	replays, err := st.Replays(t.Context(), 1)
	if err != nil || len(replays) != 1 {
		t.Fatalf("%d replays, %v", len(replays), err)
	}
	one := replays[0]
	brokertest.Publish(t, r.amqp, "", r.target, amqp.Publishing{MessageId: "last"})
	var arrived []amqp.Delivery
	for {
		d := brokertest.Take(t, r.amqp, r.target, 1)[0]
		if d.MessageId == "last" {
			break
		}
		arrived = append(arrived, d)
	}
	if !slices.Contains(outcomes, one.Outcome) || !slices.Contains(arrives, len(arrived)) || one.Version != 2 || one.SentHash != all[0].BodyHash {
		t.Errorf("version %d was %s and arrived %d times", one.Version, one.Outcome, len(arrived))
	}
	for _, d := range arrived {
		if string(d.Body) != "mended" || d.Headers[parkade.ReplayIDHeader] != one.Stamp {
			t.Errorf("what arrived is %q with the stamp %v", d.Body, d.Headers[parkade.ReplayIDHeader])
		}
	}
}
