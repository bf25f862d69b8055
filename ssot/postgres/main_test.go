package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"arbiter/ssot"
	"arbiter/ssot/postgres/pgtest"
)

// childEnv makes the test binary play another process: the value is the name of a role below, the arguments are its own.
const childEnv = "ARBITER_POSTGRES_CHILD"

var roles = map[string]func(args []string) error{}

// shared is the server of all tests that do not stop one; it starts with the first of them.
var shared struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(childEnv)]; ok {
		if err := role(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// skipAbsent skips a test where there is no server to start.
func skipAbsent(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, pgtest.ErrAbsent) {
		t.Skip("SKIPPED: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// server is the one that tests share.
func server(t testing.TB) *pgtest.Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = pgtest.Start(context.Background(), false) })
	skipAbsent(t, shared.err)
	return shared.server
}

// syncing is a server of the test's own that syncs as one in use does.
func syncing(t testing.TB) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start(t.Context(), true)
	skipAbsent(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// open opens a journal and closes it when the test ends.
func open(t testing.TB, opts Options) *Log {
	t.Helper()
	if opts.Patience == 0 {
		opts.Patience = 10 * time.Minute
	}
	log, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeLog(t, log) })
	return log
}

func closeLog(t testing.TB, log *Log) {
	t.Helper()
	if err := log.Close(); err != nil && !errors.Is(err, ssot.ErrClosed) {
		t.Error(err)
	}
}
