package codex

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/program"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) }, &serverDialect{}, &execDialect{})
}

// adapterOf is codex in one mode.
func adapterOf(mode Mode) *agenttest.Adapter {
	a := &agenttest.Adapter{Dialect: string(mode), New: func(c program.Config) (providers.Agent, error) { return New(Config{Mode: mode, Config: c}) }}
	a.Lacks = map[agenttest.Action]string{
		agenttest.RefuseMessage: "codex has no form to refuse a message: the adapter accepts it when codex begins",
		agenttest.Escalate:      "codex has no form for an escalation: a failed answer or a question says it",
	}
	if mode == ModeServer {
		a.Lacks[agenttest.IgnoreStdin] = "codex app-server says nothing before it has read its prompt"
	}
	return a
}

// TestConformance: a program that speaks codex's protocols and plays the script of each case.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{ModeServer, ModeExec} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			adapterOf(mode).Conform(t)
		})
	}
}

// fields is a JSON object.
type fields = map[string]any

// sacpText is a good answer around a payload, whose bytes stay.
func sacpText(payload json.RawMessage) string {
	return string(agenttest.JSON(fields{"thought": "t", "status": "success", "data": payload, "message": "m"}))
}

// session is the thread's name: the script's, or one of its own.
func session(s agenttest.Script) string {
	for _, step := range s.Steps {
		if step.Do == agenttest.NameSession {
			return step.Text
		}
	}
	return "thread-1"
}

// serverDialect is codex app-server.
type serverDialect struct {
	thread string
	items  int
	tokens int
}

func (*serverDialect) Name() string { return "app-server" }

// Greet answers the four calls that come before a turn.
func (d *serverDialect) Greet(s agenttest.Script, in *bufio.Reader, out io.Writer) (func() (int, error), error) {
	d.thread = session(s)
	results := map[string]fields{
		"initialize":   {"userAgent": "fake"},
		"thread/start": {"thread": fields{"id": d.thread}, "model": "m"},
		"turn/start":   {"turn": fields{"id": "turn-1", "status": "inProgress"}},
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(line, &call); err != nil {
			return nil, err
		}
		if result, ok := results[call.Method]; ok {
			out.Write(append(agenttest.JSON(fields{"id": call.ID, "result": result}), '\n'))
		}
		if call.Method == "turn/start" {
			return func() (int, error) { return len(line), nil }, nil
		}
	}
}

func (d *serverDialect) notice(method string, params fields) []byte {
	params["threadId"], params["turnId"] = d.thread, "turn-1"
	return agenttest.JSON(fields{"method": method, "params": params})
}

func (d *serverDialect) message(text string) []byte {
	d.items++
	return d.notice("item/completed", fields{"item": fields{"type": "agentMessage", "id": "i" + strconv.Itoa(d.items), "text": text}})
}

// Lines are notifications.
func (d *serverDialect) Lines(step agenttest.Step) [][]byte {
	switch step.Do {
	case agenttest.Say:
		return [][]byte{d.message(step.Text)}
	case agenttest.Use:
		d.tokens += step.N
		last, total := fields{"inputTokens": step.N, "outputTokens": 0}, fields{"inputTokens": 1000 + d.tokens, "outputTokens": 0}
		return [][]byte{d.notice("thread/tokenUsage/updated", fields{"tokenUsage": fields{"last": last, "total": total}})}
	case agenttest.Answer:
		end := d.notice("turn/completed", fields{"turn": fields{"id": "turn-1", "status": "completed", "error": nil}})
		return [][]byte{d.message(sacpText(step.Payload)), end}
	default:
		return nil
	}
}

// execDialect is codex exec --json.
type execDialect struct {
	thread string
	tokens int
}

func (*execDialect) Name() string { return "exec" }

func (d *execDialect) Greet(s agenttest.Script, in *bufio.Reader, out io.Writer) (func() (int, error), error) {
	d.thread = session(s)
	out.Write(append(agenttest.JSON(fields{"type": "thread.started", "thread_id": d.thread}), '\n'))
	out.Write(append(agenttest.JSON(fields{"type": "turn.started"}), '\n'))
	return func() (int, error) {
		all, err := io.ReadAll(in)
		return len(all), err
	}, nil
}

// Lines are events; tokens come with the last one.
func (d *execDialect) Lines(step agenttest.Step) [][]byte {
	message := func(text string) []byte {
		return agenttest.JSON(fields{"type": "item.completed", "item": fields{"id": "i", "type": "agent_message", "text": text}})
	}
	switch step.Do {
	case agenttest.Say:
		return [][]byte{message(step.Text)}
	case agenttest.Use:
		d.tokens += step.N
		return nil
	case agenttest.Answer:
		end := fields{"type": "turn.completed", "usage": fields{"input_tokens": d.tokens, "output_tokens": 0}}
		return [][]byte{message(sacpText(step.Payload)), agenttest.JSON(end)}
	default:
		return nil
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	total := usage{400, 40, 3, 80}
	thread, got := parseSession(sessionText("01a2-b", total))
	if thread != "01a2-b" || got != total {
		t.Errorf("parseSession = %q, %+v", thread, got)
	}
	for in, want := range map[string]string{"01a2": "01a2", "01a2+x": "01a2", "-rf": "", "a b": "", "../a": "", "": "", strings.Repeat("a", 101): ""} {
		if thread, got := parseSession(in); thread != want || got != (usage{}) {
			t.Errorf("parseSession(%q) = %q, %+v, want %q", in, thread, got, want)
		}
	}
}

// TestSettings: the configuration is TOML whatever stands in it, and gives a reader no right to write.
func TestSettings(t *testing.T) {
	t.Parallel()
	hostile := "m\"\n[model_providers.x]\nbase_url = \"http://evil\"\x7f\\"
	text := string((&settings{model: hostile, url: "http://u/v1"}).file())
	if strings.Contains(text, "\n[model_providers.x]") || !strings.Contains(text, `model = "m\"\n[model_providers.x]\nbase_url`) || strings.Contains(text, "\x7f") {
		t.Errorf("the model's name breaks out:\n%s", text)
	}
	for writes, want := range map[bool]string{
		true: "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"", false: "approval_policy = \"never\"\nsandbox_mode = \"read-only\"",
	} {
		if text := string((&settings{url: "http://u", writes: writes}).file()); !strings.Contains(text, want) {
			t.Errorf("writes %v: %s", writes, text)
		}
	}
}

// TestFurnish: the thread of an earlier turn stays, rules that it left do not.
func TestFurnish(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{"sessions/thread", "rules/default.rules", "AGENTS.md", "config.toml"} {
		name = filepath.Join(home, homeName, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("old"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := furnish(&providers.Turn{Home: home}, &settings{url: "http://u"}, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"sessions/thread": true, "rules": false, "AGENTS.md": false, schemaName: true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "config.toml")); err != nil || string(text) == "old" {
		t.Errorf("config.toml = %q, %v", text, err)
	}
}

// TestRun_linkOutOfHome: what an earlier turn left in the home does not lead the coordinator elsewhere.
func TestRun_linkOutOfHome(t *testing.T) {
	t.Parallel()
	outside, home := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(home, homeName)); err != nil {
		t.Fatal(err)
	}
	turn := providers.Turn{ID: "link-" + rand.Text(), Role: amp.Executor, Dir: t.TempDir(), Home: home, Message: json.RawMessage(`{}`)}
	_, err := adapterOf(ModeExec).Fake(t, agenttest.Script{}, "").Run(t.Context(), turn, func(providers.Event) {})
	if agenttest.ClassOf(err) != providers.FailConfig {
		t.Errorf("Run = %v", err)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside of the home: %v", left)
	}
}
