package sqlite

import "database/sql"

// rowsAtOnce is how many rows one statement inserts: each call of a statement costs about as much as a row.
const rowsAtOnce = 16

// inserts are the statements that insert one row and rowsAtOnce of them.
type inserts struct{ one, many *sql.Stmt }

// insertRows inserts rows, whose values add appends.
func insertRows[R any](s *inserts, rows []R, add func(args []any, r R) []any) error {
	var args []any
	for len(rows) > 0 {
		n, stmt := 1, s.one
		if len(rows) >= rowsAtOnce {
			n, stmt = rowsAtOnce, s.many
		}
		args = args[:0]
		for _, r := range rows[:n] {
			args = add(args, r)
		}
		if err := step(stmt, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}
