package pipeline

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed schema/*.sql
var schemas embed.FS

// database is where the business rows, the outbox and the processed messages
// are: together, so that one transaction can write them. It connects when it is
// used.
type database struct {
	*sql.DB
	dialect
	relayLock *sql.DB // on SQLite, see claim
}

// dialect is all that the databases differ in.
type dialect struct {
	schema   string           // its file
	numbered bool             // arguments are written $1, $2 and so on, not ?
	outbox   string           // how to read the outbox, so that only unsent rows are looked at
	claim    string           // what claims the rows that a query returns
	repeated func(error) bool // whether an INSERT into processed_messages failed on the primary key
}

// Rows that are claimed are ours until the transaction ends, and others pass over
// them. MySQL 8 has this too, MariaDB since 10.6.
const skipLocked = "FOR UPDATE SKIP LOCKED"

// openDatabase checks the address and connects nothing. It is the path of an
// SQLite file, or postgres://..., or mariadb: with what
// github.com/go-sql-driver/mysql takes. It may hold a password, so no error
// repeats it.
func openDatabase(address string) (*database, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		config, err := pgx.ParseConfig(address)
		if err != nil {
			return nil, errors.New("the database's address must be a URL like postgres://user:password@host:5432/name")
		}
		return &database{DB: stdlib.OpenDB(*config), dialect: postgres()}, nil
	case scheme == "mariadb":
		config, err := mysql.ParseDSN(rest)
		if err != nil {
			return nil, errors.New("the database's address must be like mariadb:user:password@tcp(host:3306)/name")
		}
		config.Logger = &mysql.NopLogger{} // errors are returned too
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, errors.New("the database can't be used as its address says")
		}
		db := sql.OpenDB(connector)
		db.SetConnMaxLifetime(3 * time.Minute) // the server hangs up on idle ones without a word
		return &database{DB: db, dialect: mariadb()}, nil
	case address == "" || strings.HasPrefix(rest, "//"):
		return nil, errors.New("the database must be a file, or begin with postgres:// or mariadb: as an address")
	}
	return openSQLite(address)
}

// openSQLite waits for other writers instead of failing, and begins transactions
// as writers: one that begins as a reader can find itself too late to write.
func openSQLite(path string) (*database, error) {
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	name.RawQuery = "_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // there is one writer at a time anyway; here they queue in order
	name.Opaque += "-relay"
	name.RawQuery = "_txlock=exclusive"
	lock, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	return &database{DB: db, dialect: sqliteDialect(), relayLock: lock}, nil
}

func sqliteDialect() dialect {
	return dialect{
		schema: "schema/sqlite.sql", outbox: "outbox",
		repeated: func(err error) bool {
			e, ok := errors.AsType[*sqlite.Error](err)
			return ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY && strings.Contains(e.Error(), "processed_messages.message_id")
		},
	}
}

func postgres() dialect {
	return dialect{
		schema: "schema/postgres.sql", numbered: true, outbox: "outbox", claim: skipLocked,
		repeated: func(err error) bool {
			e, ok := errors.AsType[*pgconn.PgError](err)
			return ok && e.Code == "23505" && e.ConstraintName == "processed_messages_pkey"
		},
	}
}

func mariadb() dialect {
	return dialect{
		// Without the hint it may read the primary key instead, past all that was sent.
		schema: "schema/mariadb.sql", outbox: "outbox FORCE INDEX (outbox_unsent)", claim: skipLocked,
		repeated: func(err error) bool {
			e, ok := errors.AsType[*mysql.MySQLError](err)
			const duplicate = 1062 // MySQL names the table too, MariaDB doesn't
			return ok && e.Number == duplicate && (strings.HasSuffix(e.Message, "for key 'PRIMARY'") || strings.HasSuffix(e.Message, "for key 'processed_messages.PRIMARY'"))
		},
	}
}

// migrate makes the tables that are missing.
func (d *database) migrate(ctx context.Context) error {
	schema, err := schemas.ReadFile(d.schema)
	if err != nil {
		return err
	}
	err = d.write(ctx, func(tx *sql.Tx) error {
		for statement := range strings.SplitSeq(string(schema), ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	return nil
}

// write runs fn in a transaction: all that it does, or nothing of it.
func (d *database) write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := d.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// begin begins a transaction. Read committed is enough, since what must not
// happen twice is kept so by constraints. MariaDB's own default would also lock
// the gap where the next outbox row goes, and have producers wait for a relay.
// SQLite knows one level, the strictest.
func (d *database) begin(ctx context.Context) (*sql.Tx, error) {
	return d.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

// executor is the database, or a transaction on it.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs a statement, whose arguments are written as ?.
func (d *database) exec(ctx context.Context, on executor, statement string, args ...any) error {
	_, err := on.ExecContext(ctx, d.bind(statement), args...)
	return err
}

// bind writes the arguments of a statement as the database wants them.
func (d *database) bind(statement string) string {
	if !d.numbered {
		return statement
	}
	var b strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// records counts what is there.
func (d *database) records(ctx context.Context) (*Records, error) {
	var r Records
	err := d.QueryRowContext(ctx, `
		SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM invoices),
			(SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL AND dead_at IS NULL), (SELECT COUNT(*) FROM outbox WHERE dead_at IS NOT NULL)`).
		Scan(&r.Orders, &r.Invoices, &r.OutboxPending, &r.OutboxDead)
	if err != nil {
		return nil, fmt.Errorf("count records: %w", err)
	}
	return &r, nil
}

// close closes all connections.
func (d *database) close() {
	_ = d.Close()
	if d.relayLock != nil {
		_ = d.relayLock.Close()
	}
}
