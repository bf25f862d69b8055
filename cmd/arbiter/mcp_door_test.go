package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"arbiter/amp"
	"arbiter/server"
)

// TestMCP_door: an agent that Arbiter does not start reads its message, acknowledges it and hands in its result, and is refused as any other.
func TestMCP_door(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	config := filepath.Join(d.dir, "config", "arbiter", "config.toml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(text, "[agents.guest]\nkind = \"external\"\nvendor = \"guest\"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	d.arbiter("task", "new", "--repo", filepath.Join(d.dir, "till"), "--branch", "feature/total", "--executor", "guest", "Make lib/total.awk count the quantity.")
	watch := exec.CommandContext(t.Context(), d.self, "task", "watch", "1")
	watch.Env = d.env
	if exit, ok := errors.AsType[*exec.ExitError](watch.Run()); !ok || exit.ExitCode() != exitWaits {
		t.Fatalf("task watch = %v, want exit code %d", exit, exitWaits)
	}

	serve := exec.Command(d.self, "mcp", "--role", "executor", "--task", "1", "--actor", "guest")
	serve.Env = d.env
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if text, refused := callTool(t, c, "message", `{}`); !refused || !strings.Contains(text, "no message to the executor") {
		t.Errorf("before the dispatch message = %q", text)
	}
	d.arbiter("plan", "approve", "1", "--yes")
	sent := errors.New("the dispatch is in the journal")
	err = server.NewClient(d.home(), sentinels).Follow(t.Context(), 0, func(all []amp.Entry) error {
		if slices.ContainsFunc(all, func(e amp.Entry) bool { return e.Kind == amp.KindMessage }) {
			return sent
		}
		return nil
	})
	if !errors.Is(err, sent) {
		t.Fatal(err)
	}

	text1, refused := callTool(t, c, "message", `{}`)
	var m struct {
		Type    string `json:"type"`
		Payload struct {
			Subtasks []struct {
				ID string `json:"subtask_id"`
			} `json:"subtasks"`
			Criteria []string `json:"acceptance_criteria"`
		} `json:"payload"`
	}
	if err := json.Unmarshal([]byte(text1), &m); refused || err != nil || m.Type != "task_dispatch" || len(m.Payload.Subtasks) == 0 {
		t.Fatalf("message = %s, %v", text1, err)
	}
	if text, refused := callTool(t, c, "ack", `{"status":"accepted"}`); refused || !strings.HasPrefix(text, "ack ") {
		t.Errorf("ack = %q", text)
	}
	nulls, notes := strings.Repeat(",null", len(m.Payload.Criteria))[1:], strings.Repeat(`,"for the reviewer"`, len(m.Payload.Criteria))[1:]
	result := func(subtask string) string {
		return `{"subtask_id":"` + subtask + `","completion_status":"partial","diff_summary":{"files_changed":[],"lines_added":0,"lines_removed":0},` +
			`"self_assessment":{"criteria_met":[` + nulls + `],"notes":[` + notes + `]},"work_log":[],"blockers":["the awk is broken"]}`
	}
	if text, refused := callTool(t, c, "submit_result", result("T-2000-001-S9")); !refused {
		t.Errorf("a result of another task: %q", text)
	}
	if text, refused := callTool(t, c, "submit_result", result(m.Payload.Subtasks[0].ID)); refused || !strings.HasPrefix(text, "message task_result-") {
		t.Errorf("submit_result = %q", text)
	}
}

// TestMCP_nobody: the server says what it lacks.
func TestMCP_nobody(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no turn":     {nil, "nobody's turn"},
		"coordinator": {[]string{"--role", "coordinator", "--task", "1"}, "only an executor and a reviewer"},
		"no task":     {[]string{"--role", "executor"}, "--task is missing"},
	} {
		var stderr strings.Builder
		if code := run(append([]string{"mcp", "--home", t.TempDir()}, tc.args...), strings.NewReader(""), &strings.Builder{}, &stderr); code != exitUsage || !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%s: exit code %d, %s", name, code, stderr.String())
		}
	}
}
