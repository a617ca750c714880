-- Times are unix milliseconds. Statements end with a semicolon at the end of a line.
--
-- Message ids are bytes: MariaDB's collations take "A" for "a", or "a " for "a", and a second order for a repeat of the
-- first. AMQP allows 255 bytes.

CREATE TABLE IF NOT EXISTS orders (
  order_id    BIGINT         NOT NULL PRIMARY KEY,
  message_id  VARBINARY(255) NOT NULL UNIQUE, -- of the message that announces it
  currency    VARCHAR(100)   NOT NULL,
  total_cents BIGINT         NOT NULL,
  placed_at   BIGINT         NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4;

-- What is here is done. The primary key is what makes one invoice of two consumers that handle one message at a time.
CREATE TABLE IF NOT EXISTS processed_messages (
  message_id   VARBINARY(255) NOT NULL PRIMARY KEY,
  processed_at BIGINT         NOT NULL
) ENGINE = InnoDB;

-- An order has one invoice, even if it is announced by two messages. Then the second fails, for a person to look at.
CREATE TABLE IF NOT EXISTS invoices (
  order_id    BIGINT         NOT NULL PRIMARY KEY,
  message_id  VARBINARY(255) NOT NULL, -- of the order
  currency    VARCHAR(100)   NOT NULL,
  total_cents BIGINT         NOT NULL,
  issued_at   BIGINT         NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4;

-- The index: MariaDB has no partial ones, but unsent rows lie next to each other in it, in their order.
CREATE TABLE IF NOT EXISTS outbox (
  seq            BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY, -- the order of writing
  id             VARBINARY(255) NOT NULL UNIQUE,        -- the message id: it never changes, so every repeat has the same
  exchange       VARCHAR(255)   NOT NULL,
  type           VARCHAR(255)   NOT NULL,               -- the message type, and the routing key
  app_id         VARCHAR(255)   NOT NULL,
  correlation_id VARBINARY(255) NOT NULL,
  headers        TEXT           NOT NULL,               -- JSON
  body           LONGBLOB       NOT NULL,
  created_at     BIGINT         NOT NULL,
  sent_at        BIGINT         NULL,                   -- the broker has confirmed it
  dead_at        BIGINT         NULL,                   -- it failed too often; NULL and attempts 0 give it another life
  attempts       BIGINT         NOT NULL DEFAULT 0,     -- that failed
  last_error     VARCHAR(300)   NOT NULL DEFAULT '',
  not_before     BIGINT         NOT NULL DEFAULT 0,     -- the next attempt
  INDEX outbox_unsent (sent_at, dead_at, seq)
) ENGINE = InnoDB CHARACTER SET utf8mb4;
