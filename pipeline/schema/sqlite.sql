-- Times are unix milliseconds. Statements end with a semicolon at the end of a line.

CREATE TABLE IF NOT EXISTS orders (
  order_id    INTEGER PRIMARY KEY,
  message_id  TEXT    NOT NULL UNIQUE, -- of the message that announces it
  currency    TEXT    NOT NULL,
  total_cents INTEGER NOT NULL,
  placed_at   INTEGER NOT NULL
);

-- What is here is done. The primary key is what makes one invoice of two consumers that handle one message at a time.
CREATE TABLE IF NOT EXISTS processed_messages (
  message_id   TEXT    NOT NULL PRIMARY KEY,
  processed_at INTEGER NOT NULL
) WITHOUT ROWID;

-- An order has one invoice, even if it is announced by two messages. Then the second fails, for a person to look at.
CREATE TABLE IF NOT EXISTS invoices (
  order_id    INTEGER PRIMARY KEY,
  message_id  TEXT    NOT NULL, -- of the order
  currency    TEXT    NOT NULL,
  total_cents INTEGER NOT NULL,
  issued_at   INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS outbox (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of writing
  id             TEXT    NOT NULL UNIQUE,           -- the message id: it never changes, so every repeat has the same
  exchange       TEXT    NOT NULL,
  type           TEXT    NOT NULL,                  -- the message type, and the routing key
  app_id         TEXT    NOT NULL,
  correlation_id TEXT    NOT NULL,
  headers        TEXT    NOT NULL,                  -- JSON
  body           BLOB    NOT NULL,
  created_at     INTEGER NOT NULL,
  sent_at        INTEGER,                           -- the broker has confirmed it
  dead_at        INTEGER,                           -- it failed too often; NULL and attempts 0 give it another life
  attempts       INTEGER NOT NULL DEFAULT 0,        -- that failed
  last_error     TEXT    NOT NULL DEFAULT '',
  not_before     INTEGER NOT NULL DEFAULT 0         -- the next attempt
);

-- Only what is to be sent, so the relay's query stays as cheap as that is little, however many were sent.
CREATE INDEX IF NOT EXISTS outbox_unsent ON outbox (seq) WHERE sent_at IS NULL AND dead_at IS NULL;
CREATE INDEX IF NOT EXISTS outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;
