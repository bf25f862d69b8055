-- +goose Up

-- In which buckets a task has entries, for 64 buckets together: bit n of buckets is set when entry_task has rows of the task in bucket
-- 64 * span + n. A page of a task then reads the buckets that have something, and not each one of a long journal.
CREATE TABLE task_span (
  span    INTEGER,
  task    INTEGER,
  buckets INTEGER NOT NULL,
  PRIMARY KEY (span, task)
) STRICT, WITHOUT ROWID;

INSERT INTO task_span SELECT bucket >> 6, task, sum(DISTINCT 1 << (bucket & 63)) FROM entry_task GROUP BY 1, 2;
