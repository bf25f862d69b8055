package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"arbiter/ssot/sqlite"
)

// Where another program works on the journal, such as an import or the demo, status names it: a coordinator could not start.
func TestStatus_held(t *testing.T) {
	home := sandboxed(t)
	log, err := sqlite.Open(t.Context(), home, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	code, stdout, stderr := arbiter(t, "", "status")
	if want := fmt.Sprintf("does not run; process %d works on the journal", os.Getpid()); code != 0 || !strings.Contains(stdout, want) {
		t.Errorf("status ended with %d\n%s%s", code, stdout, stderr)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := arbiter(t, "", "status"); code != 0 || !strings.Contains(stdout, "does not run; start it with arbiter up") {
		t.Errorf("status ended with %d\n%s%s", code, stdout, stderr)
	}
}

// An error of a file names that file, and not the one that is written in its place first.
func TestOutput_noFolder(t *testing.T) {
	home := sandboxed(t)
	if log, err := sqlite.Open(t.Context(), home, sqlite.Options{}); err != nil || log.Close() != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := arbiter(t, "", "journal", "export", "-o", "/nonexistent/x.jsonl")
	if code != 1 || !strings.Contains(stderr, "write /nonexistent/x.jsonl: no such file or directory") {
		t.Errorf("export ended with %d\n%s%s", code, stdout, stderr)
	}
}
