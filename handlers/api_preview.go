package handlers

import (
	"encoding/hex"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/replay"
)

type jsonPublish struct {
	Exchange   string             `json:"exchange"`
	RoutingKey string             `json:"routing_key"`
	Properties parkade.Properties `json:"properties"`
	Headers    []jsonHeader       `json:"headers"`
}

type jsonFact struct {
	Queue     string `json:"queue"`
	Type      string `json:"type"`
	Consumers *int64 `json:"consumers"`
	Ready     *int64 `json:"ready"`
}

type jsonPreview struct {
	Message    string          `json:"message"`
	Version    int64           `json:"version"`
	Sends      int64           `json:"sends"`
	Wrapper    parkade.Wrapper `json:"wrapper,omitempty"`
	Choices    []jsonChoice    `json:"choices"`
	Chosen     *jsonChoice     `json:"chosen"`
	Publish    *jsonPublish    `json:"publish"`
	Treatments []jsonTreatment `json:"treatments"`
	BodySize   int64           `json:"body_size"`
	SHA256     string          `json:"sha256"`
	Facts      []jsonFact      `json:"facts"`
	FactsAt    *time.Time      `json:"facts_at,omitempty"`
	Findings   []jsonFinding   `json:"findings"`
	Policy     jsonPolicy      `json:"policy"`
	Rate       float64         `json:"rate"`
	Problem    string          `json:"problem"`
	Hash       string          `json:"hash"`
}

func (d Deps) jsonPreview(v replay.Preview) jsonPreview {
	out := jsonPreview{
		Message: jsonID(v.Message.ID), Version: v.Message.Version, Sends: v.Sends, Wrapper: v.Message.Wrapper,
		Choices: each(v.Choices, toJSONChoice), Treatments: each(v.Treatments, toJSONTreatment),
		BodySize: int64(len(v.Draft.Body)), SHA256: hex.EncodeToString(v.BodyHash[:]),
		Facts: each(v.Facts, toJSONFact), FactsAt: jsonTime(v.FactsAt), Findings: each(v.Findings, func(f parkade.Finding) jsonFinding { return jsonFinding(f) }),
		Policy: d.jsonPolicy(v.Message.Queue), Rate: v.Rate, Problem: v.Refused(), Hash: v.Hash,
	}
	if v.Chosen != nil {
		out.Chosen = new(toJSONChoice(*v.Chosen))
		out.Publish = &jsonPublish{v.Draft.Exchange, v.Draft.RoutingKey, v.Draft.Properties, jsonHeaders(v.Draft.Headers)}
	}
	return out
}

func toJSONFact(f replay.TargetFacts) jsonFact {
	known := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	return jsonFact{f.Queue, f.Type, known(f.Consumers), known(f.Ready)}
}

func (h apiMessages) preview(c echo.Context) error {
	ctx := c.Request().Context()
	n, err := pathID(c)
	if err != nil {
		return err
	}
	var r struct {
		Seen    int64      `json:"seen"`
		Version *int64     `json:"version"`
		Edit    *jsonEdit  `json:"edit"`
		Target  jsonTarget `json:"target"`
	}
	if err := readJSON(c, &r, false); err != nil {
		return err
	}
	request := replay.PreviewRequest{Message: parkade.MessageID(n), Seen: r.Seen, Sends: r.Version}
	if request.Target, err = r.Target.parse(); err != nil {
		return err
	}
	if r.Edit != nil && r.Version != nil {
		return bothVersions()
	}
	if r.Edit != nil {
		m, err := h.Store.Message(ctx, request.Message)
		if err != nil {
			return err
		}
		edit, err := h.newEdit(ctx, m, r.Seen, "", *r.Edit)
		if err != nil {
			return err
		}
		request.Draft = &edit.Draft
	}
	v, err := h.Planner.Preview(ctx, request)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, h.jsonPreview(v))
}

func bothVersions() error {
	return parkade.Errorf(parkade.Invalid, "Send a version or an edit: which of them is meant?").At("version")
}
