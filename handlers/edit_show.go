package handlers

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/replay"
	"parkade/views"
)

// show draws the page with all that was typed.
func (h edits) show(c echo.Context, e *editing, status int, problem error) error {
	ctx := c.Request().Context()
	p := views.EditPage{
		Shell: shell(c, h.Deps), Message: e.message, Seen: e.seen, Base: e.base, Others: e.all, Types: fieldTypes(),
		To: e.target.to, Exchange: e.target.exchange, RoutingKey: e.target.routingKey, Delay: e.target.delay, Reason: e.target.why, Key: e.target.key,
		WithAgain: e.again, Again: againWords(e.message.State),
	}
	p.Shell.Path = "/messages"
	if p.Delay == "" {
		p.Delay = "10s"
	}
	if err := e.takeFile(); err != nil && problem == nil {
		problem = err
	}
	e.fill(&p)
	if e.wrong == nil {
		if err := h.foresee(ctx, e, &p); err != nil && problem == nil {
			problem = err
		}
	}
	if err := h.clash(ctx, e, &p); err != nil {
		return err
	}
	if problem != nil {
		_, p.Problem = parkade.Explain(problem)
		if one, ok := errors.AsType[*parkade.Error](problem); ok {
			p.Field = one.Field
		}
	}
	return render(c, status, views.Edit(p))
}

// againWords says what has to be ticked before a message in that state is sent.
func againWords(s parkade.State) string {
	switch s {
	case parkade.InDoubt:
		return "Send it although its last replay may have arrived: its consumer may get it twice."
	case parkade.Replayed:
		return "Send it again although its last replay was confirmed."
	case parkade.Parked, parkade.InOperation, parkade.GivenBack, parkade.Resolved, parkade.Discarded:
	}
	return ""
}

// fill puts into the page what is typed into, as it was typed or as it stands in
// the version that the form starts from.
func (e *editing) fill(p *views.EditPage) {
	d := e.from.Draft
	form := typingIn(d, e.as)
	p.As, p.Text, p.BodyNote = string(form.As), form.Text, form.keeps()
	if e.body != nil {
		p.Text = *e.body
	}
	large := len(form.Text) > typedBytes
	switch {
	case e.sent && e.body == nil, large && !e.whole && !e.sent:
		p.Untyped = fmt.Sprintf("The body has %s, which no text field takes well. It is kept as it is; headers, properties and target can be edited.", views.Size(int64(len(d.Body))))
		p.Loadable = len(form.Text) <= typedMost
		p.Text = ""
	case form.As == AsText:
		p.JSON = e.checkJSON()
	}
	for _, name := range propertyNames() {
		value, typed := e.properties[name]
		if !typed {
			value = propertyText(d.Properties, name)
		}
		p.Properties = append(p.Properties, views.EditProperty{Name: name, Value: value, Hint: propertyHint(name)})
	}
	e.fillHeaders(p)
}

// takeFile puts a file that was sent into the form, since a page can't hold it in
// its own field: as text where that gives its bytes back, else as Base64.
func (e *editing) takeFile() error {
	if e.file == nil {
		return nil
	}
	file, was := e.file, e.from.Draft
	if len(file) > typedMost {
		return parkade.Errorf(parkade.TooLarge, "A file of %s has to be kept first: choose it again, press Keep as draft, and preview that version.", views.Size(int64(len(file)))).At("file")
	}
	text := string(file)
	form := typingIn(was, AsText)
	e.as = AsBase64
	e.body = new(base64Text(file))
	if same, err := form.typedAs(text, parkade.Text(e.draft.Properties.ContentEncoding)); form.As == AsText && typeable(text) && err == nil && bytes.Equal(same, file) {
		e.as, e.body = AsText, &text
	}
	e.file = nil
	return nil
}

// fillHeaders puts the headers into the page, each in a row.
func (e *editing) fillHeaders(p *views.EditPage) {
	most := shownFields
	if e.whole {
		most = maxFields - len(blankRows())
	}
	shown := map[string]bool{}
	for _, row := range e.headers {
		shown[row.Was] = true
	}
	p.Headers = e.headers
	for i, f := range e.from.Draft.Headers {
		was := strconv.Itoa(i)
		switch {
		case shown[was] || neverSent(f):
		case e.sent || len(p.Headers) == most:
			p.MoreHeaders++
		default:
			row := fieldOf(f)
			row.Was = was
			p.Headers = append(p.Headers, row)
		}
	}
	if !e.sent {
		p.Headers = append(p.Headers, blankRows()...)
	}
}

// The bounds of what stands in a form: of a body in bytes of what is typed, and of
// headers. More than the first of each is put there where it is asked for.
const (
	typedBytes  = 1 << 20
	typedMost   = 4 << 20
	shownFields = 250
)

func blankRows() []views.EditField {
	return []views.EditField{{Type: parkade.LongStr.String()}, {Type: parkade.LongStr.String()}}
}

func propertyHint(name string) string {
	switch name {
	case "message_id":
		return "consumers that know it take it for done already"
	case "timestamp":
		return "seconds since 1970"
	case "priority":
		return "0 to 255"
	case "reply_to":
		return "a queue that waits for an answer"
	}
	return ""
}

// checkJSON says whether the body, where it is to be JSON, is. It forbids nothing.
func (e *editing) checkJSON() string {
	p := e.from.Draft.Properties
	body := e.draft.Body
	if e.wrong != nil || e.file != nil {
		return ""
	}
	if plain := typingOf(body, parkade.Text(p.ContentType), parkade.Text(p.ContentEncoding), AsText); plain.As == AsText {
		body = []byte(plain.text)
	}
	if kindOf(parkade.Text(p.ContentType), string(body)) != "JSON" {
		return ""
	}
	err := json.Unmarshal(body, new(json.RawMessage))
	if err == nil {
		return "valid"
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := body[:min(max(syntax.Offset-1, 0), int64(len(body)))]
		line := bytes.Count(before, []byte{'\n'}) + 1
		column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
		return fmt.Sprintf("Not valid JSON, in line %d, column %d: %s. It can be sent all the same.", line, column, syntax)
	}
	return "Not valid JSON. It can be sent all the same."
}

// foresee puts the preview into the page. A form that was only opened has none: the
// person looks after editing.
func (h edits) foresee(ctx context.Context, e *editing, p *views.EditPage) error {
	v, _, err := h.preview(ctx, e)
	if err != nil {
		return err
	}
	p.Options, p.To = options(replay.Plan{Groups: []replay.Group{{Choices: v.Choices, Chosen: v.Chosen}}}, p.To)
	if !e.sent {
		return nil
	}
	shown := &views.EditPreview{
		Edited: e.edited, Hash: v.Hash, SHA256: hex.EncodeToString(v.BodyHash[:]), Size: int64(len(e.draft.Body)),
		Was: e.from.Size, Changes: changed(e.from.Draft, e.draft), Carried: carried(e.draft.Content, v.Policy, v.Message),
		Chosen: v.Chosen, Findings: v.Findings, Refused: v.Refused(),
	}
	shown.Diff, shown.Cut = compareBodies(e.from.Draft, e.draft)
	for _, f := range v.Facts {
		shown.Facts = append(shown.Facts, views.EditFact{Queue: f.Queue, Consumers: f.Consumers, Ready: f.Ready})
	}
	p.Preview = shown
	return nil
}

// clash shows what somebody else saved since the form was opened, beside what was
// typed. The form then is about their version, and sending it again keeps both.
func (h edits) clash(ctx context.Context, e *editing, p *views.EditPage) error {
	if !e.sent || e.message.Version == e.seen {
		return nil
	}
	theirs, err := h.Store.Version(ctx, e.id, e.message.Version)
	if err != nil {
		return err
	}
	p.Seen = e.message.Version
	p.Clash = &views.Clash{Theirs: theirs}
	if e.wrong == nil {
		p.Clash.Diff, _ = compareBodies(theirs.Draft, e.draft)
		p.Clash.Fields = changed(theirs.Draft, e.draft)
	}
	return nil
}
