package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"arbiter/amp"
	"arbiter/ssot/search"
	"arbiter/ssot/ssottest"
)

// indexedTo waits until an index of this process holds the journal.
func indexedTo(t testing.TB, log *Log) {
	t.Helper()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); log.Indexed() < head.Seq; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the index stays at entry %d of %d", log.Indexed(), head.Seq)
		}
	}
}

// What the index finds is what Match says, however much of the journal it holds, and also of facts that are hard to find.
func TestSearch_index(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	log := open(t, Options{URL: url})
	hard := ssottest.Hard()
	for i, r := range hard {
		r.At = ssottest.Start.Add(time.Duration(i) * 7 * time.Second)
		put(t, log, r)
	}
	many := make([]amp.Record, 20)
	fill := func(round int) {
		for i := range many {
			text := fmt.Sprintf("hay of round %d", round)
			if i%13 == 5 {
				text += fmt.Sprintf(" and needle%d\\'s \"point\"", i)
			}
			many[i] = ssottest.Note(fmt.Sprint("n", round, "-", i), ssottest.Task(1+i%5), text)
		}
		put(t, log, many...)
	}
	searches := []string{
		"needle", "needle5", "needle31's", `"point"`, `"s point"`, "hay needle", "hay -needle", "round", "straw", "task:T-2026-003 needle",
		"kind:message", "kind:command hay", "seq:30..90 needle", "seq:..9", "-kind:command", "from:nobody'); DROP TABLE entry; --", `back\\slash`,
	}
	searches = append(searches, ssottest.Searches...)
	for round := range 5 { // more than the near part
		fill(round)
	}
	ssottest.CheckSearch(t, log, searches[:6]...) // without an index
	indexing := open(t, Options{URL: url, Index: true})
	indexedTo(t, indexing)
	fill(5) // behind the index for a moment
	ssottest.CheckSearch(t, log, searches...)
	indexedTo(t, indexing)
	ssottest.CheckSearch(t, log, searches[:12]...)

	// The index is used: without its rows nothing is found where it should be.
	c := conn(t, url)
	run(t, c, "DELETE FROM search_sheet")
	if found, err := log.Read(t.Context(), ssottest.Search(t, "needle5")); err != nil || len(found) != 0 {
		t.Errorf("%d entries were found without the index, %v", len(found), err)
	}
	if err := log.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	indexedTo(t, open(t, Options{URL: url, Index: true}))
	ssottest.CheckSearch(t, log, searches[:6]...)
}

// An entry with more words than others, and one that holds what no text of the database can, are found.
func TestSearch_longEntry(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	log := open(t, Options{URL: url, Index: true})
	var b strings.Builder
	for i := range 50_010 {
		fmt.Fprintf(&b, "w%d ", i)
	}
	put(t, log, ssottest.Note("long", ssottest.Task(1), b.String()), ssottest.Raw("bytes", "", []byte("a\x00b \xff' word"+strings.Repeat("x", 3000))))
	indexedTo(t, log)
	ssottest.CheckSearch(t, log, "w7", "w50007", "nothing", "word", "a b")
}

// An index with rows that nobody wrote there spoils no search, and is made anew.
func TestSearch_damage(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"sheet": "UPDATE search_sheet SET data = set_byte(data, length(data) - 1, get_byte(data, length(data) - 1) # 1)",
		"empty": "UPDATE search_sheet SET data = ''",
		"run":   "UPDATE search_chunk SET last = last + 1000000",
		"times": "UPDATE search_chunk SET times = ''",
		"lost":  "DELETE FROM search_chunk",
		"more":  "INSERT INTO search_chunk (first, last, early, late, times) SELECT last + 1, last + 1, early, late, times FROM search_chunk",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t)
			url := s.URL(s.Schema())
			log := open(t, Options{URL: url})
			for i := range 50 {
				put(t, log, ssottest.Note(fmt.Sprint("n", i), ssottest.Task(1), fmt.Sprint("hay needle", i)))
			}
			first := open(t, Options{URL: url, Index: true})
			indexedTo(t, first)
			closeLog(t, first)
			c := conn(t, url)
			run(t, c, spoil)
			searches := []string{"hay", "needle7", "hay -needle7", "nothing", "hay since:" + ssottest.Start.Add(time.Second).Format(time.RFC3339)}
			ssottest.CheckSearch(t, log, searches...)
			put(t, log, ssottest.Note("later", ssottest.Task(1), "hay again"))
			indexedTo(t, open(t, Options{URL: url, Index: true}))
			ssottest.CheckSearch(t, log, searches...)
			// It is the whole journal's once more, and without fault.
			run(t, c, "SELECT 1 / (min(first) = 1 AND max(last) = 51)::int FROM search_chunk")
			verifyIndex(t, c)
		})
	}
}

// verifyIndex reads every term of an index.
func verifyIndex(t *testing.T, c *pgx.Conn) {
	t.Helper()
	if err := pgx.BeginFunc(t.Context(), c, func(tx pgx.Tx) error {
		var last int64
		if err := tx.QueryRow(t.Context(), "SELECT seq FROM head").Scan(&last); err != nil {
			return err
		}
		f := ssottest.Search(t, "-nothing")
		s := search.Search{Journal: journal{tx}, Filter: &f, Last: uint64(last), Store: view{tx}, Reach: uint64(last), Count: true}
		found, err := s.Find(t.Context())
		if found.Count != int(last) || s.Wrong() {
			t.Errorf("%d of %d entries are in the index, wrong: %v", found.Count, last, s.Wrong())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// The index of before goes with its table, and who could write it can write the new one.
func TestSearch_upgrade(t *testing.T) {
	t.Parallel()
	s := server(t)
	schema := s.Schema()
	url := s.URL(schema)
	p, err := locate(Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	c := conn(t, url)
	role := "team_" + schema
	run(t, c, "CREATE SCHEMA IF NOT EXISTS "+schema, "CREATE ROLE "+role+" LOGIN")
	db := stdlib.OpenDB(*p.cfg)
	if err := errors.Join(upTo(t.Context(), db, 2), db.Close()); err != nil {
		t.Fatal(err)
	}
	run(t, c, "GRANT USAGE ON SCHEMA "+schema+" TO "+role, "GRANT SELECT ON ALL TABLES IN SCHEMA "+schema+" TO "+role,
		"GRANT INSERT ON entry, task_key TO "+role, "GRANT INSERT, UPDATE, DELETE ON task, lease, search_entry TO "+role,
		"GRANT UPDATE ON head, usage, lease_epoch, search_reach TO "+role,
		"INSERT INTO search_entry (seq, terms) VALUES (1, NULL)", "UPDATE search_reach SET version = 1, seq = 1")
	owner := open(t, Options{URL: url})
	for i := range 30 {
		put(t, owner, ssottest.Note(fmt.Sprint("n", i), ssottest.Task(1), fmt.Sprint("hay needle", i)))
	}
	ssottest.CheckSearch(t, owner, "hay", "needle7")
	log := open(t, Options{URL: s.As(role, schema), Index: true})
	indexedTo(t, log)
	ssottest.CheckSearch(t, log, "hay", "needle7")
	verifyIndex(t, c)
}

// Sheets are found by index, however many there are, also with a plan that was made when there were none.
func TestSearch_plan(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	open(t, Options{URL: url})
	c := conn(t, url)
	run(t, c, "SET plan_cache_mode = force_generic_plan", "PREPARE sheets AS "+findSheets)
	for _, fill := range []string{"", `INSERT INTO search_sheet (chunk, first, data)
		SELECT 1 + n % 50, n::text::bytea, repeat('x', 1000)::bytea FROM generate_series(1, 5000) n`} {
		if fill != "" {
			run(t, c, fill)
		}
		text := plan(t, c, `EXECUTE sheets (ARRAY[7, 9], '5', '6')`)
		if strings.Count(text, "search_sheet_pkey") != 2 || strings.Contains(text, "Seq Scan") {
			t.Errorf("the plan is\n%s", text)
		}
	}
}

// A role that may only append to the journal as of before there was an index goes on without.
func TestSearch_rights(t *testing.T) {
	t.Parallel()
	s := server(t)
	schema := s.Schema()
	owner := open(t, Options{URL: s.URL(schema)})
	put(t, owner, ssottest.Note("n", ssottest.Task(1), "a needle"))
	c := conn(t, s.URL(schema))
	role := "old_" + schema
	run(t, c, "CREATE ROLE "+role+" LOGIN")
	if err := owner.Grant(t.Context(), role, true); err != nil {
		t.Fatal(err)
	}
	run(t, c, "REVOKE ALL ON search_chunk, search_sheet, search_reach FROM "+role)
	log := open(t, Options{URL: s.As(role, schema), Index: true})
	ssottest.CheckSearch(t, log, "needle", "hay")
	if err := log.Rebuild(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
