// Package api holds the description of the JSON interface, which is written
// before it is served and against which it is tested.
package api

import _ "embed"

// Description is the OpenAPI description of everything under /api/v1, as YAML.
//
//go:embed openapi.yaml
var Description []byte
