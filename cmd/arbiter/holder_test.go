package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot/sqlite"
)

// While no coordinator answers, whatever looks at or needs the data directory says who has it, for what and since when, and what to do: a
// coordinator that is starting is neither a stranger nor none.
func TestHolder(t *testing.T) {
	self := fmt.Sprintf("process %d, since ", os.Getpid())
	for work, want := range map[string]struct{ status, doctor, refused, next string }{
		starting: {"coordinator  is starting: " + self, "is starting: " + self, "(the coordinator, which is starting)", "Wait until it answers: arbiter status"},
		ending:   {"coordinator  is ending: " + self, "is ending: " + self, "(the coordinator, which is ending)", "Wait until it is gone"},
		running:  {"coordinator  does not answer: " + self, "does not answer: " + self, "(the coordinator)", "arbiter down (it is process"},
		"arbiter demo": {
			"does not run; " + self, "(arbiter demo) works on the journal: wait until that one has ended", "(arbiter demo) on",
			fmt.Sprintf("Wait until it is done, or end it: kill %d.", os.Getpid()),
		},
		"": {"does not run; " + self, "works on the journal: wait until", "is held by process", "arbiter down (it is process"},
	} {
		t.Run(work, func(t *testing.T) {
			home := sandboxed(t)
			log, err := sqlite.Open(t.Context(), home, sqlite.Options{Work: work})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = log.Close() })
			if code, stdout, stderr := arbiter(t, "", "status"); code != 0 || !strings.Contains(stdout, want.status) {
				t.Errorf("status ended with %d, want %q\n%s%s", code, want.status, stdout, stderr)
			}
			if _, stdout, _ := arbiter(t, "", "status", "--json"); !strings.Contains(stdout, fmt.Sprintf(`"running":false,"holder":{"pid":%d,`, os.Getpid())) {
				t.Errorf("status --json says %s", stdout)
			}
			if _, stdout, _ := arbiter(t, "", "doctor"); !strings.Contains(stdout, want.doctor) || !strings.Contains(stdout, want.next) {
				t.Errorf("doctor does not say %q and %q:\n%s", want.doctor, want.next, stdout)
			}
			code, _, stderr := arbiter(t, "", "journal", "rebuild")
			if code != exitFailed || !strings.Contains(stderr, want.refused) || !strings.Contains(stderr, "next: "+want.next) && work != "" && work != running {
				t.Errorf("journal rebuild ended with %d, want %q and %q\n%s", code, want.refused, want.next, stderr)
			}
			code, _, stderr = arbiter(t, "", "down", "--timeout", "30ms")
			waits := work == starting || work == ending || work == running
			if code != exitFailed || strings.Contains(stderr, "has not ended within 30ms") != waits {
				t.Errorf("down waits: %v, and ended with %d\n%s", waits, code, stderr)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			if code, stdout, stderr := arbiter(t, "", "status"); code != 0 || !strings.Contains(stdout, "does not run; start it with arbiter up") {
				t.Errorf("status ended with %d\n%s%s", code, stdout, stderr)
			}
		})
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

// A coordinator that takes requests and answers none, as one that was stopped, keeps nobody from looking: what its journal says is read there.
func TestLook_silent(t *testing.T) {
	home := sandboxed(t)
	log, err := sqlite.Open(t.Context(), home, sqlite.Options{Work: running})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	l, err := server.Listen(home) // the system takes connections for it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	said := ""
	silent := &look{
		home: home, client: server.NewClient(home, sentinels), patience: 20 * time.Millisecond, complain: func(s string) { said += s },
		open: func(ctx context.Context) (journal, string, error) {
			log, err := sqlite.OpenReadOnly(ctx, home)
			return log, home, err
		},
	}
	for range 2 {
		page, err := silent.Query(t.Context(), amp.Query{Kind: amp.QueryBoard})
		if err != nil || page.Board == nil {
			t.Fatal(err)
		}
	}
	if err := silent.Close(); err != nil {
		t.Error(err)
	}
	if want := fmt.Sprintf("process %d on", os.Getpid()); !strings.Contains(said, want) || strings.Count(said, "has not answered within 20ms") != 1 {
		t.Errorf("it was said %q, want %q once", said, want)
	}
	_, err = silent.Query(t.Context(), amp.Query{Kind: amp.QueryChecklist})
	if e := explain(err); !strings.Contains(e.Next, fmt.Sprintf("kill -CONT %d", os.Getpid())) {
		t.Errorf("what only the coordinator knows: %+v", e)
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	elsewhere, err := server.NewRemote("http://"+mute.Addr().String(), "token", sentinels)
	if err != nil {
		t.Fatal(err)
	}
	far := &look{client: elsewhere, patience: 20 * time.Millisecond, complain: func(s string) { t.Error(s) }}
	if _, err := far.Query(t.Context(), amp.Query{Kind: amp.QueryBoard}); err == nil || !strings.Contains(err.Error(), "the coordinator at http://") {
		t.Errorf("one elsewhere that does not answer: %v", err)
	}
	if code, _, stderr := arbiter(t, "", "down", "--timeout", "50ms"); code != exitFailed || !strings.Contains(stderr, "has not ended within 50ms") ||
		!strings.Contains(stderr, fmt.Sprintf("kill -9 %d", os.Getpid())) {
		t.Errorf("down ended with %d\n%s", code, stderr)
	}
}
