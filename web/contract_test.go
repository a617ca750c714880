package web_test

import (
	"strings"
	"testing"

	"parkade"
	"parkade/handlers"
	"parkade/store"
	"parkade/store/storetest"
)

// stocked is a site with messages in several states: 1 is parked, 2 was replayed
// and came back as 5, 3 is in doubt, 4 is discarded.
func stocked(t *testing.T) site {
	t.Helper()
	s := open(t)
	ctx := t.Context()
	storetest.Park(t, s.store, storetest.Queue(), storetest.Delivery("a", "{}"), storetest.Delivery("b", "{}"), storetest.Delivery("", "x"), storetest.Delivery("d", ""))
	send := func(id parkade.MessageID, outcome parkade.Outcome) parkade.Send {
		m, err := s.store.Message(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		op, _, err := s.store.Create(ctx, store.NewOperation{
			Verb: parkade.Replay, Target: parkade.Target{To: parkade.ToAuto}, By: "test",
			Items: []store.Planned{{Message: id, Version: m.Version, Exchange: "orders", RoutingKey: "created"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		chunk, err := s.store.Chunk(ctx, op.ID, nil, 10, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.store.Record(ctx, op.ID, []parkade.Result{{Replay: chunk.Sends[0].Replay, Outcome: outcome, Why: "so it was"}}); err != nil {
			t.Fatal(err)
		}
		return chunk.Sends[0]
	}
	sent := send(2, parkade.Confirmed)
	send(3, parkade.Unknown)
	if _, _, err := s.store.Create(ctx, store.NewOperation{Verb: parkade.Discard, IDs: []parkade.MessageID{4}, By: "test", Reason: "noise"}); err != nil {
		t.Fatal(err)
	}
	back := storetest.Delivery("b", "{}")
	back.Headers = back.Headers.With(parkade.ReplayIDHeader, sent.Stamp).With("amount", parkade.Decimal{Scale: 2, Value: -5}).
		With("raw", "\xff").With("many", parkade.List{int64(1) << 60, parkade.NewTable(parkade.Field{Name: "deep", Value: 1.5}), nil})
	storetest.Park(t, s.store, storetest.Queue(), back)
	return s
}

// TestTheAPIIsWhatItsDescriptionSays calls every operation of the description and
// holds each answer against it.
func TestTheAPIIsWhatItsDescriptionSays(t *testing.T) {
	t.Parallel()
	const queue = `"broker": "main", "vhost": "/", "queue": "orders.parking"`
	tests := []struct {
		operation, method, path, body string
		status                        int
	}{
		{"listMessages", "GET", "/messages", "", 200},
		{"listMessages", "GET", "/messages?broker=main&vhost=/&queue=orders.parking&state=parked&limit=1&order=oldest", "", 200},
		{"listMessages", "GET", "/messages?state=in+doubt&before=99", "", 200},
		{"listMessages", "GET", "/messages?state=gone", "", 422},
		{"listMessages", "GET", "/messages?q=text", "", 422},
		{"listMessages", "GET", "/messages?limit=0", "", 422},
		{"getMessage", "GET", "/messages/1", "", 200},
		{"getMessage", "GET", "/messages/2", "", 200},
		{"getMessage", "GET", "/messages/4", "", 200},
		{"getMessage", "GET", "/messages/5", "", 200},
		{"getMessage", "GET", "/messages/99", "", 404},
		{"getMessage", "GET", "/messages/x", "", 422},
		{"getMessageBody", "GET", "/messages/3/body", "", 200},
		{"getMessageBody", "GET", "/messages/99/body", "", 404},
		{"previewReplay", "POST", "/messages/1/preview", "", 200},
		{"previewReplay", "POST", "/messages/3/preview", `{"target": {"to": "queue", "queue": "orders.work"}}`, 200},
		{"previewReplay", "POST", "/messages/3/preview", `{"target": {"to": "queue", "queue": "orders.work", "routing_key": "created", "keep_key": true}}`, 200},
		{"previewReplay", "POST", "/messages/3/preview", `{"target": {"to": "queue", "routing_key": "created"}}`, 422},
		{"previewReplay", "POST", "/messages/4/preview", `{}`, 200},
		{"previewReplay", "POST", "/messages/1/preview", `{"target": {"to": "queue", "queue": "nowhere"}}`, 200},
		{"previewReplay", "POST", "/messages/1/preview", `{"seen": 1, "version": 1}`, 200},
		{"previewReplay", "POST", "/messages/1/preview", `{"seen": 1, "edit": {"body": "{\"a\": 1}", "properties": {"priority": 3, "type": null}, "headers": [{"name": "n", "type": "int64", "value": "1"}]}}`, 200},
		{"previewReplay", "POST", "/messages/1/preview", `{"edit": {}, "version": 1}`, 422},
		{"previewReplay", "POST", "/messages/1/preview", `{"seen": 7}`, 409},
		{"previewReplay", "POST", "/messages/1/preview", `{"version": 7}`, 404},
		{"previewReplay", "POST", "/messages/1/preview", `{"edit": {"base": 0}}`, 422},
		{"previewReplay", "POST", "/messages/99/preview", `{"edit": {}}`, 404},
		{"getMessage", "GET", "/messages/6", "", 200},
		{"listVersions", "GET", "/messages/6/versions", "", 200},
		{"getVersion", "GET", "/messages/6/versions/0", "", 200},
		{"previewReplay", "POST", "/messages/6/preview", `{"version": 1}`, 200},
		{"previewReplay", "POST", "/messages/6/preview", `{"edit": {"base": 0, "body": "x"}}`, 200},
		{"listVersions", "GET", "/messages/5/versions", "", 200},
		{"listVersions", "GET", "/messages/99/versions", "", 404},
		{"saveEdit", "POST", "/messages/5/versions", `{"edit": {"body": "x"}}`, 422},
		{"saveEdit", "POST", "/messages/5/versions", `{"seen": 2, "edit": {"body": "x"}}`, 409},
		{"saveEdit", "POST", "/messages/5/versions", `{"seen": 1, "edit": {"body_base64": "AP8=", "exchange": "orders", "note": "why"}}`, 201},
		{"saveEdit", "POST", "/messages/5/versions", `{"seen": 1, "edit": {"body": "other"}}`, 409},
		{"saveEdit", "POST", "/messages/99/versions", `{"seen": 1, "edit": {}}`, 404},
		{"listVersions", "GET", "/messages/5/versions", "", 200},
		{"getVersion", "GET", "/messages/5/versions/2", "", 200},
		{"getVersion", "GET", "/messages/5/versions/1", "", 200},
		{"getVersion", "GET", "/messages/5/versions/0", "", 404},
		{"getVersion", "GET", "/messages/5/versions/x", "", 422},
		{"getVersionBody", "GET", "/messages/5/versions/2/body", "", 200},
		{"getVersionBody", "GET", "/messages/5/versions/3/body", "", 404},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "edit": {"body": "x"}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1", "5"]}, "seen": 1, "edit": {"body": "x"}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "discard", "select": {"ids": ["1"]}, "seen": 1, "edit": {"body": "x"}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "seen": 1, "version": 1, "edit": {}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "seen": 1, "version": 1, "dry_run": true}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "seen": 1}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "seen": 1, "edit": {"properties": {"size": 1}}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "seen": 2, "edit": {"body": "x"}}`, 409},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "seen": 1, "edit": {"body": "x"}, "expect": {"count": 1, "hash": "other"}}`, 409},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["4"]}, "seen": 1, "edit": {"body": "x"}}`, 409},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "dry_run": true}`, 200},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"filter": {"queue": "orders.parking"}}, "dry_run": true}`, 200},
		{"createOperation", "POST", "/operations", `{"verb": "discard", "select": {"filter": {"state": "parked"}}, "dry_run": true}`, 200},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"filter": {"state": "parked"}}, "copies": true, "dry_run": true}`, 200},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "expect": {"count": 2}}`, 409},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "expect": {"count": 1, "hash": "other"}}`, 409},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["4"]}}`, 409},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["99"]}}`, 404},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "canary": {}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "delay": "5 minutes"}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "rate": -1}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1", "1"]}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"filter": {"quue": "x"}}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"filter": {"queue": ""}}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "target": {"queue": "q"}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "give_back", "select": {"ids": ["1"]}, "dry_run": true}`, 200},
		{"createOperation", "POST", "/operations", `{"verb": "give_back", "select": {"ids": ["1"]}, "target": {"to": "auto"}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "burn", "select": {"ids": ["1"]}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "discard", "select": {"ids": ["1"]}, "target": {"to": "auto"}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "discard", "what": 1}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "discard"} {}`, 422},
		{"createOperation", "POST", "/operations", `{`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "restore", "select": {"ids": ["4"]}, "reason": "wasn't noise"}`, 201},
		{"createOperation", "POST", "/operations", `{"verb": "discard", "select": {"ids": ["4"]}, "expect": {"count": 1}}`, 201},
		{"createOperation", "POST", "/operations", `{"verb": "resolve", "select": {"ids": ["5"]}}`, 201},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["1"]}, "expect": {"count": 1}, "target": {"to": "exchange", "exchange": "orders", "routing_key": "created"}, "rate": 5, "delay": "0s", "reason": "fixed"}`, 201},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"ids": ["2"]}, "include": ["replayed"], "delay": "5m"}`, 201},
		{"createOperation", "POST", "/operations", `{"verb": "discard", "select": {"ids": ["4"]}, "delay": "5m"}`, 422},
		{"listOperations", "GET", "/operations?limit=2", "", 200},
		{"getOperation", "GET", "/operations/1", "", 200},
		{"getOperation", "GET", "/operations/99", "", 404},
		{"listReplays", "GET", "/operations/1/replays", "", 200},
		{"listReplays", "GET", "/operations/2/replays?outcome=unknown", "", 200},
		{"listReplays", "GET", "/operations/1/replays?outcome=skipped", "", 200},
		{"listReplays", "GET", "/operations/1/replays?outcome=lost", "", 422},
		{"listReplays", "GET", "/operations/99/replays", "", 404},
		{"getOperation", "GET", "/operations/8", "", 200},
		{"pauseOperation", "POST", "/operations/8/pause", "", 409},
		{"cancelOperation", "POST", "/operations/8/cancel", "", 200},
		{"pauseOperation", "POST", "/operations/7/pause", "", 200},
		{"resumeOperation", "POST", "/operations/7/resume", "", 200},
		{"cancelOperation", "POST", "/operations/7/cancel", "", 200},
		{"downloadReplays", "GET", "/operations/2/replays.csv", "", 200},
		{"downloadReplays", "GET", "/operations/2/replays.csv?outcome=unknown", "", 200},
		{"downloadReplays", "GET", "/operations/2/replays.csv?outcome=lost", "", 422},
		{"downloadReplays", "GET", "/operations/99/replays.csv", "", 404},
		{"dismissOperation", "POST", "/operations/7/dismiss", "", 200},
		{"dismissOperation", "POST", "/operations/99/dismiss", "", 404},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"operation": "2", "outcomes": ["unknown"]}, "include": ["in doubt"], "dry_run": true}`, 200},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"operation": "2", "outcomes": ["nacked"]}}`, 409},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"operation": "2", "outcomes": ["confirmed"]}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"operation": "2"}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"operation": "2", "outcomes": ["unknown"], "ids": ["1"]}}`, 422},
		{"createOperation", "POST", "/operations", `{"verb": "replay", "select": {"operation": "99", "outcomes": ["unknown"]}}`, 404},
		{"pauseOperation", "POST", "/operations/99/pause", "", 404},
		{"resumeOperation", "POST", "/operations/1/resume", "", 409},
		{"cancelOperation", "POST", "/operations/1/cancel", "", 409},
		{"decideDoubt", "POST", "/messages/3/decide", `{"reason": "?"}`, 422},
		{"decideDoubt", "POST", "/messages/3/decide", `{"arrived": true, "reason": "it is in their database"}`, 200},
		{"decideDoubt", "POST", "/messages/3/decide", `{"arrived": true}`, 409},
		{"getMessage", "GET", "/messages/3", "", 200},
		{"listDrains", "GET", "/drains", "", 200},
		{"startDrain", "POST", "/drains/start", `{` + queue + `, "reason": "why not"}`, 200},
		{"startDrain", "POST", "/drains/start", `{"broker": "main", "vhost": "/", "queue": "missing"}`, 409},
		{"startDrain", "POST", "/drains/start", `{"broker": "main", "vhost": "/"}`, 422},
		{"stopDrain", "POST", "/drains/stop", `{` + queue + `}`, 200},
		{"drainNext", "POST", "/drains/next", `{` + queue + `, "count": 0}`, 422},
		{"drainNext", "POST", "/drains/next", `{` + queue + `, "count": 10}`, 200},
		{"brake", "POST", "/drains/brake", `{"on": true, "reason": "maintenance"}`, 200},
		{"brake", "POST", "/drains/brake", `{}`, 422},
		{"listDrains", "GET", "/drains", "", 200},
		{"listQueues", "GET", "/queues", "", 200},
		{"listActions", "GET", "/actions", "", 200},
		{"listActions", "GET", "/actions?message=4&limit=1", "", 200},
		{"listActions", "GET", "/actions?operation=7", "", 200},
		{"listActions", "GET", "/actions?operation=seven", "", 422},
		{"createOperation", "POST", "/operations", `{"verb": "give_back", "select": {"ids": ["1"]}, "expect": {"count": 1}, "delay": "1m"}`, 201},
		{"getOperation", "GET", "/operations/9", "", 200},
		{"startDrain", "POST", "/drains/start", `{` + queue + `}`, 409},
		{"drainNext", "POST", "/drains/next", `{` + queue + `, "count": 10}`, 409},
	}
	doc, router := description(t)
	s := stocked(t)
	storetest.Park(t, s.store, storetest.Queue(), storetest.Delivery("", `{"RoutingKey": "created", "Exchange": "orders", "Queue": "orders.work",
		"Exception": "no rate", "Message": "{}", "DateTime": "2026-08-09T14:23:08Z", "BasicProperties": {"Headers": {"n": 1}}}`)) // 6
	called := map[string]bool{}
	for _, tt := range tests { // in order, over one store
		name := tt.method + " " + tt.path + " " + tt.body
		answer := s.ask(t, tt.method, "/api/v1"+tt.path, tt.body)
		if answer.Code != tt.status {
			t.Errorf("%s: status %d, want %d: %s", name, answer.Code, tt.status, text(t, answer))
			continue
		}
		op, err := conforms(t, router, tt.method, tt.path, tt.body, answer)
		if err != nil {
			t.Errorf("%s:\n%v\n%s", name, err, answer.Body)
		}
		if op != tt.operation {
			t.Errorf("%s is %s, want %s", name, op, tt.operation)
		}
		called[op] = called[op] || tt.status < 300
	}
	for _, r := range handlers.Routes(handlers.Deps{}) {
		path, ours := strings.CutPrefix(r.Path, "/api/v1")
		item := doc.Paths.Value(strings.NewReplacer(":id", "{id}", ":version", "{version}").Replace(path))
		if ours && path != "/openapi.yaml" && (item == nil || item.GetOperation(r.Method) == nil) {
			t.Errorf("%s %s isn't described", r.Method, r.Path)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if !called[op.OperationID] {
				t.Errorf("%s %s was never called with success", method, path)
			}
		}
	}
}
