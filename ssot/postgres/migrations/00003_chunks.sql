-- +goose Up

-- The index of searches: the terms of runs of entries, without the entries. It is made from the journal by a coordinator that has time for
-- it, and can be emptied at any moment. A chunk has the entries from first to last, with their earliest and latest time; its
-- sheets have the terms, each sheet from its first one on.
CREATE TABLE search_chunk (
  first BIGINT PRIMARY KEY,
  last  BIGINT NOT NULL,
  early BIGINT NOT NULL,
  late  BIGINT NOT NULL,
  times BYTEA  NOT NULL
);

CREATE TABLE search_sheet (
  chunk BIGINT NOT NULL,
  first BYTEA  NOT NULL,
  data  BYTEA  NOT NULL,
  PRIMARY KEY (chunk, first)
) WITH (autovacuum_vacuum_scale_factor = 0.05); -- the newest chunks are written again often

-- Whoever had rights to the index before has them.
-- +goose StatementBegin
DO $$
DECLARE
  g RECORD;
BEGIN
  FOR g IN
    SELECT DISTINCT privilege_type AS what, CASE grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(grantee) END AS who
    FROM information_schema.role_table_grants
    WHERE table_schema = current_schema() AND table_name = 'search_entry' AND grantee <> current_user
  LOOP
    EXECUTE format('GRANT %s ON search_chunk, search_sheet TO %s', g.what, g.who);
  END LOOP;
END $$;
-- +goose StatementEnd

DROP TABLE search_entry;

-- A version that no program before this one takes for its own.
UPDATE search_reach SET version = 2, seq = 0;
