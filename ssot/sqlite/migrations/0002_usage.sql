-- +goose Up

-- A projection of one row: amp.Board.Usage as JSON. It stands apart from the board's row, which every transaction writes,
-- because it is larger and changes only when a turn ends.
CREATE TABLE usage (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  state TEXT NOT NULL
) STRICT;
