package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migrate brings the schema to the newest version, each step in a transaction of
// its own. A file of a newer version than ours is refused.
func migrate(ctx context.Context, db *sql.DB) error {
	steps, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, steps, goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return fmt.Errorf("the file has schema version %d, this program knows %d at most: it was written by a newer version", have, want)
	}
	_, err = p.Up(ctx)
	return err
}
