-- +goose Up

-- The journal: append-only. Texts that may hold any character are bytes, since a text of the database cannot hold a zero byte.
-- prev_hash is the hash of the row before.
CREATE TABLE entry (
  seq   BIGINT PRIMARY KEY,
  task  BIGINT NOT NULL, -- task_key.key, 0 for no task
  at    BIGINT NOT NULL, -- milliseconds since 1970, UTC
  id    BYTEA  NOT NULL CONSTRAINT entry_id UNIQUE,
  kind  TEXT   NOT NULL,
  role  BYTEA  NOT NULL,
  actor BYTEA  NOT NULL,
  hash  BYTEA  NOT NULL,
  body  BYTEA  NOT NULL
);

CREATE INDEX entry_task ON entry (task, seq);

-- The key of a task is the seq of the first entry that names it. It belongs to the journal: headers are hashed with task_id.
CREATE TABLE task_key (
  key     BIGINT PRIMARY KEY,
  task_id BYTEA  NOT NULL CONSTRAINT task_key_id UNIQUE
);

-- +goose StatementBegin
CREATE FUNCTION never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'entries are never changed or removed' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER entry_never_changes BEFORE UPDATE OR DELETE ON entry FOR EACH ROW EXECUTE FUNCTION never_changes();
CREATE TRIGGER entry_never_goes BEFORE TRUNCATE ON entry FOR EACH STATEMENT EXECUTE FUNCTION never_changes();
CREATE TRIGGER task_key_never_changes BEFORE UPDATE OR DELETE ON task_key FOR EACH ROW EXECUTE FUNCTION never_changes();
CREATE TRIGGER task_key_never_goes BEFORE TRUNCATE ON task_key FOR EACH STATEMENT EXECUTE FUNCTION never_changes();

-- One row: where the journal ends, and the JSON of amp.Board there without the tasks, their order and the usage. everything is the
-- last entry that concerns every task; fold tells which fold made the projections.
CREATE TABLE head (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  seq        BIGINT NOT NULL,
  hash       BYTEA  NOT NULL,
  everything BIGINT NOT NULL,
  fold       BIGINT NOT NULL,
  state      BYTEA  NOT NULL
) WITH (fillfactor = 10);

INSERT INTO head (one, seq, hash, everything, fold, state) VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0, 0, '');

-- The projections: the fold of the journal, dropped and rebuilt byte for byte by a rebuild.

-- key is the seq of the first entry that made the task, epoch the highest that its entries tell of, state the JSON of amp.Task.
CREATE TABLE task (
  key      BIGINT PRIMARY KEY,
  task_id  BYTEA  NOT NULL CONSTRAINT task_id UNIQUE,
  status   TEXT   NOT NULL,
  last_seq BIGINT NOT NULL,
  epoch    BIGINT NOT NULL,
  state    BYTEA  NOT NULL
) WITH (fillfactor = 50);

-- One row: amp.Board.Usage as JSON, since the entry seq. It changes only when a turn ends.
CREATE TABLE usage (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  seq   BIGINT NOT NULL,
  state BYTEA  NOT NULL
);

INSERT INTO usage (one, seq, state) VALUES (1, 0, '{}');

-- Who may act on a task, until when by the clock of the database. No part of the journal.
CREATE TABLE lease (
  task_id BYTEA       PRIMARY KEY,
  owner   TEXT        NOT NULL,
  epoch   BIGINT      NOT NULL,
  until   TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);

-- One row: the last epoch that was given out, of any task. It stands apart so that it outlasts the leases.
CREATE TABLE lease_epoch (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  last BIGINT NOT NULL
);

INSERT INTO lease_epoch (one, last) VALUES (1, 0);
