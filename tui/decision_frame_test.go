package tui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// decisionScene is the scene with a plan of two revisions, a decision that was not carried out, and a task whose every
// string is hostile.
func decisionScene() *tuitest.Script {
	s := tuitest.Scene()
	long := strings.Repeat("The steps of this part are long and must be read in full before they are approved. ", 8)
	two := s.NewTask("Planner revisions").Propose(func(p *amp.Plan) {
		p.RiskLevel = amp.High
		p.ForbiddenActions = []string{"change go.mod", "change exported names of internal/dispatch"}
		p.Reasons = "The callers are ported in S2. The file is only kept alive by the build tag."
	})
	two.Command(amp.Reject, amp.Args{}, "split S2").Propose(func(p *amp.Plan) {
		p.Subtasks = append(append([]amp.Subtask{}, p.Subtasks...), amp.Subtask{SubtaskID: "S3", Description: "Delete internal/plan/legacy.go. " + long, EstimatedLines: 40})
		p.AcceptanceCriteria = append(append([]string{}, p.AcceptanceCriteria...), "no exported name of internal/plan disappears")
		p.AllowedPaths = p.AllowedPaths[:1]
	})
	evil := "x\x1b[2J\u202eevil\x07\u200d漢字\r\n\x9b1mwide"
	hostile := s.NewTask(evil).Propose(func(p *amp.Plan) {
		p.Author, p.Reasons, p.Description = evil, evil, evil
		p.Subtasks = []amp.Subtask{{SubtaskID: evil, Description: evil + "\n" + evil, EstimatedLines: 999999}}
		p.AcceptanceCriteria, p.ForbiddenActions, p.AllowedPaths = []string{evil, evil}, []string{evil}, []string{evil}
	}).Approve().Dispatch().Ack(amp.TaskDispatch)
	hostile.AsksAs(amp.QuestionClarification, evil, evil, "allow "+evil)
	hostile.EscalateFrom(amp.Executor, amp.UnknownEscalation, amp.Warning, evil, evil, evil).Proves()
	return s
}

// placesOf are the plan of every task and the card of every item.
func placesOf(m *model) []Place {
	out := []Place{{Kind: KindInbox}, {Kind: KindPlans}, {Kind: KindPlan, ID: "T-2026-999"}, {Kind: KindEscalation, ID: "T-2026-004", Seq: 1}}
	for _, id := range m.env.Board.Order {
		out = append(out, Place{Kind: KindPlan, ID: string(id)})
	}
	for _, n := range m.env.Index.Needs {
		out = append(out, n.Place())
	}
	return out
}

// readAll gives every task's past to a still model.
func readAll(t *testing.T, m *model) {
	t.Helper()
	for _, id := range m.env.Board.Order {
		page, err := m.env.Session.Query(t.Context(), amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{TaskID: id, Newest: true, Limit: pastEntries}})
		if err != nil {
			t.Fatal(err)
		}
		m.env.desk.took(pastMsg{id, m.env.Board.Task(id).LastSeq, page.Entries, nil})
	}
}

func TestDecision_everySize(t *testing.T) {
	t.Parallel()
	m := still(t, decisionScene(), 80, 24)
	m.env.desk.edit = func(string, []byte, int, func([]byte, error) tea.Msg) tea.Cmd { return nil }
	places := placesOf(m)
	keys := []string{
		"A", "R", "E", "O", "X", "M", "S", "e", "o", "1", "2", "3", "4", "5", "d", "n", " ", "f", "T", "j", "k", "g", "G", "z", "/",
		"tab", "enter", "esc", "?", "x",
	}
	rapid.Check(t, func(r *rapid.T) {
		if rapid.Bool().Draw(r, "read") {
			readAll(t, m)
		}
		at := rapid.SampledFrom(places).Draw(r, "place")
		visit(t, m, at)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			w, h := rapid.IntRange(1, 220).Draw(r, "w"), rapid.IntRange(1, 70).Draw(r, "h")
			m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			checkFrame(r, m, string(at.Kind))
			k := rapid.SampledFrom(keys).Draw(r, "key")
			m.Update(key(k))
			checkFrame(r, m, string(at.Kind)+" after "+k)
			if d, ok := m.env.sheet.(*decision); ok && m.overlay == nil && !m.tooSmall() {
				if d.list != nil && !d.list.done {
					d.Update(checklistMsg{check: &amp.Check{Claims: []amp.Claim{{Name: "base", Finding: amp.Refuted, Claimed: "a", Found: "b"}}}})
				}
				if a := d.bar.Ask(); !strings.Contains(m.View(), a.Confirm) {
					r.Fatalf("at %dx%d the buttons of the bar are not seen:\n%s", w, h, m.View())
				}
			}
		}
		m.overlay, m.env.busy = nil, nil
		m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
		for range 8 {
			m.Update(key("esc"))
		}
		if m.sink() != nil {
			r.Fatalf("esc does not lead out of what has the keys")
		}
		if len(m.env.Session.(*tuitest.Script).Sent()) > 0 {
			r.Fatalf("random keys sent a command")
		}
	})
}

func TestDecision_golden(t *testing.T) {
	t.Parallel()
	for _, size := range sizes[:3] {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, decisionScene(), size.w, size.h)
			decisionShots(t, s, size.name+"-truecolor-dark-utf8", size.h >= 20)
		})
	}
	t.Run("mono", func(t *testing.T) {
		t.Parallel()
		th, err := theme.New("mono", theme.Mono, theme.ASCII)
		if err != nil {
			t.Fatal(err)
		}
		decisionShots(t, startThemed(t, decisionScene(), th, 80, 24), "80x24-mono-ascii", true)
	})
}

// decisionShots takes one frame of each page and of its bar.
func decisionShots(t *testing.T, s *seat, name string, bars bool) {
	t.Helper()
	shot := func(page string) {
		t.Helper()
		tuitest.Golden(t, page+"/"+name, s.Settle())
	}
	known := func(id amp.TaskID) *seat {
		t.Helper()
		for {
			ok := false
			s.Do(func(e *env) tea.Cmd { ok = e.desk.past(id).upTo > 0; return nil })
			if ok {
				s.Settle()
				return s
			}
		}
	}
	s.Press("3")
	known("T-2026-004")
	shot("inbox")
	s.Press("4")
	shot("plans")
	s.goTo(Place{Kind: KindPlan, ID: "T-2026-017"})
	known("T-2026-017")
	shot("plan")
	if bars {
		s.Press("n", "R")
		shot("plan-reject-bar")
		s.Press("esc")
	}
	s.Do(func(e *env) tea.Cmd { // everything read, in three minutes
		r := e.desk.reading("T-2026-017")
		for _, st := range e.Board.Task("T-2026-017").Plan.Subtasks {
			r.saw(st)
		}
		r.spent = 192e9
		return nil
	})
	s.Press("A")
	shot("plan-bar")
	s.Press("esc")
	for _, c := range []struct {
		page string
		kind amp.NeedKind
		id   amp.TaskID
		key  string
	}{
		{"escalation", amp.NeedEscalation, "T-2026-004", "1"},
		{"question", amp.NeedQuestion, "T-2026-014", "A"},
		{"held", amp.NeedHeld, "T-2026-009", "A"},
		{"suspended", amp.NeedEscalation, "T-2026-006", "o"},
		{"hostile", amp.NeedEscalation, "T-2026-018", "o"},
	} {
		s.Do(func(e *env) tea.Cmd {
			for _, n := range e.Index.Needs {
				if n.TaskID == c.id && n.Kind == c.kind {
					return e.Go(n.Place())
				}
			}
			t.Errorf("nothing of %s waits", c.id)
			return nil
		})
		known(c.id)
		shot(c.page)
		if bars {
			s.Press(c.key)
			if c.page == "escalation" {
				s.WaitFor(" branch as recorded")
			}
			shot(c.page + "-bar")
			s.Press("esc")
		}
	}
}
