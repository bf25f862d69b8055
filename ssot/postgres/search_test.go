package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
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
	log.near = 25
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
	run(t, c, "DELETE FROM search_entry")
	if found, err := log.Read(t.Context(), ssottest.Search(t, "needle5")); err != nil || len(found) != 0 {
		t.Errorf("%d entries were found without the index, %v", len(found), err)
	}
	if err := log.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	indexedTo(t, open(t, Options{URL: url, Index: true}))
	ssottest.CheckSearch(t, log, searches[:6]...)
}

// An entry with more terms than are kept is looked at each time, and one that holds what no list can is found.
func TestSearch_longEntry(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	log := open(t, Options{URL: url, Index: true})
	var b strings.Builder
	for i := range maxLexemes + 10 {
		fmt.Fprintf(&b, "w%d ", i)
	}
	put(t, log, ssottest.Note("long", ssottest.Task(1), b.String()), ssottest.Raw("bytes", "", []byte("a\x00b \xff' word"+strings.Repeat("x", 3000))))
	indexedTo(t, log)
	ssottest.CheckSearch(t, log, "w7", "w50007", "nothing", "word", "a b")
	run(t, conn(t, url), "SELECT 1 / count(*) FROM search_entry WHERE terms IS NULL")
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
	run(t, c, "REVOKE ALL ON search_entry, search_reach FROM "+role)
	log := open(t, Options{URL: s.As(role, schema), Index: true})
	ssottest.CheckSearch(t, log, "needle", "hay")
	if err := log.Rebuild(t.Context()); err != nil {
		t.Error(err)
	}
}
