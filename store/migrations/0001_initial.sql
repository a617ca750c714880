-- +goose Up

-- One row per start of the process. The epoch makes the stamps of a restored
-- backup differ from those that were sent after the backup was taken.
CREATE TABLE run (
  id         INTEGER PRIMARY KEY,
  epoch      BLOB    NOT NULL UNIQUE CHECK (length(epoch) = 8),
  started_at INTEGER NOT NULL,
  probes     INTEGER NOT NULL DEFAULT 0                  -- test writes; SQLite writes nothing where nothing changes
) STRICT;

-- A parking queue that was drained once, or that somebody decided about.
CREATE TABLE source (
  id             INTEGER PRIMARY KEY,
  broker         TEXT    NOT NULL,
  vhost          TEXT    NOT NULL,
  queue          TEXT    NOT NULL,
  type           TEXT    NOT NULL DEFAULT '',
  broker_version TEXT    NOT NULL DEFAULT '',
  returns_first  INTEGER NOT NULL DEFAULT 0 CHECK (returns_first IN (0, 1)),
  strict         INTEGER NOT NULL DEFAULT 0 CHECK (strict IN (0, 1)),
  wanted         TEXT    NOT NULL DEFAULT '' CHECK (wanted IN ('', 'on', 'off')), -- what a person decided
  accepted       INTEGER NOT NULL DEFAULT 0 CHECK (accepted IN (0, 1)),          -- in spite of findings that ask
  wanted_by      TEXT    NOT NULL DEFAULT '',
  wanted_at      INTEGER NOT NULL DEFAULT 0,
  wanted_why     TEXT    NOT NULL DEFAULT '',
  UNIQUE (broker, vhost, queue)
) STRICT;

-- The one brake: no drain runs while on = 1.
CREATE TABLE brake (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  on_   INTEGER NOT NULL CHECK (on_ IN (0, 1)),
  by    TEXT    NOT NULL,
  why   TEXT    NOT NULL,
  since INTEGER NOT NULL
) STRICT;
INSERT INTO brake VALUES (1, 0, '', '', 0);

CREATE TABLE drain_session (
  id          INTEGER PRIMARY KEY,
  source_id   INTEGER NOT NULL REFERENCES source,
  opened_at   INTEGER NOT NULL,
  alive_at    INTEGER NOT NULL,
  fence_until INTEGER NOT NULL,
  end_kind    TEXT CHECK (end_kind = 'clean')
) STRICT;
CREATE INDEX drain_session_source ON drain_session (source_id, id);

CREATE TABLE drain_batch (
  id           INTEGER PRIMARY KEY,
  source_id    INTEGER NOT NULL REFERENCES source,
  session_id   INTEGER NOT NULL REFERENCES drain_session,
  messages     INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  certain      INTEGER NOT NULL CHECK (certain IN (0, 1)),
  state        TEXT    NOT NULL CHECK (state IN ('stored', 'proven', 'recent', 'late', 'closed')),
  unmatched    INTEGER NOT NULL,                         -- rows that may still explain a redelivered copy
  first_id     INTEGER NOT NULL,                         -- its rows are among these: those that it recognised, too
  last_id      INTEGER NOT NULL,
  committed_at INTEGER NOT NULL,
  proven_at    INTEGER,
  open_at      INTEGER                                   -- since when it is recent, or late
) STRICT;
CREATE INDEX drain_batch_open ON drain_batch (source_id, state) WHERE state <> 'closed';
CREATE UNIQUE INDEX drain_batch_one_stored ON drain_batch (session_id) WHERE state = 'stored';

-- An arriving message is parked: its CHECKs ask for that first, because an IN over
-- a list costs SQLite a table of its own.
CREATE TABLE message (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id       INTEGER NOT NULL,                     -- of source; unchecked, for speed, as is batch_id
  batch_id        INTEGER NOT NULL,
  fp              BLOB    NOT NULL CHECK (length(fp) = 32),
  identified      INTEGER NOT NULL CHECK (identified IN (0, 1)),
  redelivered     INTEGER NOT NULL CHECK (redelivered IN (0, 1)),
  broker_count    INTEGER NOT NULL,
  seen_again      INTEGER NOT NULL DEFAULT 0,
  copy_of         INTEGER,                              -- may be the same arrival as that message
  copy_used       INTEGER NOT NULL DEFAULT 0 CHECK (copy_used IN (0, 1)),
  last_chance     INTEGER NOT NULL DEFAULT 0 CHECK (last_chance IN (0, 1)),
  state           TEXT    NOT NULL DEFAULT 'parked'
                  CHECK (state = 'parked' OR state IN ('in operation', 'in doubt', 'replayed', 'given back', 'resolved', 'discarded')),
  operation_id    INTEGER,                              -- that holds it
  version         INTEGER NOT NULL DEFAULT 1,
  exchange        TEXT    NOT NULL,
  routing_key     TEXT    NOT NULL,
  message_id      TEXT    NOT NULL,
  correlation_id  TEXT    NOT NULL,
  type            TEXT    NOT NULL,
  content_type    TEXT    NOT NULL,
  reason          TEXT    NOT NULL,
  exception       TEXT    NOT NULL,
  wrapper         TEXT    NOT NULL DEFAULT '',          -- the framework's error wrapper that it arrived in
  origin_exchange TEXT,                                 -- all three, or none
  origin_key      TEXT,
  origin_queue    TEXT,
  attempts        INTEGER NOT NULL,
  attempts_from   TEXT    NOT NULL,
  size            INTEGER NOT NULL,
  body_hash       BLOB    NOT NULL CHECK (length(body_hash) = 32),
  came_from       INTEGER,                              -- the replay whose stamp it carries
  foreign_replay  TEXT    NOT NULL DEFAULT '',
  previous_id     INTEGER,                              -- the round before
  round           INTEGER NOT NULL DEFAULT 1,
  replays         INTEGER NOT NULL DEFAULT 0,
  last_replay_id  INTEGER,
  last_outcome    TEXT    NOT NULL DEFAULT '',
  came_back       INTEGER NOT NULL DEFAULT 0 CHECK (came_back IN (0, 1)), -- its last replay did
  parked_at       INTEGER NOT NULL,
  changed_at      INTEGER NOT NULL,
  expires_at      INTEGER,                              -- when retention removes it
  CHECK ((state = 'in operation') = (operation_id IS NOT NULL)),
  CHECK ((state = 'parked' OR state = 'in operation' OR state = 'in doubt') = (expires_at IS NULL))
) STRICT;
-- Fingerprints and message ids are random, so an index over all of them would
-- have each arrival write to a page of its own. These two go by blocks of 16,384
-- messages: arrivals write to the newest block, and a look-up asks each of them.
CREATE INDEX message_fp ON message (source_id, id >> 14, fp);
CREATE INDEX message_message_id ON message (id >> 14, message_id) WHERE message_id <> '';
CREATE INDEX message_source ON message (source_id, state, id);
CREATE INDEX message_source_all ON message (source_id, id);
CREATE INDEX message_state ON message (state, id);
CREATE INDEX message_reason ON message (reason, id);
CREATE INDEX message_key ON message (coalesce(origin_key, routing_key), id);
CREATE INDEX message_copy ON message (id) WHERE copy_of IS NOT NULL;
CREATE INDEX message_came_back ON message (id) WHERE came_back = 1;
CREATE INDEX message_outcome ON message (last_outcome, id) WHERE last_outcome <> '';
CREATE INDEX message_previous ON message (previous_id) WHERE previous_id IS NOT NULL;
CREATE INDEX message_came_from ON message (came_from) WHERE came_from IS NOT NULL;
CREATE INDEX message_expires ON message (expires_at) WHERE expires_at IS NOT NULL;

-- What lists never read. A trigger does what a foreign key would, which costs each
-- arrival a look-up of the message that was inserted just before.
CREATE TABLE content (
  message_id INTEGER PRIMARY KEY,
  properties BLOB NOT NULL,
  headers    BLOB NOT NULL,
  body       BLOB NOT NULL
) STRICT;
-- +goose StatementBegin
CREATE TRIGGER content_of_message AFTER DELETE ON message BEGIN
  DELETE FROM content WHERE message_id = old.id;
END;
-- +goose StatementEnd

-- What people made of a message: versions 2 and later, which never change.
CREATE TABLE edit (
  id          INTEGER PRIMARY KEY,
  message_id  INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
  version     INTEGER NOT NULL CHECK (version > 1),
  base        INTEGER NOT NULL CHECK (base BETWEEN 0 AND version - 1), -- the version that it was made from
  by          TEXT    NOT NULL,
  note        TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  exchange    TEXT    NOT NULL,                         -- where it was meant to go
  routing_key TEXT    NOT NULL,
  size        INTEGER NOT NULL,
  body_hash   BLOB    NOT NULL CHECK (length(body_hash) = 32),
  properties  BLOB    NOT NULL,
  headers     BLOB    NOT NULL,
  body        BLOB    NOT NULL,
  UNIQUE (message_id, version)
) STRICT;

-- How many messages of each source are in each state; kept in the transaction
-- that changes them.
CREATE TABLE counter (
  source_id INTEGER NOT NULL,
  state     TEXT    NOT NULL,
  messages  INTEGER NOT NULL,
  bytes     INTEGER NOT NULL,
  copies    INTEGER NOT NULL DEFAULT 0,                  -- possible copies among messages
  PRIMARY KEY (source_id, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  verb            TEXT    NOT NULL CHECK (verb IN ('replay', 'discard', 'restore', 'resolve', 'give_back')),
  state           TEXT    NOT NULL CHECK (state IN ('scheduled', 'canary', 'watching', 'running', 'pausing', 'paused',
                                                     'interrupted', 'cancelling', 'cancelled', 'finished')),
  why             TEXT    NOT NULL DEFAULT '',
  by              TEXT    NOT NULL,
  reason          TEXT    NOT NULL,
  filter          TEXT    NOT NULL DEFAULT '',
  target          TEXT    NOT NULL,                      -- JSON of parkade.Target
  policy          TEXT    NOT NULL,                      -- JSON of parkade.Policy
  rate            REAL    NOT NULL DEFAULT 0,
  max_bad         INTEGER NOT NULL DEFAULT 20,           -- pauses after so many bad outcomes in a row
  bad_in_row      INTEGER NOT NULL DEFAULT 0,
  total           INTEGER NOT NULL DEFAULT 0,
  next_pos        INTEGER NOT NULL DEFAULT 1,
  base_replay_id  INTEGER NOT NULL,
  -- How many of its replays are in each state, kept in the transaction that
  -- changes them. A replay that was given back, to be sent later, counts nowhere.
  intent          INTEGER NOT NULL DEFAULT 0,
  confirmed       INTEGER NOT NULL DEFAULT 0,
  unroutable      INTEGER NOT NULL DEFAULT 0,
  nacked          INTEGER NOT NULL DEFAULT 0,
  refused         INTEGER NOT NULL DEFAULT 0,
  unknown         INTEGER NOT NULL DEFAULT 0,
  cancelled       INTEGER NOT NULL DEFAULT 0,
  skipped         INTEGER NOT NULL DEFAULT 0,            -- items
  came_back       INTEGER NOT NULL DEFAULT 0,            -- replays
  idempotency_key TEXT UNIQUE,
  request_hash    BLOB,                                  -- of the request behind idempotency_key
  created_at      INTEGER NOT NULL,
  started_at      INTEGER,
  ended_at        INTEGER,
  dismissed_at    INTEGER,
  due_at          INTEGER                                -- when a scheduled one starts by itself
) STRICT;
CREATE INDEX operation_active ON operation (id) WHERE state NOT IN ('cancelled', 'finished');

-- The frozen set. pos counts from 1 without a gap.
CREATE TABLE operation_item (
  operation_id INTEGER NOT NULL REFERENCES operation ON DELETE CASCADE,
  pos          INTEGER NOT NULL,
  message_id   INTEGER NOT NULL,
  version      INTEGER NOT NULL,                         -- that was seen
  sends        INTEGER NOT NULL,                         -- the version that is sent; 0 is what is in a wrapper
  was          TEXT    NOT NULL,                         -- the message's state before, to go back to
  exchange     TEXT    NOT NULL DEFAULT '',
  routing_key  TEXT    NOT NULL DEFAULT '',
  skipped      TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (operation_id, pos)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_item_message ON operation_item (message_id);
CREATE INDEX operation_item_skipped ON operation_item (operation_id, pos) WHERE skipped <> '';

-- The exchanges of ours by which an operation sends into queues without changing the
-- routing key. Each is bound to one queue, declared on first use, and removed when
-- the operation has ended.
CREATE TABLE private_exchange (
  operation_id INTEGER NOT NULL REFERENCES operation ON DELETE CASCADE,
  name         TEXT    NOT NULL,
  broker       TEXT    NOT NULL,
  vhost        TEXT    NOT NULL,
  queue        TEXT    NOT NULL,
  removed_at   INTEGER,
  PRIMARY KEY (operation_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX private_exchange_left ON private_exchange (operation_id) WHERE removed_at IS NULL;

CREATE TABLE replay (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id       INTEGER NOT NULL REFERENCES run,
  message_id   INTEGER NOT NULL,
  version      INTEGER NOT NULL,                         -- that was sent
  operation_id INTEGER NOT NULL,
  pos          INTEGER NOT NULL,
  exchange     TEXT    NOT NULL,
  routing_key  TEXT    NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('intent', 'confirmed', 'unroutable', 'nacked', 'refused', 'unknown', 'cancelled')),
  why          TEXT    NOT NULL DEFAULT '',
  came_back    INTEGER NOT NULL DEFAULT 0 CHECK (came_back IN (0, 1)),
  settled_by   TEXT,                                     -- a person decided about an unknown one
  settled_as   TEXT CHECK (settled_as IN ('arrived', 'not arrived')),
  intent_at    INTEGER NOT NULL,
  done_at      INTEGER,
  sent_hash    BLOB CHECK (length(sent_hash) = 32),      -- of the body; this and sent_id are NULL where it is what arrived
  sent_id      TEXT                                      -- its message id
) STRICT;
CREATE UNIQUE INDEX replay_live ON replay (message_id) WHERE state = 'intent';
CREATE INDEX replay_message ON replay (message_id, id);
CREATE INDEX replay_operation ON replay (operation_id, pos);
CREATE INDEX replay_unknown ON replay (id) WHERE state = 'unknown';
CREATE INDEX replay_came_back ON replay (operation_id, id) WHERE came_back = 1;
CREATE INDEX replay_bad ON replay (operation_id, state, pos) WHERE state IN ('unroutable', 'nacked', 'refused', 'unknown', 'cancelled');

CREATE TABLE action (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  at           INTEGER NOT NULL,
  by           TEXT    NOT NULL,
  verb         TEXT    NOT NULL,
  broker       TEXT    NOT NULL DEFAULT '',
  vhost        TEXT    NOT NULL DEFAULT '',
  queue        TEXT    NOT NULL DEFAULT '',
  operation_id INTEGER,
  message_id   INTEGER,
  count        INTEGER NOT NULL DEFAULT 0,
  reason       TEXT    NOT NULL DEFAULT '',
  detail       TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX action_message ON action (message_id, id) WHERE message_id IS NOT NULL;
CREATE INDEX action_operation ON action (operation_id, id) WHERE operation_id IS NOT NULL;
