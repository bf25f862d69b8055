package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// escalated is a scene with escalations of several types: open ones, decided ones with and without an undo time, one whose task
// ended without a decision about it, one whose words try to draw.
func escalated() *tuitest.Script {
	s := tuitest.NewScript(tuitest.SceneEnd.Add(-50 * time.Hour))
	at := func(before time.Duration) { s.Advance(tuitest.SceneEnd.Add(-before).Sub(s.Now())) }
	bench := s.NewTask("Bench harness").Propose().Approve().Dispatch()
	bench.Escalate(amp.AckTimeoutEsc, amp.Warning, "codex silent for 300 s, delivered twice").Ends(amp.TurnKilled).Proves()
	at(49 * time.Hour)
	bench.Command(amp.Resume, amp.Args{Read: "read 2/3 in 41s", Unread: 1, Digits: "c0de"}, "codex was rate limited; try again")
	at(5 * time.Hour)
	ends := s.NewTask("Index messages by task").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
	ends.EscalateFrom(amp.Executor, amp.UnknownEscalation, amp.Info, "\x1b]0;owned\x07 the \u202efixture is gone\r\x08 [ Approve ]", "\x1b[2Jdo it")
	at(4 * time.Hour)
	ends.Command(amp.Terminate, amp.Args{}, "not needed any more")
	at(72 * time.Minute)
	locked := s.NewTask("Migrate task table v7").Propose(high).Approve().Reject().Reject().Reject()
	locked.Escalate(amp.HallucinationLock, amp.Critical, "rejected 3 of 3 times: F1 recurs in all three").Proves()
	at(18 * time.Minute)
	again := s.NewTask("Watch breathing timer").Propose().Approve().Dispatch()
	again.Escalate(amp.AckTimeoutEsc, amp.Warning, "codex silent for 300 s, delivered twice").Ends(amp.TurnKilled).Proves()
	at(0)
	return s
}

func high(p *amp.Plan) { p.RiskLevel = amp.High }

func TestGolden_escalations(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, escalated(), size.w, size.h)
			shot := func(state string) {
				t.Helper()
				tuitest.Golden(t, "escalations/"+size.name+state, s.Settle())
			}
			s.Press("3").WaitFor("Inbox")
			s.Press("h").WaitFor("Escalations")
			s.Press("G").WaitFor("▌").WaitGone("reading …")
			shot("")
			s.Press("z")
			shot("-zoom")
			s.Press("z", "k").WaitGone("reading …")
			shot("-hostile")
		})
	}
	empty := start(t, tuitest.NewScript(tuitest.SceneEnd), 80, 24)
	empty.goTo(Place{Kind: KindEscalations})
	tuitest.Golden(t, "escalations/80x24-empty", empty.Settle())
	th, err := theme.New("mono", theme.Mono, theme.ASCII)
	if err != nil {
		t.Fatal(err)
	}
	mono := startThemed(t, escalated(), th, 80, 24)
	mono.goTo(Place{Kind: KindEscalations}).WaitFor("snapshot")
	tuitest.Golden(t, "escalations/80x24-mono-ascii", mono.Settle())
}

func TestEscalations_keys(t *testing.T) {
	t.Parallel()
	script := escalated()
	s := start(t, script, 100, 30)
	s.Press(":")
	s.Burst("escalations: every")
	s.Press("enter").WaitFor("Escalations  4").Shows("2 open", "ack_timeout 2", "hallucination_lock 1", "unknown 1")
	s.Press("/")
	s.Burst("type:ack_timeot").Shows("did you mean \"ack_timeout\"", "Escalations  4")
	s.Press("backspace", "backspace")
	s.Burst("out agent:codex").Shows("Escalations  2 of 4").Hides("hallucination_lock")
	s.Press("enter", "f").Shows("only open ones", "Escalations  1 of 4")
	s.Press("f").Shows("only decided ones").WaitFor("read 2/3 in 41s")
	s.Shows("resume by mira", "after 1:00:00", "1 unread", "digits c0de", "codex was rate limited; try again", "task_status dispatched")
	s.Press("t").WaitFor("Tasks › T-2026-001")
	s.Press("esc").WaitFor("only decided ones")
	s.Press("esc").Shows("Escalations  2 of 4")
	s.Press("esc").Shows("Escalations  4")
	s.Press("g", "enter").WaitFor("codex silent").Shows("Inbox ›")
	s.Press("esc").WaitFor("Escalations  4")

	// what is decided elsewhere is seen at once
	waits := script.Task("T-2026-004")
	s.Shows("not yet")
	script.Append(amp.KindCommand, waits.ID, amp.Admin, "jan", amp.EncodeBody(&amp.Command{
		ID: "theirs", Command: amp.Resume, By: "jan", At: script.Now(), TaskID: waits.ID, Note: "mine now",
	}))
	s.WaitFor("resume by jan").WaitFor("mine now")
	if n := script.Queries(amp.QueryEntries); n > 24 {
		t.Errorf("%d queries", n)
	}
}

func TestEscalations_export(t *testing.T) {
	t.Parallel()
	m := still(t, escalated(), 100, 30)
	m.env.Go(Place{Kind: KindEscalations})
	x := m.nav.top().page.(*escalationsPage).Export()
	if x.Total != 4 || x.Query != "" {
		t.Errorf("export = %+v", x)
	}
	rows, err := x.Next(t.Context())
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	last := rows[3]
	r, ok := last.Value.(amp.EscalationRecord)
	if !ok || r.Evidence == nil || r.Evidence.Note != "codex was rate limited; try again" || r.DecidedAfter != 3600 {
		t.Errorf("the first escalation is exported as %+v", last.Value)
	}
	if got := strings.Join(last.Cells, "|"); !strings.Contains(got, "resume by mira|3600|") || !strings.Contains(got, "read 2/3 in 41s") {
		t.Errorf("cells = %s", got)
	}
	if rows, err := x.Next(t.Context()); len(rows) != 0 || err != nil {
		t.Errorf("then %d rows, %v", len(rows), err)
	}
}

func TestEscalations_everySize(t *testing.T) {
	t.Parallel()
	m := still(t, escalated(), 80, 24)
	m.env.Go(Place{Kind: KindEscalations})
	p := m.nav.top().page.(*escalationsPage)
	for range p.rows {
		if cmd := p.read(); cmd != nil {
			m.Update(cmd())
		}
		p.list.Move(1)
	}
	roam(t, m, []Place{{Kind: KindEscalations}}, []string{"?", "tab", "j", "k", "G", "g", "z", "enter", "esc", "/", "f", "t", "y", "!"})
}

func TestRefusals_export(t *testing.T) {
	t.Parallel()
	m := still(t, refusals(), 80, 24)
	m.env.Go(Place{Kind: KindErrors})
	p := m.nav.top().page.(*refusalPage)
	p.only = "AMP-085"
	x := p.Export()
	rows, err := x.Next(t.Context())
	if err != nil || len(rows) != 14 || x.Query != "rule AMP-085" {
		t.Fatalf("%d rows of %q, %v", len(rows), x.Query, err)
	}
	if r, ok := rows[0].Value.(refusalRecord); !ok || len(r.Raw) != r.RawLen || r.Means == "" || r.Seq == 0 {
		t.Errorf("value = %+v", rows[0].Value)
	}
	if rows, err := x.Next(t.Context()); len(rows) != 0 || err != nil {
		t.Errorf("then %d rows, %v", len(rows), err)
	}
	gone := errors.New("the socket is gone")
	m.env.Fail(gone)
	if rows, err := newFailurePage(m.env).Export().Next(t.Context()); err != nil || len(rows) != 1 || rows[0].Cells[1] != gone.Error() {
		t.Errorf("failures: %v, %v", rows, err)
	}
}
