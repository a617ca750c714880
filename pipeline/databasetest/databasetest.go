// Package databasetest gives tests of the reference pipeline real databases.
package databasetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite
)

// SQLite is the kind that is always there.
const SQLite = "SQLite"

// Each runs test as a subtest on SQLite, PostgreSQL and MariaDB, at the address of
// an empty database of its own. A server that the environment doesn't name is an
// error in CI and left out elsewhere.
func Each(t *testing.T, test func(t *testing.T, kind, address string)) {
	t.Helper()
	for kind, create := range map[string]func(testing.TB) string{SQLite: File, "PostgreSQL": postgres, "MariaDB": mariadb} {
		t.Run(kind, func(t *testing.T) { test(t, kind, create(t)) })
	}
}

// File is the address of an SQLite database.
func File(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "billing.db")
}

// Open opens the database at an address that Each made.
func Open(tb testing.TB, address string) *sql.DB {
	tb.Helper()
	driver, name := "sqlite", address+"?_pragma=busy_timeout(60000)" // it may be recovering from a kill
	if strings.HasPrefix(address, "postgres:") {
		driver, name = "pgx", address
	} else if dsn, ok := strings.CutPrefix(address, "mariadb:"); ok {
		driver, name = "mysql", dsn
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

func postgres(tb testing.TB) string {
	tb.Helper()
	server := env(tb, "PARKADE_TEST_POSTGRES_URL")
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	u.Path = create(tb, "pgx", server, " WITH (FORCE)")
	return u.String()
}

func mariadb(tb testing.TB) string {
	tb.Helper()
	server := env(tb, "PARKADE_TEST_MARIADB_DSN")
	config, err := mysql.ParseDSN(server)
	if err != nil {
		tb.Fatal(err)
	}
	config.DBName = create(tb, "mysql", server, "")
	return "mariadb:" + config.FormatDSN()
}

// create makes a database that lives as long as the test, and returns its name.
func create(tb testing.TB, driver, server, force string) string {
	tb.Helper()
	db, err := sql.Open(driver, server)
	if err != nil {
		tb.Fatal(err)
	}
	name := "pipeline_" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(tb.Context(), "CREATE DATABASE "+name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP DATABASE "+name+force); err != nil {
			tb.Error(err)
		}
		db.Close()
	})
	return name
}

func env(tb testing.TB, name string) string {
	tb.Helper()
	value := os.Getenv(name)
	switch {
	case value != "":
	case os.Getenv("CI") != "":
		tb.Fatalf("%s is not set", name)
	default:
		tb.Skipf("%s is not set: make test sets it", name)
	}
	return value
}
