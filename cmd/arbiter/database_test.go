package main

import (
	"context"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/ssot/postgres/pgtest"
)

// pg is the database server of the scripts; it starts with the first one that asks for it.
var pg struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

// database starts the server, or says why there is none.
func database() error {
	pg.once.Do(func() {
		if pg.server, pg.err = pgtest.Start(context.Background(), false); pg.err != nil {
			os.Stderr.WriteString("SKIPPED, the scripts with a database: " + pg.err.Error() + "\n")
		}
	})
	return pg.err
}

func closeDatabase() {
	if pg.server != nil {
		if err := pg.server.Close(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
		}
	}
}

// schema sets a variable to the address of a new schema: "schema NAME". With a role as second argument it is a schema of the variable
// SCHEMA for that role.
func schema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: schema NAME [ROLE]")
	}
	if len(args) == 2 {
		ts.Setenv(args[0], pg.server.As(args[1], ts.Getenv("SCHEMA")))
		return
	}
	ts.Setenv("SCHEMA", pg.server.Schema())
	ts.Setenv("SOCKETS", pg.server.Dir())
	ts.Setenv(args[0], pg.server.URL(ts.Getenv("SCHEMA")))
}
