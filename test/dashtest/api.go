package dashtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// Get asks the API and decodes the answer into out.
func (d *Dashboard) Get(path string, out any) {
	d.tb.Helper()
	if status, err := d.Try(http.MethodGet, path, nil, out); err != nil || status != http.StatusOK {
		d.tb.Fatalf("GET %s: status %d, %v", path, status, err)
	}
}

// Post sends in to the API and decodes the answer into out; any 2xx is well.
func (d *Dashboard) Post(path string, in, out any) {
	d.tb.Helper()
	if status, err := d.Try(http.MethodPost, path, in, out); err != nil || status/100 != 2 {
		d.tb.Fatalf("POST %s: status %d, %v", path, status, err)
	}
}

// Try is one request to the API. An answer that isn't a 2xx comes with its text
// as the error.
func (d *Dashboard) Try(method, path string, in, out any) (int, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, d.URL+"/api/v1"+path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil {
		return r.StatusCode, err
	}
	if r.StatusCode/100 != 2 {
		return r.StatusCode, errors.New(string(answer))
	}
	if out == nil {
		return r.StatusCode, nil
	}
	return r.StatusCode, json.Unmarshal(answer, out)
}
