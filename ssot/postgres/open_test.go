package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// shortDir is a temporary folder with a path that is short enough for a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// conn is a connection of its own to a journal's schema.
func conn(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	p, err := locate(Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ConnectConfig(t.Context(), p.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// run runs statements, each of which must pass.
func run(t testing.TB, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func put(t testing.TB, log ssot.Log, records ...amp.Record) {
	t.Helper()
	out, err := log.Append(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range out {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
	}
}

// TestOpen_together lets several coordinators begin one journal at the same time.
func TestOpen_together(t *testing.T) {
	t.Parallel()
	s := server(t)
	opts := Options{URL: s.URL(s.Schema())}
	logs := make([]*Log, 4)
	var wg sync.WaitGroup
	for i := range logs {
		wg.Go(func() {
			log, err := Open(t.Context(), opts)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := log.Append(t.Context(), []amp.Record{ssottest.Note(fmt.Sprint("n", i), ssottest.Task(1), "")}); err != nil {
				t.Error(err)
			}
			logs[i] = log
		})
	}
	wg.Wait()
	for _, log := range logs {
		if log != nil {
			whole(t, log)
			closeLog(t, log)
		}
	}
}

func TestOpen_versions(t *testing.T) {
	t.Parallel()
	s := server(t)
	opts := Options{URL: s.URL(s.Schema())}
	if _, err := OpenReadOnly(t.Context(), opts); !isNotThere(err) {
		t.Errorf("reading where there is no journal: %v", err)
	}
	log := open(t, opts)
	put(t, log, ssottest.Submit("s", ssottest.Task(1)))
	closeLog(t, log)
	c := conn(t, opts.URL)
	// The projections of another version are made anew.
	run(t, c, "UPDATE head SET fold = fold + 1, state = ''", "DELETE FROM task")
	ro, err := OpenReadOnly(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := ro.Board(t.Context()); err != nil || len(b.Tasks) != 1 {
		t.Errorf("the board of a reader, with projections of another version: %+v, %v", b, err)
	}
	if _, err := ro.Append(t.Context(), nil); !errors.Is(err, ssot.ErrReadOnly) {
		t.Errorf("a reader appended: %v", err)
	}
	closeLog(t, ro)
	log = open(t, opts)
	whole(t, log)
	// A running coordinator does not write over what another version made.
	run(t, c, "UPDATE head SET fold = fold + 1")
	_, err = log.Append(t.Context(), []amp.Record{ssottest.Note("n", ssottest.Task(1), "")})
	if !errors.Is(err, ssot.ErrFailed) || !errors.Is(err, errOtherFold) {
		t.Errorf("an append after another version folded: %v", err)
	}
	closeLog(t, log)
	run(t, c, "UPDATE goose_db_version SET version_id = 4711 WHERE id = (SELECT max(id) FROM goose_db_version)")
	for name, open := range map[string]func(context.Context, Options) (*Log, error){"Open": Open, "OpenReadOnly": OpenReadOnly} {
		_, err := open(t.Context(), opts)
		if x, ok := errors.AsType[*ssot.NewerError](err); !ok || x.Have != 4711 {
			t.Errorf("%s of a newer journal: %v", name, err)
		}
	}
}

func isNotThere(err error) bool {
	_, ok := errors.AsType[*NotThereError](err)
	return ok
}

func TestOpen_secrets(t *testing.T) {
	t.Parallel()
	s := server(t)
	const secret = "geheim4711"
	for name, opts := range map[string]Options{
		"role":      {URL: strings.Replace(s.As("nobody", "x"), "nobody@", "nobody:"+secret+"@", 1)},
		"given":     {URL: s.As("nobody", "x"), Password: secret},
		"address":   {URL: "postgres://ada:" + secret + "@/x?host=/nowhere"},
		"malformed": {URL: "postgres://ada:" + secret + "@host:port:5/x"},
		"option":    {URL: "postgres://ada@/x?host=/nowhere&password=" + secret},
		"schema":    {URL: "postgres://ada:" + secret + "@/x?host=/nowhere&search_path=" + `"Public"`},
	} {
		opts.Patience = time.Millisecond
		_, err := Open(t.Context(), opts)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "role" || name == "address" {
			if !errors.Is(err, ssot.ErrUnreachable) {
				t.Errorf("%s: %v; want unreachable", name, err)
			}
		}
	}
}

// TestPooler: a connection begins with what every pooler knows, and has its settings all the same; a pooler of transactions, in which the
// prepared statements of one client meet those of another, is told from a fault of the database.
func TestPooler(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	p, err := locate(Options{URL: url + "&lock_timeout=7000", Version: "1.2"})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.cfg.RuntimeParams) > 0 {
		t.Errorf("the connection begins with %v, want nothing", p.cfg.RuntimeParams)
	}
	c, err := pgx.ConnectConfig(t.Context(), p.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for name, want := range map[string]string{
		"search_path": p.schema, "application_name": "arbiter 1.2", "lock_timeout": "7s", "idle_in_transaction_session_timeout": "5s",
	} {
		var got string
		if err := c.QueryRow(t.Context(), "SHOW "+name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	run(t, c, "PREPARE one AS SELECT 1")
	for _, again := range []string{"PREPARE one AS SELECT 2", "EXECUTE none"} {
		_, err := c.Exec(t.Context(), again)
		if _, is := errors.AsType[*PoolerError](p.fault(err)); !is {
			t.Errorf("%s: %v, want a PoolerError", again, p.fault(err))
		}
	}
}

// TestRights holds each role to the least that it needs.
func TestRights(t *testing.T) {
	t.Parallel()
	s := server(t)
	schema := s.Schema()
	writer, reader := "writer_"+schema, "reader_"+schema
	log := open(t, Options{URL: s.URL(schema)})
	put(t, log, ssottest.Submit("s", ssottest.Task(1)))
	owner := conn(t, s.URL(schema))
	run(t, owner, "CREATE ROLE "+writer+" LOGIN", "CREATE ROLE "+reader+" LOGIN")
	if _, err := Open(t.Context(), Options{URL: s.As(writer, schema)}); err == nil {
		t.Error("a role without rights opened the journal")
	}
	if err := errors.Join(log.Grant(t.Context(), writer, true), log.Grant(t.Context(), reader, false)); err != nil {
		t.Fatal(err)
	}
	if err := log.Grant(t.Context(), "no such role", false); err == nil {
		t.Error("a role that is not there was given rights")
	}

	w := open(t, Options{URL: s.As(writer, schema)})
	put(t, w, ssottest.Note("n", ssottest.Task(1), ""), ssottest.Submit("s2", ssottest.Task(2)), ssottest.Turn("t", ssottest.Task(1), "run", amp.TurnStarted),
		ssottest.Turn("t2", ssottest.Task(1), "run", amp.TurnEnded))
	held, err := w.Take(t.Context(), "ada", time.Hour, 5, []amp.TaskID{ssottest.Task(1), ssottest.Task(2)})
	if err != nil || len(held) != 2 {
		t.Errorf("the writer took %v, %v", held, err)
	}
	if _, err := w.AppendJudged(t.Context(), ssot.Judged{Seq: 5, Epochs: map[amp.TaskID]uint64{ssottest.Task(1): held[0].Epoch}},
		[]amp.Record{ssottest.Note("n2", ssottest.Task(1), "")}); err != nil {
		t.Errorf("the writer under a lease: %v", err)
	}
	if err := errors.Join(w.Release(t.Context(), held), w.Rebuild(t.Context(), nil)); err != nil {
		t.Error(err)
	}
	if err := w.Grant(t.Context(), reader, true); !isRights(err) {
		t.Errorf("the writer gives rights: %v", err)
	}
	whole(t, w)

	if _, err := Open(t.Context(), Options{URL: s.As(reader, schema)}); !isRights(err) {
		t.Errorf("the reader opened the journal for writing: %v", err)
	}
	r, err := OpenReadOnly(t.Context(), Options{URL: s.As(reader, schema)})
	if err != nil {
		t.Fatal(err)
	}
	whole(t, r)
	if err := r.Grown(t.Context(), 5); err != nil {
		t.Errorf("the reader follows: %v", err)
	}
	closeLog(t, r)

	for role, refused := range map[string][]string{
		"owner": {
			"UPDATE entry SET actor = 'x'", "DELETE FROM entry", "TRUNCATE entry", "TRUNCATE entry CASCADE", "UPDATE task_key SET key = 9", "DELETE FROM task_key",
			"TRUNCATE task_key",
		},
		writer: {
			"UPDATE entry SET actor = 'x'", "DELETE FROM entry", "TRUNCATE entry", "DELETE FROM task_key", "DELETE FROM head", "DROP TABLE entry",
			"ALTER TABLE entry DISABLE TRIGGER ALL", "DROP TRIGGER entry_never_changes ON entry", "DELETE FROM lease_epoch",
		},
		reader: {
			"UPDATE entry SET actor = 'x'", "DELETE FROM entry", "INSERT INTO entry SELECT * FROM entry", "UPDATE head SET seq = 0", "DELETE FROM task",
			"UPDATE lease SET owner = 'eve'", "INSERT INTO lease VALUES ('x', 'eve', 1, now())", "SELECT * FROM head FOR UPDATE",
		},
	} {
		c := conn(t, s.As(role, schema))
		for _, statement := range refused {
			if _, err := c.Exec(t.Context(), statement); err == nil {
				t.Errorf("%s may %s", role, statement)
			}
		}
	}
	whole(t, log)
}

func isRights(err error) bool {
	_, ok := errors.AsType[*RightsError](err)
	return ok
}

// TestVerify changes what is stored behind the back of the program: verify names the entry, or the table.
func TestVerify(t *testing.T) {
	t.Parallel()
	s := server(t)
	for name, tc := range map[string]struct {
		change []string
		damage uint64
		stale  string
	}{
		"body":       {change: []string{"UPDATE entry SET body = body || ' ' WHERE seq = 3"}, damage: 3},
		"actor":      {change: []string{"UPDATE entry SET actor = 'eve' WHERE seq = 2"}, damage: 2},
		"time":       {change: []string{"UPDATE entry SET at = at + 1 WHERE seq = 4"}, damage: 4},
		"hash":       {change: []string{"UPDATE entry SET hash = decode(repeat('ab', 32), 'hex') WHERE seq = 2"}, damage: 2},
		"swapped":    {change: []string{"UPDATE entry SET seq = 99 WHERE seq = 2", "UPDATE entry SET seq = 2 WHERE seq = 3", "UPDATE entry SET seq = 3 WHERE seq = 99"}, damage: 2},
		"removed":    {change: []string{"DELETE FROM entry WHERE seq = 2"}, damage: 2},
		"cut off":    {change: []string{"DELETE FROM entry WHERE seq = 5"}, damage: 5},
		"added":      {change: []string{"INSERT INTO entry SELECT 6, task, at, 'new', kind, role, actor, hash, body FROM entry WHERE seq = 5"}, damage: 6},
		"other task": {change: []string{"UPDATE entry SET task = 3 WHERE seq = 2"}, damage: 2},
		"key":        {change: []string{"UPDATE task_key SET task_id = 'T-2026-009' WHERE key = 1"}, damage: 1},
		"task":       {change: []string{"UPDATE task SET status = 'delivered' WHERE key = 1"}, stale: "T-2026-001 is not the fold"},
		"task gone":  {change: []string{"DELETE FROM task WHERE key = 1"}, stale: "T-2026-001 is not projected"},
		"task more":  {change: []string{"INSERT INTO task SELECT 9, 'T-2026-099', status, last_seq, epoch, state FROM task WHERE key = 1"}, stale: "in no entry"},
		"epoch":      {change: []string{"UPDATE task SET epoch = 0 WHERE key = 1"}, stale: "T-2026-001 is not the fold"},
		"board":      {change: []string{"UPDATE head SET state = state || ' '"}, stale: "the board is not"},
		"usage":      {change: []string{"UPDATE usage SET state = '[]'"}, stale: "the usage"},
		"everything": {change: []string{"UPDATE head SET everything = 2"}, stale: "concerns every task"},
		"head":       {change: []string{"UPDATE head SET seq = 4"}, damage: 5},
		"head hash":  {change: []string{"UPDATE head SET hash = decode(repeat('00', 32), 'hex')"}, damage: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := Options{URL: s.URL(s.Schema())}
			log := open(t, opts)
			put(t, log, ssottest.Submit("s", ssottest.Task(1)), ssottest.Note("n", ssottest.Task(1), "x"), ssottest.Submit("s2", ssottest.Task(2)),
				ssottest.Note("n2", ssottest.Task(2), "y"), ssottest.Note("n3", ssottest.Task(1), "z"))
			whole(t, log)
			c := conn(t, opts.URL)
			run(t, c, "ALTER TABLE entry DISABLE TRIGGER ALL", "ALTER TABLE task_key DISABLE TRIGGER ALL")
			run(t, c, tc.change...)
			r, err := log.Verify(t.Context(), nil)
			switch {
			case err != nil:
				t.Fatal(err)
			case tc.damage != 0 && (len(r.Damage) == 0 || r.Damage[0].Seq != tc.damage):
				t.Errorf("%+v; want damage at entry %d", r, tc.damage)
			case tc.stale != "" && (len(r.Damage) > 0 || len(r.Projections) == 0 || !strings.Contains(r.Projections[0].What, tc.stale)):
				t.Errorf("%+v; want a projection that %s", r, tc.stale)
			}
			if tc.stale == "" {
				return
			}
			last := ""
			if err := log.Rebuild(t.Context(), func(done, total uint64) { last = fmt.Sprintf("%d of %d", done, total) }); err != nil {
				t.Fatal(err)
			}
			if head, err := log.Head(t.Context()); err != nil || last != fmt.Sprintf("%d of %[1]d", head.Seq) {
				t.Errorf("folded at last: %s; head %d, %v", last, head.Seq, err)
			}
			whole(t, log)
			put(t, log, ssottest.Note("n4", ssottest.Task(2), ""))
			whole(t, log)
		})
	}
}

// TestDamaged: a journal that went back, as that of a standby does that was behind, is not written on.
func TestDamaged(t *testing.T) {
	t.Parallel()
	s := server(t)
	opts := Options{URL: s.URL(s.Schema())}
	log := open(t, opts)
	put(t, log, ssottest.Submit("s", ssottest.Task(1)), ssottest.Note("n", ssottest.Task(1), ""))
	c := conn(t, opts.URL)
	run(t, c, "ALTER TABLE entry DISABLE TRIGGER ALL", "DELETE FROM entry WHERE seq = 2",
		"UPDATE head SET seq = 1, hash = (SELECT hash FROM entry WHERE seq = 1)")
	_, err := log.Append(t.Context(), []amp.Record{ssottest.Note("n2", ssottest.Task(1), "")})
	if x, ok := errors.AsType[*ssot.DamagedError](err); !ok || x.Seq != 2 || !errors.Is(err, ssot.ErrFailed) {
		t.Errorf("an append on a journal that went back: %v", err)
	}
	run(t, c, "UPDATE head SET seq = 5")
	if _, err := Open(t.Context(), opts); !isDamaged(err) {
		t.Errorf("a journal without its end was opened: %v", err)
	}
	run(t, c, "UPDATE head SET seq = 1", "UPDATE entry SET body = 'x' WHERE seq = 1")
	if _, err := Open(t.Context(), opts); !isDamaged(err) {
		t.Errorf("a journal with another body was opened: %v", err)
	}
}

func isDamaged(err error) bool {
	_, ok := errors.AsType[*ssot.DamagedError](err)
	return ok
}

// TestUnreachable: while the database is away, an append says so when its caller has waited long enough.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := server(t)
	schema := s.Schema()
	direct := open(t, Options{URL: s.URL(schema)})
	p := startProxy(t, s.Socket())
	log := open(t, Options{URL: fmt.Sprintf("postgres://owner@/postgres?host=%s&search_path=%s", p.dir, schema), Patience: time.Nanosecond})
	var busy, unknown int
	for i := range 40 {
		_, err := log.Append(t.Context(), []amp.Record{ssottest.Note(fmt.Sprint(i), ssottest.Task(1), "")})
		switch {
		case err == nil:
		case errors.Is(err, ssot.ErrBusy):
			busy++
		case errors.Is(err, ssot.ErrUnreachable):
			unknown++
		default:
			t.Errorf("append %d: %v", i, err)
		}
	}
	if unknown == 0 {
		t.Errorf("no append was told that its fate is unknown; %d were busy", busy)
	}
	whole(t, direct)
}
