package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// busy is the scene with agents that had trouble, cost something, and write.
func busy() *tuitest.Script {
	s := tuitest.Scene()
	bad := s.NewTask("Trim the prompts of the review")
	bad.CostUSD, bad.Tokens = 1.4, 212_345
	bad.Turn(amp.Coordinator, "gemini", "").EndsBecause(amp.TurnInvalid, "the answer was refused: AMP-078 criteria_met has 2 entries \x1b[2J\u202e, expected 3")
	at := s.Task("T-2026-008").Turn
	s.SetLog(at.TurnID, strings.Join([]string{
		`{"event":"ack","status":"accepted"}`, `{"event":"progress","text":"reading explain.go \u001b[2J"}`,
		"go: downloading example.com/x v1.2.3", `{"event":"usage","tokens":1200,"cost_usd":0.04}`, "not json \x1b]0;title\x07 here", "",
	}, "\n"))
	s.Append(amp.KindCheck, "T-2026-006", amp.System, "arbiter", amp.EncodeBody(&amp.Check{
		Subject: amp.CheckSuspension, TaskID: "T-2026-006", Claims: []amp.Claim{
			{Name: "processes", Finding: amp.Confirmed, Found: "every turn has ended and its processes are gone"},
			{Name: "epoch", Finding: amp.Confirmed, Found: "epoch 1 is fenced"},
			{Name: "timers", Finding: amp.Confirmed, Found: "no deadline runs"},
		},
	}))
	s.SetState(func(c *amp.CoordinatorState) {
		c.Agents[amp.Executor] = append(c.Agents[amp.Executor], "local")
		c.Crew = append(c.Crew, amp.AgentFacts{Name: "local", Through: "external", Roles: []amp.Role{amp.Executor}})
		c.Budget = amp.Budget{Turns: 8}
	})
	return s
}

func TestAgents_golden(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, busy(), size.w, size.h)
			shot := func(page string) {
				t.Helper()
				tuitest.Golden(t, page+"/"+size.name+"-truecolor-dark-utf8", s.Settle())
			}
			s.Press("6")
			if size.h >= 14 {
				s.WaitFor("epoch").WaitGone("proven   ")
			}
			shot("agents")
			s.Press("tab").Settle()
			shot("agents-turns")
			s.Press("tab").Settle()
			shot("agents-stopped")
			s.goTo(turnPlace("T-2026-008", s.script.Task("T-2026-008").Turn.TurnID))
			s.WaitGone("reading …")
			shot("turn")
		})
	}
}

func TestAgents_states(t *testing.T) {
	t.Parallel()
	th, err := theme.New("mono", theme.Mono, theme.ASCII)
	if err != nil {
		t.Fatal(err)
	}
	mono := startThemed(t, busy(), th, 80, 24)
	mono.Press("6").WaitFor("epoch").WaitGone("proven   ")
	tuitest.Golden(t, "agents/80x24-mono-ascii", mono.Settle())

	empty := start(t, tuitest.NewScript(tuitest.SceneEnd).SetState(func(c *amp.CoordinatorState) { c.Agents, c.Crew = nil, nil }), 80, 24)
	empty.Press("6")
	tuitest.Golden(t, "agents/80x24-empty", empty.Settle())

	script := busy()
	off := start(t, script, 80, 24)
	off.Press("6").WaitFor("epoch").WaitGone("proven   ")
	script.Cut(errors.New("the socket is gone"))
	off.WaitFor("◌ retry")
	tuitest.Golden(t, "agents/80x24-retry", off.Settle())

	ended := start(t, busy(), 80, 24)
	ended.Press("6", "p").WaitFor("epoch").WaitGone("proven   ")
	ended.Press("/").Burst("gemini").Press("enter")
	ended.Press("enter")
	tuitest.Golden(t, "agents/80x24-past", ended.Settle())
	ended.Press("enter").WaitFor("bad output").WaitGone("reading …")
	tuitest.Golden(t, "turn/80x24-ended", ended.Settle())
}

func TestAgents_keys(t *testing.T) {
	t.Parallel()
	s := start(t, busy(), 80, 24)
	s.Press("6").Shows("▌ codex", "Providers").Hides("log of the turn")
	s.Press("t").Shows("task of the turn is off: an agent is selected")
	s.Press("tab", "j").Shows("▌ T-2026-008", "codex runs 17:40", "«writing explain.go»")
	s.Press("l").WaitFor("progress   reading explain.go").Shows("T-2026-008  Error texts", "follow ●")
	s.Press("esc").Shows("▌ T-2026-008")
	s.Press("t").WaitFor("Tasks › T-2026-008")
	s.Press("esc", "tab").Shows("▌ T-2026-004", "hallucination_lock")
	s.Press("enter").WaitFor("Tasks › T-2026-004")
	s.Press("esc", "tab").Shows("▌ codex") // the last turns of the agent, with the agent still marked
	s.Press("esc").Shows("▌ codex")
	s.Press("enter").Shows("Last turns of codex").Press("enter").WaitFor("ended well")
	s.Press("esc", "z").Hides("Providers").Press("esc").Shows("Providers")
	s.Press("p", "S").WaitFor("stop 6 running turns")
}

func TestAgents_filter(t *testing.T) {
	t.Parallel()
	s := start(t, busy(), 80, 24)
	s.Press("6", "/").WaitFor("keep the filter")
	s.Burst("claude").Shows("▌ claude", "Turns 1 of 8", "T-2026-005").Hides("T-2026-008", "local")
	s.Press("enter").Shows("/ claude", "esc clears")
	s.Press("esc").Shows("T-2026-008", "local").Hides("esc clears")
	s.Press("/").Burst("nobody at all").Shows("Nothing matches. esc clears the filter.")
}

func TestAgents_follow(t *testing.T) {
	t.Parallel()
	script := busy()
	s := start(t, script, 140, 40)
	s.Press("6").WaitFor("Turns 6 of 8").Shows("▲ bad output")
	task := script.NewTask("Port the callers").Propose().Approve().Dispatch()
	s.WaitFor("Turns 7 of 8").Shows(string(task.ID))
	task.CostUSD = 3
	task.Ack(amp.TaskDispatch).EndsBecause(amp.TurnTimeout, "silent: it wrote nothing for 10m0s")
	s.WaitFor("Turns 6 of 8").Shows("$4.32", "✗ too long").Hides("Port the callers  ")
	s.Click(4, 4).Shows("▌ claude", "Last turns of claude").Wheel(4, 3, false).WaitFor("▌ codex")
}

func TestTurn_follows(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	turn := script.Task("T-2026-008").Turn.TurnID
	s := start(t, script, 80, 24)
	at := turnPlace("T-2026-008", turn)
	s.goTo(at).WaitFor("nothing is written yet")
	more := func() { // what the page's own clock does every second
		s.Do(func(e *env) tea.Cmd { return e.nav.top().page.Update(turnPollMsg{}) })
	}
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	script.SetLog(turn, text.String())
	more()
	s.WaitFor("line 59").Hides("line 1 ")
	s.Press("g").Shows("line 0", "follow off").Hides("line 59")
	text.WriteString("line sixty\n")
	script.SetLog(turn, text.String())
	more()
	s.WaitFor("481 B").Shows("line 0").Hides("sixty") // who reads is not carried away
	s.Press("f").Shows("line sixty", "follow ●")
	s.Press("/").Burst("line 7").Press("enter").WaitFor("1 line found").Shows("line 7", "follow off")
	s.Press("x").Shows("Output, as written")

	script.Append(amp.KindTurn, "T-2026-008", amp.Executor, "codex", amp.EncodeBody(&amp.Turn{
		TurnID: turn, Event: amp.TurnEnded, TaskID: "T-2026-008", Role: amp.Executor, Agent: "codex", Epoch: 1, PID: 4001,
		Outcome: amp.TurnFailed, Text: "crashed: exit status 3", TookMS: 1_061_000, CostUSD: 0.5, Exit: new(int),
	}))
	s.WaitFor("✗ failed").Shows("took 17:41", "exit 0", "$0.50", "«crashed: exit status 3»").Hides("follow ●", "follow off")
	n := script.Queries(amp.QueryLog)
	more()
	if got := script.Queries(amp.QueryLog); got > n+1 { // one to have the end of it, none after that
		t.Errorf("%d questions for the output of a turn that has ended", got-n)
	}
}

// TestTurn_asleep: a page that is not on the screen asks nothing, and no two questions are on their way.
func TestTurn_asleep(t *testing.T) {
	t.Parallel()
	script := busy()
	m := still(t, script, 80, 24)
	m.env.Go(turnPlace("T-2026-008", script.Task("T-2026-008").Turn.TurnID))
	p := m.nav.top().page.(*turnPage)
	if p.Update(turnPollMsg{}) != nil {
		t.Error("a second question while the first is on its way")
	}
	p.Update(turnTextMsg{turnText: turnText{"a\n", "a\n"}})
	if !p.polling || p.Update(turnPollMsg{}) == nil {
		t.Error("the page of a running turn does not ask again")
	}
	p.Update(turnTextMsg{turnText: turnText{"a\n", "a\n"}})
	m.env.Go(Place{Kind: KindTask, ID: "T-2026-008"})
	if p.Update(turnPollMsg{}) != nil || p.polling {
		t.Error("a page under another one asks")
	}
	if m.env.Back(); p.Update(shownMsg{}) == nil {
		t.Error("a page that is shown again does not ask")
	}
}

func TestTellLines(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                                   "",
		"plain":                              "plain\n",
		"{\"event\":1}\n":                    "{\"event\":1}\n",
		"{}\r\n{\"a\":1}":                    "{}\n{\"a\":1}\n",
		`{"event":"progress","text":"a\nb"}`: "progress   a b\n",
		`{"event":"ack","status":"refused","reason":"no"}`:             "ack        refused no\n",
		`{"event":"usage","tokens":12,"cost_usd":0.5}`:                 "usage      12 tokens $0.5000\n",
		`{"event":"final","payload":{"a": 1}}`:                         "final      {\"a\": 1}\n",
		`{"event":"dance","x":1}`:                                      "dance      {\"event\":\"dance\",\"x\":1}\n",
		`{"protocol_version":"AMP/1.0","type":"task_result","from":1}`: "message    task_result {\"protocol_version\":\"AMP/1.0\",\"type\":\"task_result\",\"from\":1}\n",
	} {
		if got := tellLines(raw); got != want {
			t.Errorf("tellLines(%q) = %q, want %q", raw, got, want)
		}
	}
}
