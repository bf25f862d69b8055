-- +goose Up

-- The index of searches: the terms of entries without the entries. It is made from the journal by a coordinator that has time for it,
-- and can be emptied at any moment. Without terms an entry has too many of them and is always looked at.
CREATE TABLE search_entry (
  seq   BIGINT PRIMARY KEY,
  terms TSVECTOR
);

CREATE INDEX search_entry_terms ON search_entry USING gin (terms) WITH (gin_pending_list_limit = 256); -- kB: each search reads that list
CREATE INDEX search_entry_long ON search_entry (seq) WHERE terms IS NULL;

-- One row: the last entry in the index, and which version of the terms it holds.
CREATE TABLE search_reach (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL,
  seq     BIGINT  NOT NULL
);

INSERT INTO search_reach (one, version, seq) VALUES (1, 0, 0);
