package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/sandbox"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) })
}

func TestConformance(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, func(t *testing.T, script agenttest.Script) providers.Agent {
		t.Helper()
		return programOf(t, script, AcksAgent)
	})
}

// The same holds for a program in a cage.
func TestConformance_caged(t *testing.T) {
	t.Parallel()
	for _, mode := range []sandbox.Mode{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			if _, err := mode.Works(); err != nil {
				t.Skipf("NOT TESTED, since %v", err)
			}
			agenttest.Run(t, func(t *testing.T, script agenttest.Script) providers.Agent {
				t.Helper()
				return leashed(t, script, AcksAgent, sandbox.Leash{Mode: mode})
			})
		})
	}
}

// programOf is an agent whose program plays the script.
func programOf(t *testing.T, script agenttest.Script, acks Acks) *Agent {
	t.Helper()
	return leashed(t, script, acks, sandbox.Leash{})
}

func leashed(t *testing.T, script agenttest.Script, acks Acks, leash sandbox.Leash) *Agent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if script.Missing {
		self += "-missing"
	}
	a, err := New(Config{Argv: []string{self}, Env: script.Env(), Acks: acks, Leash: leash})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// newCause is the test's context with a cancel that takes the reason.
func newCause(t *testing.T) (context.Context, context.CancelCauseFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

func TestInput_oneLine(t *testing.T) {
	t.Parallel()
	turn := providers.Turn{
		ID: "t1", Task: "T-2026-001", Role: "executor", Epoch: 2, Subtask: "T-2026-001-S1", Dir: "/d", Home: "/h",
		Message: json.RawMessage("{\"a\" : 1,\n \"n\":12345678901234567890, \"s\":\"<\\u00e4>\"}"),
		Context: []json.RawMessage{json.RawMessage(`{"b":2}`)},
	}
	got, err := input(&turn)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"protocol":"arbiter-command/1","turn":{"id":"t1","task_id":"T-2026-001","role":"executor","epoch":2,` +
		`"subtask_id":"T-2026-001-S1"},"message":{"a":1,"n":12345678901234567890,"s":"<\u00e4>"},"context":[{"b":2}],` +
		`"dir":"/d","home":"/h"}` + "\n"
	if string(got) != want {
		t.Errorf("input\n got %s\nwant %s", got, want)
	}
	if n := bytes.Count(got, []byte("\n")); n != 1 {
		t.Errorf("%d newlines, want one", n)
	}
	got, err = input(&providers.Turn{Context: nil})
	if err != nil || !strings.Contains(string(got), `"message":null,"context":[]`) {
		t.Errorf("input of a planning turn = %s, %v", got, err)
	}
}

// TestShell: a few lines of shell are an agent.
func TestShell(t *testing.T) {
	t.Parallel()
	a, err := New(Config{Argv: []string{"sh", "-c", `read -r turn
echo '{"event":"ack","status":"accepted"}'
echo "looks at $(pwd)"
echo '{"event":"final","payload":{"ok":true}}'`}})
	if err != nil {
		t.Fatal(err)
	}
	var events []providers.EventType
	turn := providers.Turn{ID: "shell-" + rand.Text(), Dir: t.TempDir(), Home: t.TempDir(), Message: json.RawMessage(`{}`)}
	out, err := a.Run(t.Context(), turn, func(e providers.Event) { events = append(events, e.Type) })
	if err != nil || string(out.Final) != `{"ok":true}` {
		t.Errorf("Run = %s, %v", out.Final, err)
	}
	if want := []providers.EventType{providers.EventStarted, providers.EventAck, providers.EventProgress}; !slices.Equal(events, want) {
		t.Errorf("events = %v, want %v", events, want)
	}
}

// TestDescribe: what the protocol of commands promises of any program, with the limits that a turn will have.
// TestPrompt: a program is asked a prompt, and its text is the answer; without a prompt a text is none.
func TestPrompt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		says, text string
		prompt     *providers.Prompt
		fails      string
	}{
		"text":         {`{"event":"final","text":"héllo"}`, "héllo", &providers.Prompt{System: "s", Text: "x"}, ""},
		"object":       {`{"event":"final","payload":{"a": 1}}`, `{"a": 1}`, &providers.Prompt{Text: "x"}, ""},
		"empty text":   {`{"event":"final","text":""}`, "", &providers.Prompt{Text: "x"}, ""},
		"two":          {`{"event":"final","text":""}` + "\n" + `{"event":"final","text":"b"}`, "", &providers.Prompt{Text: "x"}, "two final answers"},
		"without one":  {`{"event":"final","text":"b"}`, "", nil, "without a final answer"},
		"nothing said": {``, "", &providers.Prompt{Text: "x"}, "without a final answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := `read line; case "$line" in *'"prompt":{'*) ;; *) echo no prompt;; esac; printf '` + tc.says + `\n'`
			a, err := New(Config{Argv: []string{"sh", "-c", script}})
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			out, err := a.Run(t.Context(), providers.Turn{
				ID: "prompt-" + rand.Text(), Role: amp.Coordinator, Prompt: tc.prompt, Dir: t.TempDir(), Home: t.TempDir(),
			}, func(ev providers.Event) { said += ev.Text })
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Fatalf("%v, want %q", err, tc.fails)
			}
			if out.Text != tc.text || out.Final != nil || strings.Contains(said, "no prompt") != (tc.prompt == nil) {
				t.Errorf("text %q, final %s, said %q", out.Text, out.Final, said)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	a, err := New(Config{Argv: []string{"sh"}, Acks: AcksAuto, Limits: providers.Limits{Total: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	want := amp.AgentFacts{
		Through: "command", Confined: "off", Acks: "auto", Resumes: true, ReportsCost: true, Stops: true, SilenceSec: 30, TotalSec: 60, OutputBytes: 64 << 20,
	}
	if got := a.Describe(providers.Limits{Silence: 30 * time.Second}); !reflect.DeepEqual(got, want) {
		t.Errorf("Describe = %+v, want %+v", got, want)
	}
}
