package postgres

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"arbiter/ssot/ssottest"
)

// plan is how the database would carry out a statement.
func plan(t *testing.T, c *pgx.Conn, text string) string {
	t.Helper()
	rows, err := c.Query(t.Context(), "EXPLAIN "+text)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// The leases of a batch are found by index, however many others there are, also with a plan that was made when there were none: a look at all
// of them took as long as the rest of an append.
func TestWantLeases_plan(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	open(t, Options{URL: url})
	c := conn(t, url)
	run(t, c, "SET plan_cache_mode = force_generic_plan", "PREPARE want AS "+wantLeases)
	for _, fill := range []string{"", `INSERT INTO lease (task_id, owner, epoch, until)
		SELECT ('T-' || n)::bytea, 'me', n, now() + interval '1 hour' FROM generate_series(1, 5000) n`} {
		if fill != "" {
			run(t, c, fill)
		}
		text := plan(t, c, `EXECUTE want (ARRAY['T-7'::bytea, 'T-9'::bytea], ARRAY[7, 9], 2)`)
		if !strings.Contains(text, "lease_pkey") || strings.Contains(text, "Seq Scan") {
			t.Errorf("the plan is\n%s", text)
		}
	}
	run(t, c, `EXECUTE want (ARRAY['T-7'::bytea, 'T-9'::bytea], ARRAY[7, 9], 2)`)
	for _, lost := range []string{`ARRAY['T-7'::bytea, 'T-9'::bytea], ARRAY[7, 8], 2`, `ARRAY['T-0'::bytea], ARRAY[0], 1`} {
		if _, err := c.Exec(t.Context(), "EXECUTE want ("+lost+")"); code(err) != divisionByZero {
			t.Errorf("%s: %v", lost, err)
		}
	}
}

// Bodies are compressed in the quick way where the server has it.
func TestQuickCompression(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	log := open(t, Options{URL: url})
	c := conn(t, url)
	var ways []string
	if err := c.QueryRow(t.Context(), "SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'").Scan(&ways); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(ways, "lz4") {
		t.Skip("NOT RUN: the server was built without lz4")
	}
	put(t, log, ssottest.Raw("one", ssottest.Task(1), []byte(strings.Repeat("what was said about it, ", 400))))
	var way string
	if err := c.QueryRow(t.Context(), "SELECT pg_column_compression(body) FROM entry").Scan(&way); err != nil || way != "lz4" {
		t.Errorf("a body is compressed with %q, %v", way, err)
	}
}
