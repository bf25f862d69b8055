package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// A server ends a connection in its own language; whether what was sent is stored is not known then.
func TestFinal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err         pgconn.PgError
		final, lost bool
	}{
		"an answer":          {pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "23505"}, false, false},
		"idle for long":      {pgconn.PgError{Severity: "致命错误", SeverityUnlocalized: "FATAL", Code: "57P05"}, true, true},
		"a panic":            {pgconn.PgError{Severity: "PANIK", SeverityUnlocalized: "PANIC", Code: "58030"}, true, true},
		"an older server":    {pgconn.PgError{Severity: "FATAL", Code: "57P05"}, true, true},
		"too many are there": {pgconn.PgError{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "53300"}, true, true},
	} {
		if final, lost := final(&tc.err), lost(&tc.err); final != tc.final || lost != tc.lost {
			t.Errorf("%s: final %v, lost %v", name, final, lost)
		}
	}
}

// Whatever an operator sets for the role of the coordinators, what they write is whole, and a connection that was closed since nobody used it is
// opened again.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := server(t)
	for name, set := range map[string][]string{
		"serializable":    {"default_transaction_isolation = 'serializable'"},
		"repeatable read": {"default_transaction_isolation = 'repeatable read'", "default_transaction_deferrable = on"},
		"idle sessions":   {"idle_session_timeout = 200"},
		"idle in between": {"idle_in_transaction_session_timeout = 200"},
		"other output":    {"bytea_output = 'escape'", "DateStyle = 'German'", "IntervalStyle = 'sql_standard'", "TimeZone = 'Asia/Kathmandu'", "array_nulls = off"},
		"not synced":      {"synchronous_commit = off"},
		"short waits":     {"statement_timeout = '20s'", "lock_timeout = '1s'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := s.Schema()
			role := "set_" + schema
			owner := conn(t, s.URL(schema))
			open(t, Options{URL: s.URL(schema)})
			run(t, owner, "CREATE ROLE "+role+" LOGIN")
			for _, text := range set {
				run(t, owner, "ALTER ROLE "+role+" SET "+text)
			}
			first := open(t, Options{URL: s.URL(schema)})
			if err := first.Grant(t.Context(), role, true); err != nil {
				t.Fatal(err)
			}
			logs := []*Log{open(t, Options{URL: s.As(role, schema), Index: true}), open(t, Options{URL: s.As(role, schema), Index: true})}
			const n = 10
			write := func(round int) {
				var wg sync.WaitGroup
				for i, log := range logs {
					wg.Go(func() {
						for k := range n {
							id := fmt.Sprintf("%d-%d-%d", round, i, k)
							out, err := log.Append(t.Context(), []amp.Record{ssottest.Note(id, ssottest.Task(1+k%3), "a word of "+id)})
							if err != nil || out[0].Err != nil {
								t.Errorf("append %s: %v, %v", id, err, out)
								return
							}
							got, err := log.Take(t.Context(), fmt.Sprint("owner", i), time.Hour, 1, []amp.TaskID{ssottest.Task(1 + k%5)})
							if err == nil {
								err = log.Release(t.Context(), got)
							}
							if err != nil {
								t.Errorf("lease %s: %v", id, err)
							}
						}
					})
				}
				wg.Wait()
			}
			write(1)
			run(t, owner, "SELECT pg_sleep(0.5)") // nobody uses the others' connections meanwhile
			for _, log := range logs {
				found, err := log.Find(t.Context(), ssottest.Search(t, "word"))
				if err != nil || found.Count != 2*n {
					t.Errorf("%d found, %v, want %d", found.Count, err, 2*n)
				}
			}
			write(2)
			for _, log := range logs {
				if b, err := log.Board(t.Context()); err != nil || b.Head.Seq != 4*n {
					t.Errorf("the board: %v", err)
				}
				whole(t, log)
			}
			_, err := logs[0].AppendJudged(t.Context(), ssot.Judged{Seq: 1}, []amp.Record{ssottest.Note("stale", ssottest.Task(1), "")})
			if !errors.Is(err, ssot.ErrStale) {
				t.Errorf("a stale append: %v", err)
			}
		})
	}
}

// What an operator does not let a role have is said in the server's words, and never the password, however it is written.
func TestSettings_refused(t *testing.T) {
	t.Parallel()
	s := server(t)
	const secret = "g%h e:i/m@?&"
	for name, tc := range map[string]struct {
		with, want string
		is         error
	}{
		"no connections": {"CONNECTION LIMIT 0", "too many connections for role", ssot.ErrUnreachable},
		"no login":       {"NOLOGIN", "is not permitted to log in", ssot.ErrUnreachable},
		"no time":        {"CONNECTION LIMIT 50", "canceling statement due to statement timeout", ssot.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := s.Schema()
			role := "refused_" + schema
			owner := conn(t, s.URL(schema))
			log := open(t, Options{URL: s.URL(schema)})
			run(t, owner, "CREATE ROLE "+role+" LOGIN", "ALTER ROLE "+role+" "+tc.with)
			if err := log.Grant(t.Context(), role, true); err != nil {
				t.Fatal(err)
			}
			address := strings.Replace(s.As(role, schema), role+"@", role+":"+url.QueryEscape(secret)+"@", 1)
			if errors.Is(tc.is, ssot.ErrBusy) {
				run(t, owner, "ALTER ROLE "+role+" SET statement_timeout = 500", "BEGIN", "LOCK TABLE head IN ACCESS EXCLUSIVE MODE")
				defer run(t, owner, "ROLLBACK")
			}
			refused, err := Open(t.Context(), Options{URL: address, Patience: time.Nanosecond})
			if err == nil {
				_, err = refused.Append(t.Context(), []amp.Record{ssottest.Note("n", ssottest.Task(1), "")})
				closeLog(t, refused)
			}
			if err == nil || !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("it says %v; want %q", err, tc.want)
			}
			for _, text := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
				if strings.Contains(err.Error(), text) {
					t.Errorf("it says the password: %v", err)
				}
			}
		})
	}
}
