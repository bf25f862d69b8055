-- +goose Up

-- The indexes of ids and of tasks become tables of their own, which are written for many entries together: an id belongs to any of as
-- many pages as there are tasks, and writing each page once for each entry was most of what an append wrote.
--
-- Both stay where they are: the tree of an index is that of a table WITHOUT ROWID with the same columns and the rowid behind them. To
-- make them anew would take minutes and as much space again in a long journal. The table of entries loses its UNIQUE with the index;
-- the writer looks ids up before it stores them.

-- The entries up to seq are in entry_id and entry_task; the few behind it are looked through.
CREATE TABLE indexed (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL
) STRICT;

INSERT INTO indexed SELECT 1, coalesce(max(seq), 0) FROM entry;

PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET type = 'table', name = 'entry_id', tbl_name = 'entry_id', sql = 'CREATE TABLE entry_id (
  id  TEXT    PRIMARY KEY,
  seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID' WHERE name = 'sqlite_autoindex_entry_1';

-- bucket is seq >> 12: appends about many tasks then change few pages.
UPDATE sqlite_schema SET type = 'table', name = 'entry_task', tbl_name = 'entry_task', sql = 'CREATE TABLE entry_task (
  bucket INTEGER,
  task   INTEGER,
  seq    INTEGER,
  PRIMARY KEY (bucket, task, seq)
) STRICT, WITHOUT ROWID' WHERE type = 'index' AND name = 'entry_task';

UPDATE sqlite_schema SET sql = 'CREATE TABLE entry (
  seq   INTEGER PRIMARY KEY,
  task  INTEGER NOT NULL, -- task_key.key, 0 for no task
  at    INTEGER NOT NULL, -- milliseconds since 1970, UTC
  id    TEXT    NOT NULL, -- unique, see entry_id
  kind  TEXT    NOT NULL,
  role  TEXT    NOT NULL,
  actor TEXT    NOT NULL,
  hash  BLOB    NOT NULL,
  body  BLOB    NOT NULL
) STRICT' WHERE type = 'table' AND name = 'entry';

PRAGMA writable_schema = RESET;
