package main

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// wire carries connections to the address that a file holds at that moment, and puts its own address into a variable: wire VAR FILE. What
// listens behind it may come back elsewhere.
func wire(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wire VAR FILE")
	}
	file := ts.MkAbs(args[1])
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go carry(c, file)
		}
	}()
}

func carry(c net.Conn, file string) {
	defer c.Close()
	to, err := os.ReadFile(file)
	if err != nil {
		return
	}
	d, err := net.Dial("tcp", strings.TrimSpace(string(to)))
	if err != nil {
		return
	}
	go func() { _, _ = io.Copy(d, c); _ = d.Close() }()
	_, _ = io.Copy(c, d)
}

// The walk of docs/worker.md is what happens.
func TestDocs_worker(t *testing.T) {
	t.Parallel()
	walk(t, "worker", "till repo\nagents '[agents.far]' 'kind = \"bus\"' 'agent_id = \"worker://box/coder\"' 'bearer = \"box\"' 'repository = true' "+
		"'roles = [\"executor\"]' 'vendor = \"far\"' '[bus]' 'listen = \"127.0.0.1:0\"' '[policy]' 'undo = \"0s\"'\n"+
		"exec arbiter --set roles.executor=far up\nexec arbiter bus agents --json\nfield ADDR listen\nenv BUS=ws://$ADDR\n")
}
