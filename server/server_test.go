package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"arbiter/amp"

	"github.com/google/go-cmp/cmp"
)

var errFull = errors.New("no space is left for the journal")

// serve runs a server for f on a real socket until the test ends.
func serve(t *testing.T, cfg Config) *Client {
	t.Helper()
	home := t.TempDir()
	serveAt(t, home, cfg)
	return NewClient(home, cfg.Sentinels)
}

func serveAt(t *testing.T, home string, cfg Config) (stop func()) {
	t.Helper()
	l, err := Listen(home)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error)
	go func() { done <- New(cfg).Serve(ctx, l) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func TestSubmit_actorIsWhoTheKernelSays_A09(t *testing.T) {
	t.Parallel()
	want := chain(1)[0]
	var got amp.Command
	c := serve(t, Config{Coordinator: &fake{submit: func(cmd amp.Command) (amp.Entry, error) { got = cmd; return want, nil }}})
	cmd := amp.Command{
		ID: "c1", Command: amp.Approve, By: "root-of-all", TaskID: "T-2026-001",
		Expects: &amp.Expects{Status: amp.AwaitingApproval, Revision: 3, Hash: "aabbccdd"}, Note: "ü\n",
	}
	e, err := c.Submit(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	cmd.By = me.Username
	if diff := cmp.Diff(cmd, got); diff != "" {
		t.Errorf("command at the coordinator (-want +got):\n%s", diff)
	}
}

func TestErrors_areTheSameOnBothSides(t *testing.T) {
	t.Parallel()
	problems := []amp.Problem{{Rule: "AMP-020", Field: "task_id", Message: "is no task id"}}
	for name, want := range map[string]error{
		"refused":    &amp.RefusedError{Seq: 7, What: "approve", Problems: problems, Next: "look again"},
		"invalid":    &amp.InvalidError{Problems: problems},
		"transition": &amp.TransitionError{TaskID: "T-2026-001", From: amp.Held, Step: "approve", Why: "it is held"},
		"guard":      &amp.GuardError{Type: amp.BranchViolation, Repo: "/r", Branch: "main", Why: "is protected"},
		"own":        &Error{Code: "unavailable", What: "busy", Means: "nothing was stored", Next: "try again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, Config{Coordinator: &fake{
				submit: func(amp.Command) (amp.Entry, error) { return amp.Entry{}, fmt.Errorf("submit: %w", want) },
				follow: func(context.Context, uint64, func([]amp.Entry) error) error { return fmt.Errorf("read: %w", want) },
			}})
			_, err := c.Submit(t.Context(), amp.Command{ID: "c", Command: amp.Approve})
			if diff := cmp.Diff(want, err); diff != "" {
				t.Errorf("Submit (-want +got):\n%s", diff)
			}
			err = c.Follow(t.Context(), 0, nil)
			if diff := cmp.Diff(want, err); diff != "" {
				t.Errorf("Follow (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrors_sentinelsKeepTheirIdentity(t *testing.T) {
	t.Parallel()
	c := serve(t, Config{Sentinels: Sentinels{"full": errFull}, Coordinator: &fake{
		submit: func(amp.Command) (amp.Entry, error) { return amp.Entry{}, fmt.Errorf("append: %w", errFull) },
		query: func(q amp.Query) (amp.Page, error) {
			if q.Kind == amp.QueryEntries {
				return amp.Page{}, fmt.Errorf("write the tokens: %w", &fs.PathError{Op: "write", Path: "tokens.json", Err: syscall.ENOSPC})
			}
			return amp.Page{}, errors.New("a secret of the machine")
		},
	}})
	_, err := c.Submit(t.Context(), amp.Command{ID: "c", Command: amp.Approve})
	if !errors.Is(err, errFull) || err.Error() != "append: no space is left for the journal" {
		t.Errorf("Submit = %v, want errFull with its words", err)
	}
	_, err = c.Query(t.Context(), amp.Query{Kind: amp.QueryBoard})
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != "internal" {
		t.Errorf("Query = %v, want an internal error", err)
	}
	if _, err := c.Query(t.Context(), amp.Query{Kind: amp.QueryEntries}); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "tokens.json") {
		t.Errorf("a disk that is full for another file is %v, want errFull with its words", err)
	}
}

// An error that is several of them has one word, the same each time.
func TestNewFault_several(t *testing.T) {
	t.Parallel()
	busy := errors.New("the store is busy")
	err := fmt.Errorf("%w: %w", errFull, busy)
	for range 50 {
		if f, _ := newFault(err, Sentinels{"full": errFull, "busy": busy, "other": errors.New("x")}); f.Code != "busy" {
			t.Fatalf("the word is %q, want busy", f.Code)
		}
	}
}

func TestReceive_bytesArriveAsSent(t *testing.T) {
	t.Parallel()
	raw := []byte("{\"a\": \"\xff\", \r\n \"a\":1}\x00")
	want := amp.Received{Raw: raw, As: amp.Executor, Actor: "robot & co", Source: "cli", Strict: true}
	answer := amp.Receipt{Entry: chain(1)[0], Warnings: []amp.Problem{{Rule: "AMP-031", Field: "x", Message: "y"}}, Duplicate: true}
	var got amp.Received
	c := serve(t, Config{Coordinator: &fake{receive: func(r amp.Received) (amp.Receipt, error) { got = r; return answer, nil }}})
	receipt, err := c.Receive(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(answer, receipt); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
}

func TestReceive_asAdminIsThePeer_A09(t *testing.T) {
	t.Parallel()
	var got amp.Received
	c := serve(t, Config{Coordinator: &fake{receive: func(r amp.Received) (amp.Receipt, error) { got = r; return amp.Receipt{}, nil }}})
	if _, err := c.Receive(t.Context(), amp.Received{Raw: []byte("{}"), As: amp.Admin, Actor: "somebody else"}); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if got.Actor != me.Username {
		t.Errorf("actor = %q, want the peer %q", got.Actor, me.Username)
	}
	for _, as := range []amp.Role{amp.System, "", "god"} {
		_, err := c.Receive(t.Context(), amp.Received{Raw: []byte("{}"), As: as})
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != "request" {
			t.Errorf("Receive as %q = %v, want a bad request", as, err)
		}
	}
}

// A message above every limit must still reach the error log.
func TestReceive_hugeMessageReachesTheCoordinator_AMP002(t *testing.T) {
	t.Parallel()
	got := 0
	c := serve(t, Config{Coordinator: &fake{receive: func(r amp.Received) (amp.Receipt, error) {
		got = len(r.Raw)
		return amp.Receipt{}, &amp.RefusedError{What: "bytes", Problems: []amp.Problem{{Rule: "AMP-002", Message: "too long"}}}
	}}})
	_, err := c.Receive(t.Context(), amp.Received{Raw: bytes.Repeat([]byte("x"), 8*maxMessage), As: amp.Executor})
	if _, ok := errors.AsType[*amp.RefusedError](err); !ok {
		t.Errorf("Receive = %v, want the coordinator's refusal", err)
	}
	if got != maxMessage {
		t.Errorf("the coordinator got %d bytes, want %d", got, maxMessage)
	}
}

func TestQuery_pageArrivesWhole(t *testing.T) {
	t.Parallel()
	board := amp.NewBoard()
	board.Tasks["T-2026-001"] = &amp.Task{ID: "T-2026-001", Title: "x", Status: amp.Held, Wrote: map[amp.Role]time.Time{}}
	board.Order = []amp.TaskID{"T-2026-001"}
	want := amp.Page{
		Head: amp.Head{Seq: 3}, Board: board, Entries: chain(3), More: true, Text: "diff",
		Check: &amp.Check{Subject: amp.CheckResume, Claims: []amp.Claim{{Name: "branch", Finding: amp.Confirmed}}},
	}
	var got amp.Query
	c := serve(t, Config{Coordinator: &fake{query: func(q amp.Query) (amp.Page, error) { got = q; return want, nil }}})
	q := amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: 3, Kinds: []amp.Kind{amp.KindAck}, Newest: true}, TaskID: "T-2026-001"}
	page, err := c.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(q, got); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestStatusAndShutdown(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	want := amp.CoordinatorState{PID: 42, Version: "v", Home: "/h", Slots: 2, Agents: map[amp.Role][]string{amp.Executor: {"a"}}}
	c := serve(t, Config{Shutdown: func() { asked <- struct{}{} }, Coordinator: &fake{
		query: func(amp.Query) (amp.Page, error) { return amp.Page{Status: &want}, nil },
	}})
	got, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if err := c.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-asked
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	c := serve(t, Config{Coordinator: &fake{}})
	for name, tc := range map[string]struct {
		method, path, body string
		status             int
		code, what         string
	}{
		"no such path":     {"GET", "/v2/x", "", 404, "not_found", "GET /v2/x is no part"},
		"wrong method":     {"GET", "/v1/commands", "", 404, "not_found", "GET /v1/commands"},
		"no json":          {"POST", "/v1/commands", "{", 400, "request", "the request is no"},
		"unknown property": {"POST", "/v1/commands", `{"id":"a","command":"approve","nope":1,"args":{}}`, 400, "request", "nope"},
		"duplicate name":   {"POST", "/v1/commands", `{"id":"a","id":"b"}`, 400, "request", "duplicate"},
		"trailing data":    {"POST", "/v1/query", `{"kind":"board"}{}`, 400, "request", "after"},
		"no id":            {"POST", "/v1/commands", `{"command":"approve","args":{}}`, 400, "request", "needs an id"},
		"large command":    {"POST", "/v1/commands", strings.Repeat(" ", maxCommand+1), 413, "too_large", "larger than"},
		"after":            {"GET", "/v1/journal?after=-1", "", 400, "request", `after is "-1"`},
		"strict":           {"POST", "/v1/messages?as=executor&strict=perhaps", "x", 400, "request", "strict is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://x"+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var f fault
			if err := json.NewDecoder(res.Body).Decode(&f); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tc.status || f.Code != tc.code || !strings.Contains(f.What, tc.what) {
				t.Errorf("answer = %d %+v, want %d %s with %q", res.StatusCode, f, tc.status, tc.code, tc.what)
			}
			if res.Header.Get("X-Request-Id") == "" {
				t.Error("the answer names no request id")
			}
		})
	}
}

func TestNotRunning(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := NewClient(home, nil)
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Status without a coordinator = %v, want ErrNotRunning", err)
	}
	leaveStale(t, filepath.Join(home, socketName))
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Status at a dead socket = %v, want ErrNotRunning", err)
	}
	serveAt(t, home, Config{Coordinator: &fake{query: func(amp.Query) (amp.Page, error) {
		return amp.Page{Status: &amp.CoordinatorState{PID: 1}}, nil
	}}})
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("Status after a start over a dead socket = %v", err)
	}
}

func TestListen_isPrivateAndCleansUp(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	stop := serveAt(t, home, Config{Coordinator: &fake{}})
	path := filepath.Join(home, socketName)
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode().Perm())
	}
	stop()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestListen_neverRemovesWhatIsNoSocket(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, socketName)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(home); err == nil {
		t.Errorf("Listen = %v, want an error", l.Addr())
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "precious" {
		t.Errorf("the file is now %q, %v", data, err)
	}
}

func TestListen_longHome(t *testing.T) {
	run := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", run)
	if len(run) > 60 {
		t.Setenv("XDG_RUNTIME_DIR", "")
	}
	home := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := NewClient(home, nil).Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Status without a coordinator = %v, want ErrNotRunning", err)
	}
	serveAt(t, home, Config{Coordinator: &fake{query: func(amp.Query) (amp.Page, error) {
		return amp.Page{Status: &amp.CoordinatorState{PID: 7}}, nil
	}}})
	t.Setenv("XDG_RUNTIME_DIR", "/elsewhere") // a client of another session finds the socket all the same
	got, err := NewClient(home, nil).Status(t.Context())
	if err != nil || got.PID != 7 {
		t.Errorf("Status = %+v, %v", got, err)
	}
	path, err := SocketPath(home)
	if err != nil || len(path) > maxSocketPath {
		t.Errorf("SocketPath = %q, %v", path, err)
	}
}

func leaveStale(t *testing.T, path string) {
	t.Helper()
	l, err := listenPrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	l.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
