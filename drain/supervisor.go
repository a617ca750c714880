package drain

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"parkade"
	"parkade/store"
	"parkade/store/crash"
)

// Supervisor knows every queue that is drained or could be, and runs a worker for
// each that should be. Its methods may be called from anywhere while Run runs.
type Supervisor struct {
	opts   Options
	store  *store.Store
	now    func() time.Time
	log    *slog.Logger
	memory *semaphore.Weighted
	wake   chan struct{}

	mu     sync.Mutex
	rules  []Rule
	drains map[parkade.Queue]*entry
	begun  bool // what the store knows of queues is in drains

	followers followers
	hearing   hearing
}

// entry is one queue. What isn't in its status belongs to Supervisor.mu.
type entry struct {
	status
	queue  parkade.Queue
	choice store.SourceChoice // what a person decided last
	next   next               // what was asked for last
	again  chan struct{}
	stop   context.CancelFunc // of its worker; nil: none runs
	quiet  bool               // messages are given back to it: nothing runs before a person says so
}

// next is a wish for the next N messages and no more.
type next struct {
	by       string
	of       int64
	accepted bool // in spite of findings that ask
}

func (n next) done() string {
	if n.of == 1 {
		return n.by + " asked for one message: it is taken."
	}
	return fmt.Sprintf("%s asked for the next %d messages: they are taken.", n.by, n.of)
}

// New returns a supervisor that does nothing before Run.
func New(o Options) *Supervisor {
	s := &Supervisor{
		opts: o, store: o.Store, now: o.Clock, log: o.Log, rules: o.Rules,
		memory: semaphore.NewWeighted(totalBudget), wake: make(chan struct{}, 1),
		drains: make(map[parkade.Queue]*entry),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.opts.MaxBody = cmp.Or(o.MaxBody, 128<<20)
	return s
}

// Run drains what may be drained until ctx ends; then it sees every cycle through
// and returns, within some 20 seconds.
func (s *Supervisor) Run(ctx context.Context) error {
	var workers, looking sync.WaitGroup
	changed, stop := s.store.Subscribe(store.Drains)
	defer stop()
	looking.Go(func() { s.explore(ctx) })
	for ctx.Err() == nil {
		if err := s.reconcile(ctx, &workers); err != nil && ctx.Err() == nil {
			s.log.Error("drains can't be put in order", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-changed:
		}
	}
	crash.Point("stop.drain")
	workers.Wait()
	looking.Wait()
	return nil
}

// Configure replaces the rules, as a new configuration says.
func (s *Supervisor) Configure(rules []Rule) {
	s.mu.Lock()
	s.rules = rules
	s.mu.Unlock()
	s.rouse()
}

// rouse makes Run look again.
func (s *Supervisor) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// reconcile starts and stops workers, so that what runs is what should.
func (s *Supervisor) reconcile(ctx context.Context, workers *sync.WaitGroup) error {
	choices, err := s.store.Wanted(ctx)
	if err != nil {
		return err
	}
	brake, err := s.store.Brake(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.drains {
		e.choice = store.SourceChoice{}
	}
	for _, c := range choices {
		if c.Wanted == "" && s.begun && s.drains[c.Queue] == nil {
			continue // forgotten since
		}
		if e := s.entry(c.Queue); e != nil {
			e.choice = c
		}
	}
	s.begun = true
	for _, r := range s.rules {
		if !isGlob(r.Queue.Name) {
			s.entry(r.Queue)
		}
	}
	for _, e := range s.drains {
		s.settle(ctx, e, brake, workers)
	}
	return nil
}

// settle starts or stops the worker of one queue, or says why there is none.
func (s *Supervisor) settle(ctx context.Context, e *entry, brake store.Brake, workers *sync.WaitGroup) {
	consent, manual := s.consent(e)
	view := e.view()
	if view.Consent != consent || view.Manual != manual {
		e.update(func(d *parkade.Drain) { d.Consent, d.Manual = consent, manual })
	}
	run := !brake.On && !e.quiet && (consent != parkade.NoConsent || view.Left > 0)
	switch {
	case run && e.stop == nil:
		s.start(ctx, e, workers)
	case !run && e.stop != nil:
		e.stop()
	case !run:
		phase, why, remedy := resting(e, view, consent, brake)
		e.explain(phase, why, remedy, time.Time{})
	}
}

// start runs a worker for e. When it ends, the supervisor looks again.
func (s *Supervisor) start(ctx context.Context, e *entry, workers *sync.WaitGroup) {
	ctx, e.stop = context.WithCancel(ctx)
	w := &worker{
		status: &e.status, queue: e.queue, broker: s.opts.Brokers[e.queue.Broker], store: s.store, log: s.log,
		accepted: func() bool { return s.accepted(e) },
		again:    e.again, maxBody: s.opts.MaxBody, minFree: s.opts.MinFree,
		share: share{pool: s.memory}, retry: newRetry(),
	}
	e.enter(parkade.Connecting)
	workers.Go(func() {
		w.run(ctx)
		s.mu.Lock()
		e.stop()
		e.stop = nil
		s.mu.Unlock()
		s.rouse()
	})
}

func (s *Supervisor) accepted(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.choice.Accepted || e.left() >= 0 && e.next.accepted
}

// consent says whether e may be drained, and whether it is configured to be
// started by people only.
func (s *Supervisor) consent(e *entry) (c parkade.Consent, manual bool) {
	rule, ok := s.rule(e.queue)
	manual = ok && !rule.Auto
	switch {
	case e.choice.Wanted == "on":
		return parkade.ConsentPerson, manual
	case e.choice.Wanted == "" && ok && rule.Auto:
		return parkade.ConsentFile, manual
	}
	return parkade.NoConsent, manual
}

func (s *Supervisor) rule(q parkade.Queue) (Rule, bool) {
	for _, r := range s.rules {
		if r.Queue.Broker == q.Broker && r.Queue.Vhost == q.Vhost && matches(r.Queue.Name, q.Name) {
			return r, true
		}
	}
	return Rule{}, false
}

// resting says why no worker runs for e.
func resting(e *entry, d parkade.Drain, c parkade.Consent, brake store.Brake) (p parkade.Phase, why, remedy string) {
	switch {
	case brake.On && (c != parkade.NoConsent || d.Left > 0):
		return parkade.PausedHere, sentences("The brake is on, by "+brake.By+".", brake.Why), "Release the brake."
	case d.Left == 0:
		return parkade.PausedHere, e.next.done(), ""
	case e.choice.Wanted == "off":
		return parkade.PausedHere, sentences(e.choice.By+" stopped it.", e.choice.Why), ""
	}
	return parkade.Offered, "", ""
}

// entry returns the drain of q, which is a new one where there was none; nil for
// a broker that isn't configured any more. Supervisor.mu is held.
func (s *Supervisor) entry(q parkade.Queue) *entry {
	if e, ok := s.drains[q]; ok {
		return e
	}
	if _, ok := s.opts.Brokers[q.Broker]; !ok {
		return nil
	}
	e := &entry{queue: q, again: make(chan struct{}, 1)}
	e.status = status{now: s.now, changed: s.followers.announce}
	e.drain = parkade.Drain{Queue: q, Phase: parkade.Offered, Since: s.now(), Left: -1}
	s.drains[q] = e
	return e
}

// Drains returns the state of every drain, those that need somebody first, and
// queues that could be drained last.
func (s *Supervisor) Drains() []parkade.Drain {
	s.mu.Lock()
	all := make([]parkade.Drain, 0, len(s.drains))
	for _, e := range s.drains {
		all = append(all, e.view())
	}
	s.mu.Unlock()
	order := []parkade.Phase{
		parkade.Stopped, parkade.Held, parkade.Waiting, parkade.Connecting, parkade.Draining, parkade.Listening,
		parkade.PausedHere, parkade.Offered,
	}
	slices.SortFunc(all, func(a, b parkade.Drain) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Phase), slices.Index(order, b.Phase)),
			cmp.Compare(a.Queue.Broker, b.Queue.Broker),
			cmp.Compare(a.Queue.Vhost, b.Queue.Vhost),
			cmp.Compare(a.Queue.Name, b.Queue.Name))
	})
	return all
}

// isGlob reports whether a rule's name can match more than one queue.
func isGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// matches tells whether a queue's name matches a glob, in which * is any text,
// slashes too.
func matches(glob, name string) bool {
	noSlash := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(noSlash.Replace(glob), noSlash.Replace(name))
	return err == nil && ok || glob == name
}
