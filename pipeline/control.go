package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// State is what the control page shows.
type State struct {
	Fixed        bool         `json:"fixed"`
	RelayStopped bool         `json:"relay_stopped"`
	Traffic      Traffic      `json:"traffic"`
	Counts       Counts       `json:"counts"`
	Database     *Records     `json:"database,omitempty"`
	Queues       []QueueState `json:"queues,omitempty"`
	// DatabaseError and QueuesError say why there are no figures. None is not zero.
	DatabaseError string     `json:"database_error,omitempty"`
	QueuesError   string     `json:"queues_error,omitempty"`
	Shop          *ShopState `json:"shop,omitempty"` // the other system, if it runs beside
}

// Records is what the database holds.
type Records struct {
	Orders        int64 `json:"orders"`
	Invoices      int64 `json:"invoices"`
	OutboxPending int64 `json:"outbox_pending"` // to be sent
	OutboxDead    int64 `json:"outbox_dead"`    // failed too often, for a person to look at
}

// Counts is what has happened since the start.
type Counts struct {
	Published  int64 `json:"published"`  // orders confirmed by the broker, duplicates included
	Invoiced   int64 `json:"invoiced"`   // orders that have their invoice
	Duplicates int64 `json:"duplicates"` // deliveries of orders that had their invoice already
	Failed     int64 `json:"failed"`     // attempts that failed
	Parked     int64 `json:"parked"`
}

// Control answers over HTTP. Every answer but an error is the [State].
//
//	GET   /         shows it
//	POST  /fix      deploys the fix, in the shop too: what used to fail for good now works
//	POST  /break    takes the fix back
//	POST  /relay/stop, /relay/start
//	                stop the relay, so that the outbox grows, and let it go on
//	PATCH /traffic  changes the named fields of the traffic; POST does the same
//	PATCH /shop/traffic
//	                the same for the shop, if it runs beside
//
// It knows no sign-in, so it belongs on loopback. Pages of other sites are kept
// from changing anything.
func (b *Billing) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", b.show)
	mux.HandleFunc("POST /fix", func(w http.ResponseWriter, r *http.Request) { b.deploy(w, r, true) })
	mux.HandleFunc("POST /break", func(w http.ResponseWriter, r *http.Request) { b.deploy(w, r, false) })
	mux.HandleFunc("POST /relay/stop", func(w http.ResponseWriter, r *http.Request) { b.stopRelay(w, r, true) })
	mux.HandleFunc("POST /relay/start", func(w http.ResponseWriter, r *http.Request) { b.stopRelay(w, r, false) })
	for _, method := range []string{http.MethodPatch, http.MethodPost} {
		mux.HandleFunc(method+" /traffic", func(w http.ResponseWriter, r *http.Request) { b.steer(w, r, b.switches) })
		if b.shop != nil {
			mux.HandleFunc(method+" /shop/traffic", func(w http.ResponseWriter, r *http.Request) { b.steer(w, r, b.shop.switches) })
		}
	}
	return http.NewCrossOriginProtection().Handler(mux)
}

func (b *Billing) show(w http.ResponseWriter, r *http.Request) {
	s := State{Counts: Counts{
		Published: b.counts.published.Load(), Invoiced: b.counts.invoiced.Load(), Duplicates: b.counts.duplicates.Load(),
		Failed: b.counts.failed.Load(), Parked: b.counts.parked.Load(),
	}}
	s.Traffic, s.Fixed = b.switches.state()
	s.RelayStopped = b.switches.relayIsStopped()
	var err error
	if s.Database, err = b.db.records(r.Context()); err != nil {
		b.log.Warn("database not read", "err", err)
		s.DatabaseError = "the database can't be read; the log says why"
	}
	if s.Queues, err = b.management.queues(r.Context(), b.topology.queues()); err != nil {
		s.QueuesError = err.Error()
	}
	if b.shop != nil {
		s.Shop = b.shop.state(r.Context())
	}
	answer(w, http.StatusOK, s)
}

func (b *Billing) deploy(w http.ResponseWriter, r *http.Request, fixed bool) {
	b.switches.deploy(fixed)
	if b.shop != nil {
		b.shop.Deploy(fixed)
	}
	b.log.Info("fix switched", "deployed", fixed)
	b.show(w, r)
}

func (b *Billing) stopRelay(w http.ResponseWriter, r *http.Request, stopped bool) {
	b.switches.stopRelay(stopped)
	b.log.Info("relay switched", "stopped", stopped)
	b.show(w, r)
}

func (b *Billing) steer(w http.ResponseWriter, r *http.Request, s *switches) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err == nil {
		err = s.change(func(t *Traffic) error { return edit(t, body) })
	}
	if err != nil {
		answer(w, http.StatusUnprocessableEntity, map[string]string{"error": err.Error()})
		return
	}
	b.show(w, r)
}

// edit puts the fields that a JSON object names into t.
func edit(t *Traffic, object []byte) error {
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return fmt.Errorf("the traffic must be a JSON object with fields that GET / shows: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the traffic must be one JSON object")
	}
	return nil
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client has left
}
