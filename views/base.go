// Package views draws pages and their parts: data in, HTML out.
package views

import (
	"context"

	"parkade/static"
)

type baseKey struct{}

// WithBase returns a context in which pages link below base, the path of the
// public address, such as "/parkade", or "" for the root.
func WithBase(ctx context.Context, base string) context.Context {
	return context.WithValue(ctx, baseKey{}, base)
}

// At returns the address of a path of ours, which starts with a slash, below the
// base that WithBase set.
func At(ctx context.Context, path string) string {
	base, _ := ctx.Value(baseKey{}).(string)
	return base + path
}

// Asset returns the address of a file of package static.
func Asset(ctx context.Context, name string) string {
	return At(ctx, static.Path(name))
}
