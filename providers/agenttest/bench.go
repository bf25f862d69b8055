package agenttest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/modeltest"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// bench is one real program with its scripted model.
type bench struct {
	real *Real
	// address is that of the model where it is not its own.
	address string
	tools   bool // it may hand in by our tools
	agent   providers.Agent
	model   *modeltest.Server
	turn    providers.Turn
	log     bytes.Buffer
	events  []providers.Event
}

func (r *Real) bench(t *testing.T, steps ...modeltest.Step) *bench {
	t.Helper()
	return r.benchWith(t, sandbox.Leash{}, func(string) []modeltest.Step { return steps })
}

func (r *Real) benchWith(t *testing.T, leash sandbox.Leash, steps func(work string) []modeltest.Step) *bench {
	t.Helper()
	b := &bench{real: r, turn: newTurn(t, amp.Executor)}
	b.model = modeltest.Start(t, modeltest.Script{Steps: steps(b.turn.Dir)})
	b.agree(t, leash)
	return b
}

// agree makes the agent of the model, and a repository where it works.
func (b *bench) agree(t *testing.T, leash sandbox.Leash) {
	t.Helper()
	r := b.real
	leash.Model.URL = cmp.Or(b.address, b.model.URL()) + r.Suffix
	config := program.Config{Program: r.Program, Model: "scripted", Leash: leash, Env: map[string]string{"NO_PROXY": "127.0.0.1"}}
	maps.Copy(config.Env, r.Env)
	if b.tools {
		config.Tools = r.tools()
		config.Leash.ReadOnly = append(config.Leash.ReadOnly, config.Tools[0])
	}
	agent, err := r.New(config)
	if err != nil {
		t.Fatal(err)
	}
	b.agent = agent
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", b.turn.Dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if b.turn.Log = &b.log; r.AsksAlways {
		b.turn.Ask = func(context.Context, providers.Permission) providers.Decision { return providers.Decision{Allow: true} }
	}
	b.turn.Limits = providers.Limits{Silence: time.Minute, Total: 2 * time.Minute, Grace: 5 * time.Second}
}

// run runs the turn and checks that no process of it is left.
func (b *bench) run(t *testing.T) (providers.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	return b.runIn(ctx, t)
}

func (b *bench) runIn(ctx context.Context, t *testing.T) (providers.Outcome, error) {
	t.Helper()
	b.events = nil
	b.log.Reset()
	out, err := b.agent.Run(ctx, b.turn, func(e providers.Event) { b.events = append(b.events, e) })
	for _, e := range b.events {
		t.Logf("%s %s", e.Type, e.Text)
	}
	t.Logf("final %s, answer %s, text %q, session %s, usage %+v, error %v", out.Final, out.Answer, out.Text, out.Session, out.Usage, err)
	if testing.Verbose() {
		t.Logf("log\n%s", b.log.String())
	}
	if killed, left := sandbox.KillOrphans(b.turn.ID); left != nil || len(killed) > 0 {
		t.Errorf("processes %v were left: %v", killed, left)
	}
	return out, err
}

// record keeps the raw output of the last turn, with what differs between runs replaced.
func (b *bench) record(name string) {
	if b.real.Record == nil {
		return
	}
	raw := strings.NewReplacer(b.turn.Dir, "/work", b.turn.Home, "/home/turn", b.turn.ID, "turn-1", b.model.URL(), "http://127.0.0.1:1").Replace(b.log.String())
	if host, err := os.Hostname(); err == nil {
		raw = strings.ReplaceAll(raw, `"`+host+`"`, `"host"`)
	}
	raw = testFolder.ReplaceAllString(raw, "/test")
	names := map[string]string{}
	raw = unique.ReplaceAllStringFunc(raw, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(names)+1)
		}
		return names[id]
	})
	b.real.Record(name, []byte(proxied.ReplaceAllString(raw, "")))
}

var (
	testFolder = regexp.MustCompile(regexp.QuoteMeta(filepath.Clean(os.TempDir())) + `/(?:Test[^/" ]*|cc-socks)/\d+`)
	proxied    = regexp.MustCompile(`(?m)^\[model\] .*\n`) // what is no program's
	unique     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// said reports whether a line of progress holds the text.
func (b *bench) said(text string) bool {
	for _, e := range b.events {
		if strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}

// conversation is the first request that is part of it behind so many, nil without one.
func (b *bench) conversation(behind int) *modeltest.Request {
	for _, r := range b.model.Requests()[behind:] {
		if r.Step >= 0 {
			return &r
		}
	}
	return nil
}

// took is what the model says that the requests since the first so many took.
func (b *bench) took(since int) (in, out int) {
	for _, r := range b.model.Requests()[since:] {
		switch {
		case r.Step >= 0:
			in, out = in+200, out+40
		case b.real.CountsAll && r.Method == "POST" && !strings.HasSuffix(r.Path, "countTokens"):
			in, out = in+20, out+2
		}
	}
	return in, out
}
