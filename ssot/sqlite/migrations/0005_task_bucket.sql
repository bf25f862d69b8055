-- +goose Up

-- The entries of a task become one row for each bucket of 4,096 entries, in place of one for each entry: an append then changes a few rows
-- that many entries share. bucket is seq >> 12; seqs are the last 12 bits of each seq, ascending, in two bytes each, the higher one first.
CREATE TABLE task_bucket (
  bucket INTEGER,
  task   INTEGER,
  seqs   BLOB NOT NULL,
  PRIMARY KEY (bucket, task)
) STRICT, WITHOUT ROWID;

INSERT INTO task_bucket SELECT bucket, task, unhex(group_concat(printf('%04x', seq & 4095), '' ORDER BY seq)) FROM entry_task GROUP BY bucket, task;

DROP TABLE entry_task;
