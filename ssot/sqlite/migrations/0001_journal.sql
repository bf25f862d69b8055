-- +goose Up

-- The journal: append-only. body stands last, so that a scan of headers does not read it. prev_hash is the hash of the row before.
CREATE TABLE entry (
  seq   INTEGER PRIMARY KEY,
  task  INTEGER NOT NULL, -- task_key.key, 0 for no task
  at    INTEGER NOT NULL, -- milliseconds since 1970, UTC
  id    TEXT    NOT NULL UNIQUE,
  kind  TEXT    NOT NULL,
  role  TEXT    NOT NULL,
  actor TEXT    NOT NULL,
  hash  BLOB    NOT NULL,
  body  BLOB    NOT NULL
) STRICT;

-- The entries of a task, in buckets of 4,096 entries: appends of many tasks then change few pages of the index, which makes up
-- a quarter of the rate of appends. The rowid, seq, is the last column of every index.
CREATE INDEX entry_task ON entry (seq >> 12, task);

-- The key of a task is the seq of the first entry that names it. It belongs to the journal: headers are hashed with task_id.
CREATE TABLE task_key (
  key     INTEGER PRIMARY KEY,
  task_id TEXT    NOT NULL UNIQUE
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER entry_never_changes BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER entry_never_goes BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER task_key_never_changes BEFORE UPDATE ON task_key
BEGIN SELECT RAISE(ABORT, 'task keys are never changed'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER task_key_never_goes BEFORE DELETE ON task_key
BEGIN SELECT RAISE(ABORT, 'task keys are never removed'); END;
-- +goose StatementEnd

-- The projections: the fold of the journal, dropped and rebuilt byte for byte by a rebuild.

-- key is the seq of the first entry that made the task, state the JSON of amp.Task.
CREATE TABLE task (
  key      INTEGER PRIMARY KEY,
  task_id  TEXT    NOT NULL UNIQUE,
  status   TEXT    NOT NULL,
  title    TEXT    NOT NULL,
  last_seq INTEGER NOT NULL,
  state    TEXT    NOT NULL
) STRICT;

-- One row: the JSON of amp.Board at seq, without the tasks and their order; fold tells which fold wrote it.
CREATE TABLE board (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  seq   INTEGER NOT NULL,
  fold  INTEGER NOT NULL,
  state TEXT    NOT NULL
) STRICT;

-- The messages whose ACK is due, in the order of the task's state; due is milliseconds since 1970, UTC.
CREATE TABLE open_ack (
  task   INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  due    INTEGER NOT NULL,
  msg_id TEXT    NOT NULL,
  type   TEXT    NOT NULL,
  waits  TEXT    NOT NULL, -- the role whose ACK is due
  PRIMARY KEY (task, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX open_ack_due ON open_ack (due);
