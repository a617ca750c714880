package web_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"parkade/api"
)

// description loads the description, and forbids in answers what it doesn't name.
func description(t *testing.T) (*openapi3.T, routers.Router) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Description)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, s := range doc.Components.Schemas {
		if name != "Message" { // which MessageDetail extends
			forbidOthers(s)
		}
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, router
}

func forbidOthers(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Ref != "" || ref.Value == nil || len(ref.Value.AllOf) > 0 {
		return
	}
	s := ref.Value
	if len(s.Properties) > 0 && s.AdditionalProperties.Schema == nil {
		s.AdditionalProperties = openapi3.AdditionalProperties{Has: new(false)}
	}
	for _, p := range s.Properties {
		forbidOthers(p)
	}
	forbidOthers(s.Items)
}

// conforms holds a request that succeeded, and any answer, against the description.
func conforms(t *testing.T, router routers.Router, method, path, body string, answer *httptest.ResponseRecorder) (operation string, err error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/api/v1"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	route, params, err := router.FindRoute(r)
	if err != nil {
		return "", err
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route}
	if answer.Code < http.StatusMultipleChoices {
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
			return route.Operation.OperationID, err
		}
	}
	return route.Operation.OperationID, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: answer.Code, Header: answer.Header(), Body: io.NopCloser(bytes.NewReader(answer.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
}
