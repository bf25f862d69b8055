package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"arbiter/tui"
	"arbiter/tui/theme"
)

const fullConfig = `
[agents.worker]
kind = "command"
argv = ["prog", "--x"]
vendor = "acme"
roles = ["executor"]
acks = "auto"
env = {A = "b"}
pass = ["LANG"]
silence = "10m"
total = "1h"
grace = "5s"
output = 1048576
sandbox = "landlock"
read = ["~/go"]
write = ["/cache"]
api = "claude"
url = "https://api.example.com/v1"
key_env = "MY_KEY"
max_requests = 50
[agents.coder]
kind = "codex"
program = "/opt/codex"
mode = "exec"
model = "m-3"
url = "http://127.0.0.1:1234/v1"
[agents.critic]
kind = "claude"
key_env = "CRITIC_KEY"
[agents.guest]
kind = "external"
[agents.judge]
kind = "api"
api = "chat"
url = "https://api.example.com"
model = "m-1"
key_env = "SOME_KEY"
schema = "json_object"
context_tokens = 64000
max_tokens = 8000
[agents.other]
kind = "api"
api = "claude"
model = "m-2"
key_file = "keys/other"
[roles]
executor = "worker"
reviewer = "guest"
[sandbox]
mode = "bwrap"
read = ["/data"]
write = ["/scratch"]
[policy]
lock_at = 4
hold_below = 0.7
gates = ["local"]
heartbeat = "20m"
progress_every = "30s"
undo = "3s"
slots = 8
attempts = 3
ack_timeouts = {task_dispatch = "60s"}
[budget]
wall = "2h"
turns = 20
[repo]
protected = ["release/*"]
checks = [["go", "test", "./..."]]
ci_timeout = "10m"
[tui]
theme = "dark"
signs = "ascii"
mouse = false
keys = {quit = "Q", go.now = ["g n", "f1"]}
export = "/exports"
notify = false
bell = true
quiet = "22:00-07:00"
`

func TestConfig_everyKey(t *testing.T) {
	t.Parallel()
	var c config
	if err := decodeTOML("x", []byte(fullConfig), &c); err != nil {
		t.Fatal(err)
	}
	if err := c.validate(); err != nil {
		t.Fatal(err)
	}
	mouse, bell := false, true
	want := config{
		Agents: map[string]agentConfig{
			"worker": {
				Kind: "command", Argv: []string{"prog", "--x"}, Vendor: "acme", Roles: []string{"executor"}, Acks: "auto",
				Env: map[string]string{"A": "b"}, Pass: []string{"LANG"}, Silence: duration(10 * time.Minute), Total: duration(time.Hour),
				Grace: duration(5 * time.Second), Output: 1 << 20,
				Sandbox: "landlock", Read: []string{"~/go"}, Write: []string{"/cache"}, API: "claude", URL: "https://api.example.com/v1",
				KeyEnv: "MY_KEY", MaxRequests: 50,
			},
			"coder":  {Kind: "codex", Program: "/opt/codex", Mode: "exec", Model: "m-3", URL: "http://127.0.0.1:1234/v1"},
			"critic": {Kind: "claude", KeyEnv: "CRITIC_KEY"},
			"guest":  {Kind: "external"},
			"judge": {
				Kind: "api", API: "chat", URL: "https://api.example.com", Model: "m-1", KeyEnv: "SOME_KEY", Schema: "json_object",
				ContextTokens: 64000, MaxTokens: 8000,
			},
			"other": {Kind: "api", API: "claude", Model: "m-2", KeyFile: "keys/other"},
		},
		Roles:   rolesConfig{Executor: "worker", Reviewer: "guest"},
		Sandbox: sandboxConfig{Mode: "bwrap", Read: []string{"/data"}, Write: []string{"/scratch"}},
		Policy: policyConfig{
			LockAt: 4, HoldBelow: 0.7, Gates: []string{"local"}, Heartbeat: duration(20 * time.Minute),
			ProgressEvery: duration(30 * time.Second), Undo: duration(3 * time.Second), Slots: 8, Attempts: 3,
			AckTimeouts: map[string]duration{"task_dispatch": duration(time.Minute)},
		},
		Budget: budgetConfig{Wall: duration(2 * time.Hour), Turns: 20},
		Repo:   repoConfig{Protected: []string{"release/*"}, Checks: [][]string{{"go", "test", "./..."}}, CITimeout: duration(10 * time.Minute)},
		TUI:    tuiConfig{Theme: "dark", Signs: "ascii", Mouse: &mouse, Keys: keyMap{"quit": "Q", "go": map[string]any{"now": []any{"g n", "f1"}}}, Export: "/exports", Notify: &mouse, Bell: &bell, Quiet: "22:00-07:00"},
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(config{})); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestConfig_planning(t *testing.T) {
	t.Parallel()
	agents := "[agents.a]\nkind=\"command\"\nargv=[\"x\"]\n[agents.far]\nkind=\"external\"\n"
	chain := "[planning]\nobjective=\"a\"\ngoal=\"a\"\nplanning=\"a\"\n"
	for name, tc := range map[string]struct{ text, wrong string }{
		"a chain":            {agents + chain + "memory=\"a\"\n[roles]\ncoordinator=\"planning\"\n", ""},
		"memory alone":       {agents + "[planning]\nmemory=\"a\"\n", ""},
		"unknown agent":      {agents + chain + "memory=\"b\"\n", `planning.memory: agent "b" is not configured`},
		"a stage is missing": {agents + "[planning]\nobjective=\"a\"\n", "planning.goal is missing"},
		"an external one":    {agents + strings.Replace(chain, "\"a\"", "\"far\"", 1), `"far" is external`},
		"the name is taken":  {agents + chain + "[agents.planning]\nkind=\"external\"\n", "give yours another"},
		"no chain":           {agents + "[roles]\ncoordinator=\"planning\"\n", `agent "planning" is not configured`},
		"only to plan":       {agents + chain + "[roles]\nexecutor=\"planning\"\n", `roles.executor: agent "planning" is not configured`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c config
			if err := decodeTOML("x", []byte(tc.text), &c); err != nil {
				t.Fatal(err)
			}
			err := c.validate()
			if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("validate = %v, want %q", err, tc.wrong)
			}
		})
	}
}

func TestConfig_programs(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		"kind=\"codex\"\nkey_env=\"K\"":                           "",
		"kind=\"claude\"\nurl=\"http://127.0.0.1:1\"":             "",
		"kind=\"claude\"\nkey_file=\"k\"\nprogram=\"bin/claude\"": "",
		"kind=\"codex\"": "agents.x: the service wants a key",
		"kind=\"claude\"\nkey_env=\"K\"\nmode=\"exec\"":   `agents.x.mode is for kind = "codex"`,
		"kind=\"codex\"\nkey_env=\"K\"\nmode=\"tui\"":     `agents.x.mode: "tui" is neither "app-server" nor "exec"`,
		"kind=\"codex\"\nkey_env=\"K\"\nargv=[\"codex\"]": "agents.x: kind = \"codex\" knows its arguments",
		"kind=\"codex\"\nkey_env=\"K\"\nkey_file=\"f\"":   "key_env, key_file and key_command: give one",
		"kind=\"codex\"\nkey_env=\"sk-123 4\"":            "agents.x.key_env is no name of a variable",
		"kind=\"command\"\nargv=[\"a\"]\nprogram=\"b\"":   "program and mode are for",
		"kind=\"external\"\nmodel=\"m\"":                  "agents.x: api, url, model",
	} {
		var c config
		if err := decodeTOML("x", []byte("[agents.x]\n"+text+"\n"), &c); err != nil {
			t.Fatal(err)
		}
		err := c.validate()
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", text, err, wrong)
		}
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		key, value string
		get        func(*config) any
		want       any
	}{
		"number":          {"policy.slots", "3", func(c *config) any { return c.Policy.Slots }, 3},
		"duration":        {"policy.undo", "5s", func(c *config) any { return c.Policy.Undo }, duration(5 * time.Second)},
		"quoted duration": {"policy.undo", `"5s"`, func(c *config) any { return c.Policy.Undo }, duration(5 * time.Second)},
		"word":            {"roles.executor", "guest", func(c *config) any { return c.Roles.Executor }, "guest"},
		"word of digits":  {"roles.executor", "42", func(c *config) any { return c.Roles.Executor }, "42"},
		"list":            {"repo.protected", `["a", "b"]`, func(c *config) any { return strings.Join(c.Repo.Protected, "+") }, "a+b"},
		"below a map":     {"policy.ack_timeouts.task_result", "9s", func(c *config) any { return c.Policy.AckTimeouts["task_result"] }, duration(9 * time.Second)},
		"an agent":        {"agents.worker.vendor", "other", func(c *config) any { return c.Agents["worker"].Vendor }, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c config
			if err := decodeTOML("x", []byte(fullConfig), &c); err != nil {
				t.Fatal(err)
			}
			if err := override(&c, tc.key, tc.value, "the test"); err != nil {
				t.Fatal(err)
			}
			if got := tc.get(&c); got != tc.want {
				t.Errorf("%s = %v, want %v", tc.key, got, tc.want)
			}
			if c.Policy.LockAt != 4 {
				t.Error("another key was lost")
			}
		})
	}
}

func TestOverride_wrong(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{
		"policy.slot": "3", "policy": "3", "policy.slots": "many", "policy.undo": "soon", "nope.x": "1", "policy.slots\n[repo]": "1",
		"roles.executor": "a\nb", "": "x",
	} {
		var c config
		err := override(&c, key, value, "the test")
		if _, ok := errors.AsType[*usageError](err); !ok {
			t.Errorf("override %q = %q: %v, want a usage error", key, value, err)
		}
	}
}

func TestRepoFile_namesNoPrograms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[agents.x]\nkind = \"command\"\n", "[policy]\nlock_at = 99\n", "[tui]\nmouse = false\n", "[repo]\nchecks = [[]]\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, repoFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadRepoFile(dir); err == nil {
			t.Errorf("arbiter.toml of a repository may hold %q", text)
		}
	}
}

func TestConfig_screens(t *testing.T) {
	t.Parallel()
	off := false
	a, err := tuiConfig{Quiet: "22:30-07:00", Bell: &off}.alerts()
	if want := (tui.Alerts{Silent: true, From: 22*time.Hour + 30*time.Minute, To: 7 * time.Hour}); err != nil || a != want {
		t.Errorf("alerts are %+v, %v", a, err)
	}
	for _, quiet := range []string{"22", "22:00", "25:00-07:00", "night", "22:00-7"} {
		if _, err := (tuiConfig{Quiet: quiet}).alerts(); err == nil {
			t.Errorf("%q are hours", quiet)
		}
	}
	for _, name := range append(theme.Names(), "auto", "") {
		c := config{TUI: tuiConfig{Theme: name}}
		if err := c.validate(); err != nil {
			t.Error(err)
		}
		if got := c.TUI.theme(); got != "" {
			if _, err := theme.New(got, theme.TrueColor, theme.UTF8); err != nil {
				t.Errorf("the screens do not know the theme %q: %v", name, err)
			}
		}
	}
	for dir, want := range map[string]bool{"/x": true, "~": true, "~/x": true, "": true, "x": false, "./x": false} {
		if _, err := exportFolder(dir); (err == nil) != want {
			t.Errorf("export folder %q: %v", dir, err)
		}
	}
}

// Whatever a configuration holds, reading it ends in a value or in an error that names the file.
func FuzzDecodeTOML(f *testing.F) {
	f.Add([]byte(fullConfig))
	f.Add([]byte("[policy]\nslot = 1\n"))
	f.Add([]byte("a.b.c = 1\n[a]\n"))
	f.Add([]byte("[agents]\nx = 3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c config
		if err := decodeTOML("file.toml", data, &c); err != nil {
			if !strings.HasPrefix(err.Error(), "file.toml:") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		_ = c.validate()
	})
}

// A key in a repository's own file takes effect, or is refused: none is there for nothing.
func TestRepoFile_keys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[budget.day]\ncost = 5.0":           "budget.day",
		"[budget]\nturns = -1":               "a bound is negative",
		"[roles]\ncoordinator = \"planner\"": "roles.coordinator",
		"[repo]\nchecks = [[\"true\"], []]":  "repo.checks[1]",
		"[roles]\nexecutor = \"a\"\n[budget]\nturns = 3\nwall = \"1h\"\ntokens = 9\ncost = 1.0": "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, repoFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loadRepoFile(dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, repoFile), []byte("[repo]\nchecks = [[\"sleep\", \"60\"]]\nci_timeout = \"7s\""), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := loadRepoFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Repo.timeout(time.Minute); got != 7*time.Second {
		t.Errorf("the checks may take %s, the repository says 7s", got)
	}
	if got := (repoConfig{}).timeout(time.Minute); got != time.Minute {
		t.Errorf("without a word of the repository they may take %s", got)
	}
}
