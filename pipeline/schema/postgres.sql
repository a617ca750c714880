-- Times are unix milliseconds. Statements end with a semicolon at the end of a line.

-- Two processes that start at once: IF NOT EXISTS alone lets both of them try.
SELECT pg_advisory_xact_lock(hashtext('schema of the reference pipeline'));

CREATE TABLE IF NOT EXISTS orders (
  order_id    BIGINT PRIMARY KEY,
  message_id  TEXT   NOT NULL UNIQUE, -- of the message that announces it
  currency    TEXT   NOT NULL,
  total_cents BIGINT NOT NULL,
  placed_at   BIGINT NOT NULL
);

-- What is here is done. The primary key is what makes one invoice of two consumers that handle one message at a time.
CREATE TABLE IF NOT EXISTS processed_messages (
  message_id   TEXT   NOT NULL CONSTRAINT processed_messages_pkey PRIMARY KEY,
  processed_at BIGINT NOT NULL
);

-- An order has one invoice, even if it is announced by two messages. Then the second fails, for a person to look at.
CREATE TABLE IF NOT EXISTS invoices (
  order_id    BIGINT PRIMARY KEY,
  message_id  TEXT   NOT NULL, -- of the order
  currency    TEXT   NOT NULL,
  total_cents BIGINT NOT NULL,
  issued_at   BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS outbox (
  seq            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order of writing
  id             TEXT   NOT NULL UNIQUE,     -- the message id: it never changes, so every repeat has the same
  exchange       TEXT   NOT NULL,
  type           TEXT   NOT NULL,            -- the message type, and the routing key
  app_id         TEXT   NOT NULL,
  correlation_id TEXT   NOT NULL,
  headers        TEXT   NOT NULL,            -- JSON
  body           BYTEA  NOT NULL,
  created_at     BIGINT NOT NULL,
  sent_at        BIGINT,                     -- the broker has confirmed it
  dead_at        BIGINT,                     -- it failed too often; NULL and attempts 0 give it another life
  attempts       BIGINT NOT NULL DEFAULT 0,  -- that failed
  last_error     TEXT   NOT NULL DEFAULT '',
  not_before     BIGINT NOT NULL DEFAULT 0   -- the next attempt
);

-- Only what is to be sent, so the relay's query stays as cheap as that is little, however many were sent.
CREATE INDEX IF NOT EXISTS outbox_unsent ON outbox (seq) WHERE sent_at IS NULL AND dead_at IS NULL;
CREATE INDEX IF NOT EXISTS outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;
