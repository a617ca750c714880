// Package static holds what browsers load besides pages: styles, scripts, icons.
// Everything is compiled in and served under a name that carries a hash of its
// content, so that browsers may keep it for ever and never need to ask again.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed css/*.css js/*.js vendor/*.css vendor/*.js vendor/*.svg favicon.svg
var source embed.FS

// assets names what is served and the files that each one is made of, in order.
// The order of the styles matters little, since they are in cascade layers; that
// of the scripts does: htmx first, then its extension, then ours.
//
//nolint:gochecknoglobals // a constant table
var assets = map[string][]string{
	"app.css": {
		"css/layers.css", "vendor/tabler.css", "css/tokens.css", "css/base.css", "css/shell.css",
		"css/parts.css", "css/tables.css", "css/payload.css", "css/pages.css", "css/flow.css", "css/edit.css", "css/small.css",
	},
	"app.js": {
		"vendor/htmx.min.js", "vendor/hx-sse.min.js",
		"js/app.js", "js/live.js", "js/ticks.js", "js/keys.js",
	},
	"theme.js":    {"js/theme.js"},
	"editor.js":   {"vendor/codemirror.min.js", "js/editor.js"},
	"sprite.svg":  {"vendor/sprite.svg"},
	"favicon.svg": {"favicon.svg"},
}

//nolint:gochecknoglobals // a constant table
var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// An asset is one served file in both of its encodings.
type asset struct {
	path        string
	contentType string
	plain       []byte
	gzipped     []byte
}

// all reads and compresses the assets once, on first use.
//
//nolint:gochecknoglobals // made once, never changed
var all = sync.OnceValue(func() map[string]asset {
	built := make(map[string]asset, len(assets))
	for name, files := range assets {
		built[name] = build(name, files)
	}
	return built
})

// build panics when a file is missing: it is compiled in, so that is a mistake
// in this package and not a circumstance.
func build(name string, files []string) asset {
	var plain bytes.Buffer
	for _, file := range files {
		text, err := source.ReadFile(file)
		if err != nil {
			panic(fmt.Errorf("static: %w", err))
		}
		plain.Write(text)
		plain.WriteByte('\n')
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(plain.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Errorf("static: compress %s: %w", name, err))
	}
	sum := sha256.Sum256(plain.Bytes())
	ext := path.Ext(name)
	return asset{
		path:        "/static/" + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext,
		contentType: types[ext],
		plain:       plain.Bytes(),
		gzipped:     packed.Bytes(),
	}
}

// Path returns the address of an asset below the public path prefix, such as
// "/static/app.0123456789ab.css" for "app.css". It panics for a name that is no
// asset.
func Path(name string) string {
	a, ok := all()[name]
	if !ok {
		panic("static: there is no asset " + strconv.Quote(name))
	}
	return a.path
}

// Handler serves the addresses that Path returns and answers 404 to every other
// one. The public path prefix must be gone from the request's path already.
func Handler() http.Handler {
	byPath := make(map[string]asset, len(all()))
	for _, a := range all() {
		byPath[a.path] = a
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := byPath[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		serve(w, r, a)
	})
}

func serve(w http.ResponseWriter, r *http.Request, a asset) {
	header, body := w.Header(), a.plain
	header.Set("Content-Type", a.contentType)
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Vary", "Accept-Encoding")
	if takesGzip(r.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		body = a.gzipped
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client has gone: there is nobody left to tell
	}
}

// takesGzip reads an Accept-Encoding header (RFC 9110, 12.5.3).
func takesGzip(accept string) bool {
	others := false
	for part := range strings.SplitSeq(accept, ",") {
		coding, params, _ := strings.Cut(part, ";")
		wanted := !refused(params)
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return wanted
		case "*":
			others = wanted
		}
	}
	return others
}

// refused reports whether a coding's parameters give it the weight zero.
func refused(params string) bool {
	name, value, _ := strings.Cut(strings.TrimSpace(params), "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return false
	}
	weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err != nil || weight <= 0
}
