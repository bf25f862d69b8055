package command

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
)

// shell is an agent that is a shell script, which may ask.
func shell(t *testing.T, script string) (*Agent, providers.Turn) {
	t.Helper()
	a, err := New(Config{Argv: []string{"/bin/sh", "-c", script}, Asks: true, Acks: AcksAuto})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return a, providers.Turn{ID: "t-" + rand.Text(), Task: "T-2026-001", Role: amp.Executor, Dir: dir, Home: filepath.Join(dir, "home"), Message: []byte(`{"type":"task_dispatch","payload":{"acceptance_criteria":["a"]}}`)}
}

// TestPermission: the request reaches Ask as it was made, the program reads the decision while it works, and its input ends with it.
func TestPermission(t *testing.T) {
	t.Parallel()
	a, turn := shell(t, `read -r input
echo '{"event":"permission","id":"p1","type":"run","tool":"sh","command":"make gen","reason":"mocks"}'
read -r decision
echo "{\"event\":\"progress\",\"text\":\"told $(echo "$decision" | tr -d '"')\"}"
echo '{"event":"permission","id":"p2","type":"write","paths":["a","b"]}'
read -r decision
case "$decision" in *'"allow":false'*'no writing'*) echo '{"event":"final","payload":{"x":1}}';; esac
read -r rest || true`)
	var asked []amp.Permission
	turn.Ask = func(_ context.Context, p amp.Permission) providers.Decision {
		asked = append(asked, p)
		return providers.Decision{Allow: p.Type == amp.PermitRun, Reason: "no writing \"here\""}
	}
	var said []string
	out, err := a.Run(t.Context(), turn, func(e providers.Event) {
		if e.Type == providers.EventProgress {
			said = append(said, e.Text)
		}
	})
	if err != nil || string(out.Final) != `{"x":1}` {
		t.Fatalf("Run = %+v, %v; it said %q", out, err, said)
	}
	want := []amp.Permission{
		{Type: amp.PermitRun, Tool: "sh", Command: "make gen", Reason: "mocks"}, {Type: amp.PermitWrite, Paths: []string{"a", "b"}},
	}
	if !slices.EqualFunc(asked, want, func(a, b amp.Permission) bool { return a.Same(&b) && a.Reason == b.Reason }) {
		t.Errorf("asked %+v, want %+v", asked, want)
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "told {event:decision,id:p1,allow:true") }) {
		t.Errorf("it was told %q", said)
	}
}

// TestPermission_withoutAsk: where nobody can be asked the answer is no, not silence.
func TestPermission_withoutAsk(t *testing.T) {
	t.Parallel()
	a, turn := shell(t, `read -r input
echo '{"event":"permission","id":"p1","type":"run","command":"make gen"}'
read -r decision
case "$decision" in *'"allow":false'*) echo '{"event":"final","payload":{"x":1}}';; esac`)
	if out, err := a.Run(t.Context(), turn, func(providers.Event) {}); err != nil || string(out.Final) != `{"x":1}` {
		t.Errorf("Run = %+v, %v", out, err)
	}
}

// TestQuestion: a question takes the place of an answer, and both at once is an error.
func TestQuestion(t *testing.T) {
	t.Parallel()
	a, turn := shell(t, `echo '{"event":"question","text":"Which port?"}'`)
	if out, err := a.Run(t.Context(), turn, func(providers.Event) {}); err != nil || out.Question != "Which port?" || out.Final != nil {
		t.Errorf("Run = %+v, %v", out, err)
	}
	a, turn = shell(t, `echo '{"event":"question","text":"Which port?"}'; echo '{"event":"final","payload":{}}'`)
	if out, err := a.Run(t.Context(), turn, func(providers.Event) {}); err == nil || out.Question != "" {
		t.Errorf("Run = %+v, %v", out, err)
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	for in, broken := range map[string]bool{
		`{"event":"permission","id":"1","type":"run","command":"x"}`:               false,
		`{"event":"permission","id":"1","type":"write","paths":["a"]}`:             false,
		`{"event":"permission","id":"1","type":"tool","request":"{}"}`:             false,
		`{"event":"permission","type":"run","command":"x"}`:                        true,
		`{"event":"permission","id":"1","type":"fly","command":"x"}`:               true,
		`{"event":"permission","id":"1","type":"run"}`:                             true,
		`{"event":"permission","id":"1","type":"write","paths":"a","command":"x"}`: true,
		`{"event":"question","text":" "}`:                                          true,
		`{"event":"question","text":"?"}`:                                          false,
	} {
		if got := parse([]byte(in)).event == isBroken; got != broken {
			t.Errorf("parse(%s): broken = %v", in, got)
		}
	}
}
