package bus

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"

	"github.com/go-json-experiment/json/jsontext"
)

// asks is a player's request for a permission.
func (p *player) asks(ctx context.Context, m *Message, id string, what any) error {
	return p.say(ctx, m, StatusUpdate, map[string]any{"status": "permission_requested", "permission_id": id, "permission": what}, nil)
}

// decisionIn is the decision that a message holds, as text.
func decisionIn(m *Message) string {
	return strings.Join([]string{textOf(member(m.Payload, "permission_id")), string(member(m.Payload, "allow")), textOf(member(m.Payload, "reason"))}, " ")
}

// A request for a permission waits for the admin however long that takes: the clocks of the turn stand. It is asked once, however often it comes,
// and each decision is for its own request.
func TestAgent_asks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, nil)
		defer stop()
		var told []string
		var request *Message
		scripted(t, b, map[string]func(context.Context, *player, *Message) error{
			bob: func(ctx context.Context, p *player, m *Message) error {
				if m.Type == TaskRequest {
					request = m
					for range 2 {
						_ = p.asks(ctx, m, "p1", map[string]any{"type": "run", "command": "make gen"})
					}
					_ = p.asks(ctx, m, "", map[string]any{"type": "run", "command": "make nothing"})
					return p.asks(ctx, m, "p2", map[string]any{"type": "fly"})
				}
				told = append(told, decisionIn(m))
				if len(told) == 2 {
					_ = p.asks(ctx, request, "p1", map[string]any{"type": "run", "command": "another"})
					return p.say(ctx, request, TaskResponse, map[string]any{"completion_status": "complete"}, nil)
				}
				return nil
			},
		})
		turn := turnOf(dispatch)
		turn.Limits.Silence, turn.Limits.Total = time.Minute, 10*time.Minute
		var asked []amp.Permission
		turn.Ask = func(_ context.Context, p amp.Permission) providers.Decision {
			asked = append(asked, p)
			time.Sleep(3 * time.Hour)
			return providers.Decision{Allow: true, Reason: "go on"}
		}
		_, out, err := run1(t, b, turn)
		if err != nil || string(out.Final) != `{"completion_status":"complete"}` {
			t.Fatalf("Run = %s, %v", out.Final, err)
		}
		if len(asked) != 1 || asked[0].Command != "make gen" {
			t.Errorf("asked %+v", asked)
		}
		want := []string{"p2 false the request does not say what is to be allowed", "p1 true go on"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if got := string(member(request.Metadata["arbiter"], "asks")); got != "true" {
			t.Errorf("the request says asks = %q", got)
		}
		stop()
	})
}

// What a run of the agent asked is withdrawn when another one begins, and when it ended in an error; a word of the one before asks nothing.
func TestAgent_asksInAnotherRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, nil)
		defer stop()
		of := func(run string) map[string]any { return map[string]any{"run": run} }
		said := 0
		scripted(t, b, map[string]func(context.Context, *player, *Message) error{
			bob: func(ctx context.Context, p *player, m *Message) error {
				ask := func(id, run string) {
					said++
					_ = p.say(ctx, m, StatusUpdate, map[string]any{
						"status": "permission_requested", "permission_id": id, "permission": map[string]any{"type": "run", "command": "make " + id},
					}, of(run))
					time.Sleep(time.Second)
				}
				if m.Type != TaskRequest {
					t.Errorf("told %s", m.Raw)
					return nil
				}
				if said > 0 { // asked again after the error
					return p.say(ctx, m, TaskResponse, map[string]any{"completion_status": "complete"}, nil)
				}
				ask("p1", "r1")
				ask("p2", "r1")
				_ = p.say(ctx, m, StatusUpdate, map[string]any{"message": "begins"}, of("r2"))
				time.Sleep(time.Second)
				ask("p3", "r1") // it came late
				ask("p4", "r2")
				return p.say(ctx, m, ErrorMessage, map[string]any{"code": "crashed", "message": "it fell over"}, nil)
			},
		})
		turn := turnOf(dispatch)
		var seen []string
		note := make(chan string)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for s := range note {
				seen = append(seen, s)
			}
		}()
		turn.Ask = func(ctx context.Context, p amp.Permission) providers.Decision {
			note <- p.Command
			<-ctx.Done()
			note <- "not " + p.Command
			return providers.Decision{Allow: true} // for nobody
		}
		if _, _, err := run1(t, b, turn); err != nil {
			t.Error(err)
		}
		close(note)
		<-done
		slices.Sort(seen[2:4]) // they end at once
		if want := []string{"make p1", "make p2", "not make p1", "not make p2", "make p4", "not make p4"}; !slices.Equal(seen, want) {
			t.Errorf("asked %q, want %q", seen, want)
		}
		stop()
	})
}

// A turn in which nobody can be asked says no, and one that ends leaves nothing waiting.
func TestAgent_asksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, nil)
		defer stop()
		var request *Message
		scripted(t, b, map[string]func(context.Context, *player, *Message) error{
			bob: func(ctx context.Context, p *player, m *Message) error {
				if m.Type == TaskRequest {
					request = m
					return p.asks(ctx, m, "p1", map[string]any{"type": "run", "command": "make gen"})
				}
				if got := decisionIn(m); !strings.HasPrefix(got, "p1 false ") {
					t.Errorf("told %q", got)
				}
				return p.say(ctx, request, TaskResponse, map[string]any{"completion_status": "complete"}, nil)
			},
		})
		if _, _, err := run1(t, b, turnOf(dispatch)); err != nil {
			t.Errorf("Run = %v", err)
		}
		if request.Metadata["arbiter"] == nil || member(request.Metadata["arbiter"], "asks") != nil {
			t.Errorf("the request is %s", request.Raw)
		}
		stop()
	})
}

// A turn that is stopped while a permission is asked for ends at once.
func TestAgent_asksAndIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, nil)
		defer stop()
		scripted(t, b, map[string]func(context.Context, *player, *Message) error{
			bob: func(ctx context.Context, p *player, m *Message) error {
				if m.Type != TaskRequest {
					t.Errorf("told %s", m.Raw)
					return nil
				}
				return p.asks(ctx, m, "p1", map[string]any{"type": "run", "command": "make gen"})
			},
		})
		a, err := b.Agent(AgentConfig{Name: "bob", AgentID: bob})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		turn := turnOf(dispatch)
		turn.Ask = func(ctx context.Context, _ amp.Permission) providers.Decision {
			cancel()
			<-ctx.Done()
			return providers.Decision{Allow: true} // too late
		}
		if _, err := a.Run(ctx, turn, func(providers.Event) {}); err == nil {
			t.Error("the turn ended well")
		}
		stop()
	})
}

// What an agent on another machine names is in the turn's folder only when it is in that agent's worktree.
func TestLocalised(t *testing.T) {
	t.Parallel()
	const dir = "/here/w"
	far := &run{agent: &Agent{config: AgentConfig{Repository: refusing{}}}, turn: &providers.Turn{Dir: dir}}
	for in, want := range map[string]string{
		"src/x": dir + "/src/x", "./a/../b": dir + "/b", ".": dir, "../x": "/elsewhere/x", "/tmp/x": "/elsewhere/tmp/x", dir + "/x": "/elsewhere" + dir + "/x",
		"a/../../here/w/x": "/elsewhere/here/w/x", "": "/elsewhere", "/": "/elsewhere", "/../here/w": "/elsewhere/here/w",
	} {
		if got := far.localised(amp.Permission{Type: amp.PermitWrite, Paths: []string{in}}).Paths[0]; got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
		if got := far.localised(amp.Permission{Dir: in}).Dir; in != "" && got != want {
			t.Errorf("the folder %q is %q, want %q", in, got, want)
		}
	}
	near := &run{agent: &Agent{}, turn: &providers.Turn{Dir: dir}}
	if got := near.localised(amp.Permission{Paths: []string{"/tmp/x"}}).Paths[0]; got != "/tmp/x" {
		t.Errorf("an agent in the turn's folder names %q", got)
	}
}

// refusing is a repository that nobody asks.
type refusing struct{ Repository }

// Whatever an agent names, the file is in the turn's folder, and named as it is there, or it is nowhere here.
func FuzzLocalised(f *testing.F) {
	for _, seed := range []string{"a", "../a", "/a", "/here/w/a", "a/../../b", "", "~", "a//b", "./", "\x00", "/elsewhere/../here/w"} {
		f.Add(seed)
	}
	const dir = "/here/w"
	far := &run{agent: &Agent{config: AgentConfig{Repository: refusing{}}}, turn: &providers.Turn{Dir: dir}}
	f.Fuzz(func(t *testing.T, name string) {
		got := far.localised(amp.Permission{Paths: []string{name}}).Paths[0]
		inside := got == dir || strings.HasPrefix(got, dir+"/")
		if got != filepath.Clean(got) || !inside && got != elsewhere && !strings.HasPrefix(got, elsewhere+"/") || inside && strings.HasPrefix(name, "/") {
			t.Errorf("%q is %q", name, got)
		}
	})
}

// Whatever a status_update says, reading it as a request for a permission breaks nothing, and what is asked can be shown.
func FuzzPermissionOf(f *testing.F) {
	f.Add([]byte(`{"status":"permission_requested","permission_id":"1","permission":{"type":"run","command":"x"}}`))
	f.Add([]byte(`{"payload":{"status":"permission_requested","permission":[]}}`))
	f.Add([]byte(`{"status":"permission_requested","permission":{"type":"write","paths":[1]}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		m, _, err := Decode(note("m", ada, bob, func(m *Message) { m.Type = StatusUpdate }))
		if err != nil || !jsontext.Value(payload).IsValid() {
			return
		}
		m.Payload = payload
		if _, p, asked := permissionOf(m); p != nil && (!asked || p.Text() == string(p.Type)+" " && p.Request == "") {
			t.Errorf("%s asks for %+v", payload, p)
		}
	})
}
