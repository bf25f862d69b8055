package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// refusals is a scene with every sort of refusal.
func refusals() *tuitest.Script {
	s := tuitest.NewScript(tuitest.SceneEnd.Add(-30 * time.Hour))
	at := func(before time.Duration) { s.Advance(tuitest.SceneEnd.Add(-before).Sub(s.Now())) }
	old := s.NewTask("Trim verdict prompts").Propose().Approve().Dispatch()
	old.Refused(amp.Problem{Rule: "AMP-078", Field: "payload.self_assessment.criteria_met", Message: "has 2 items, expected 3"}, `{"type":"task_result"}`)
	at(3 * time.Hour)
	s.Refusal(amp.Admin, "jan", amp.Refusal{
		What: "task_dispatch", Source: "cli", Raw: []byte(`{"branch":"refs/heads/main"}`),
		Problems: []amp.Problem{{Rule: "AMP-048", Field: "payload.branch", Message: "is refs/heads/main, which is protected"}},
	})
	at(time.Hour)
	s.Refusal(amp.Admin, "jan", amp.Refusal{
		What: "approve", TaskID: old.ID, Source: "command of jan", Raw: []byte(`{"command":"approve"}`),
		Problems: []amp.Problem{{Rule: amp.RuleExpects, Message: "decided on r2, r3 is current"}},
	})
	at(48 * time.Minute)
	s.Refusal(amp.Executor, "bus", amp.Refusal{
		What: "bytes", Source: "socket", Raw: []byte(`{"msg_id":"task`), RawLen: 4096,
		Problems: []amp.Problem{{Rule: "AMP-004", Message: "is no valid JSON at line 1, column 15: unexpected EOF"}},
	})
	at(34 * time.Minute)
	retry := s.NewTask("Bus retry table").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
	for range 14 {
		retry.Step(40*time.Second).Refused(amp.Problem{
			Rule: "AMP-085", Field: "payload.blockers", Message: "is missing, completion_status is \"partial\"",
		}, `{"msg_id":"task_result-T-2026-041-1772114840231","protocol_version":"AMP/1.0","type":"task_result","from":"executor","note":"`+"\u202e"+`"}`)
	}
	at(8 * time.Minute)
	retry.Late(`{"type":"task_result"}`)
	at(0)
	return s
}

func TestGolden_refusals(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, refusals(), size.w, size.h)
			shot := func(state string) {
				t.Helper()
				tuitest.Golden(t, "errors/"+size.name+state, s.Settle())
			}
			s.Press("7").WaitFor("Refusals").WaitGone("reading …")
			s.Press("j")
			shot("")
			s.Press("x", "r")
			shot("-single-rule")
			s.Press("r", "z")
			shot("-zoom")
		})
	}
}

func TestGolden_refusalStates(t *testing.T) {
	t.Parallel()
	empty := start(t, tuitest.NewScript(tuitest.SceneEnd), 80, 24)
	empty.Press("7").WaitFor("Nothing was refused")
	tuitest.Golden(t, "errors/80x24-empty", empty.Settle())
	empty.Press("p").WaitFor("Nothing went wrong")
	tuitest.Golden(t, "failures/80x24-empty", empty.Settle())

	for _, size := range sizes {
		s := start(t, hostile(), size.w, size.h)
		s.Press("7").WaitFor("Refusals").WaitGone("reading …")
		tuitest.Golden(t, "errors/"+size.name+"-hostile", s.Settle())
		s.Press("z").WaitFor("Raw bytes")
		tuitest.Golden(t, "errors/"+size.name+"-hostile-zoom", s.Settle())
	}

	th, err := theme.New("mono", theme.Mono, theme.ASCII)
	if err != nil {
		t.Fatal(err)
	}
	mono := startThemed(t, refusals(), th, 80, 24)
	mono.Press("7").WaitFor("Refusals").WaitGone("reading ~")
	tuitest.Golden(t, "errors/80x24-mono-ascii", mono.Settle())
}

// hostile is a scene with one refusal in which every string tries to draw.
func hostile() *tuitest.Script {
	s := tuitest.NewScript(tuitest.SceneEnd)
	bad := "\x1b]0;owned\x07\u202eevil\r\x08"
	s.Refusal(amp.Executor, bad+"agent", amp.Refusal{
		What: bad + "what", TaskID: amp.TaskID(bad), Source: bad, Turn: bad, Epoch: 2, Raw: tuitest.Hostile(),
		Problems: []amp.Problem{{Rule: bad, Field: bad, Message: bad + "message"}},
	})
	return s
}

func TestRefusals_seen(t *testing.T) {
	t.Parallel()
	script := refusals()
	s := start(t, script, 80, 24)
	s.Shows("7 Err!19")
	s.Press("7").WaitFor("19 new · 18 today · 19 kept")
	s.Press("j").Shows("14 of the same since")
	s.Press("m").Shows("[7 Err!5]", "5 new") // the whole group
	s.Press("m").Shows("5 new")
	script.NewTask("again").Propose().Approve().Dispatch().Refused(amp.Problem{Rule: "AMP-085", Message: "again"}, "{}")
	s.WaitFor("6 new · 19 today · 20 kept").Shows("×15")
	s.Press("M").Shows("is off: the task is").Shows("6 new") // it delivers, here as everywhere
	s.Press("*").Shows("0 new", "all refusals are marked as seen").Hides("Err!")
	s.Press("*").Shows("all are seen")
}

func TestRefusals_keys(t *testing.T) {
	t.Parallel()
	s := start(t, refusals(), 80, 24)
	s.Press("7").WaitFor("▌ !")
	s.Press("j").Shows("means    the executor stopped half-way and did not say why", "did      not acted on · T-2026-002 is executing now")
	s.Press("r").Shows("rule     blockers string[] required, not empty, when partial or failed")
	s.Press("s").Shows("only AMP-085, esc shows all").Hides("AMP-078")
	s.Press("x").Shows("only AMP-085")
	s.Press("G").Shows("13:58:47")
	s.Press("esc", "x").Shows("AMP-004")
	s.Press("/")
	s.Burst("jan expects")
	s.Press("enter").Shows("decided on r2, r3 is current", "look at the task as it is now (t)").Hides("AMP-085")
	s.Press("t").WaitFor("Tasks › T-2026-001")
	s.Press("7").Shows("/ jan expects")
	s.Press("y").WaitFor(`copied "refusal`)
	s.Press("esc").Shows("AMP-085")
	s.Press("z").Hides("means").Shows("Raw bytes as received")
	s.Press("esc").Shows("means")
	s.Press("tab").Shows("[Raw bytes as received]")
	s.Press("p").WaitFor("Errors of this program")
	s.Press("esc").Shows("Raw bytes as received")
}

// TestRefusals_paging reads a long error log page by page and never whole.
func TestRefusals_paging(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd.Add(-time.Hour))
	story := script.NewTask("noisy").Propose().Approve().Dispatch()
	for i := range 250 {
		script.Advance(time.Second)
		story.Refused(amp.Problem{Rule: fmt.Sprintf("AMP-%03d", 70+i%3), Message: "no"}, "{}")
	}
	s := start(t, script, 80, 24)
	s.Press("7").WaitFor("counted in the newest 100").Shows("×34", "99+")
	s.Press("G").WaitFor("counted in the newest 200").Shows("×67")
	s.Press("m", "G").WaitFor("×84").Hides("counted in", "reading")
	if n := script.Queries(amp.QueryEntries); n > 12 {
		t.Errorf("%d queries for 250 refusals", n)
	}
	// one group of 84, 83 or 83 was marked when 67 or 66 of it were known; those read later count as seen, too
	s.Do(func(e *env) tea.Cmd {
		if n := e.newRefusals(); n != 250-83 && n != 250-84 {
			t.Errorf("%d are new after one of three kinds was marked", n)
		}
		return nil
	})
}

func TestRefusals_long(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	story := script.NewTask("long").Propose().Approve().Dispatch()
	story.RefusedAs("task_result", tuitest.LongLine(3*amp.MaxRaw/2), amp.Problem{Rule: "AMP-004", Message: "is 1,572,864 bytes long"})
	s := start(t, script, 80, 24)
	s.Press("7").WaitFor("1,048,576 of 1,572,864")
	s.Press("z", "G").Shows("▌"[:0]+"│ ", "012345")
	s.Press("w").Shows("w wraps")
	s.Press("l").Shows("│ 89012345")
	s.Resize(60, 14).Shows("Raw bytes")
	s.Press("w").WaitGone("w wraps").Shows("w cut")
}

func TestVisible(t *testing.T) {
	t.Parallel()
	got := visible(tuitest.Hostile())
	for _, want := range []string{"␛]0;owned␇", "<U+202E>", "␍␈␈<0xFF><0xFE><0x9B>0m", "<U+2066>isolate<U+2069>", "␀end"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not show %q", got, want)
		}
	}
	if n := strings.Count(got, "\n"); n != strings.Count(string(tuitest.Hostile()), "\n") {
		t.Errorf("%d line breaks", n)
	}
	rapid.Check(t, func(r *rapid.T) {
		raw := rapid.SliceOf(rapid.Byte()).Draw(r, "raw")
		if rapid.Bool().Draw(r, "long") {
			raw = append(raw, tuitest.LongLine(rawPiece-rapid.IntRange(0, 6).Draw(r, "off"))...)
			raw = append(raw, []byte("é\u202e\n")...)
		}
		w := rapid.IntRange(1, 90).Draw(r, "w")
		text := visible(raw)
		for l := range strings.SplitSeq(text, "\n") {
			if !textsafe.Clean(l) && textsafe.Line(l[:min(len(l), textsafe.MaxLine)]) != l[:min(len(l), textsafe.MaxLine)] {
				r.Fatalf("%q is not safe", l)
			}
		}
		if joined := strings.ReplaceAll(broken(text, w), "\n", ""); joined != strings.ReplaceAll(text, "\n", "") {
			r.Fatalf("breaking changed the text")
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 80, 24)
	s.Press(":")
	s.Burst("#99999")
	s.Press("enter").WaitFor("there is no entry #99999")
	s.Press("7", "p").WaitFor("1 error since it was opened").Shows("what     there is no entry #99999")
	s.Do(func(e *env) tea.Cmd { e.Toast(theme.Danger, "approve was not sent: \x1b[2Joffline"); return nil })
	s.Shows("2 errors since it was opened", "approve was not sent: ␛[2Joffline")
	tuitest.Golden(t, "failures/80x24", s.Settle())
	s.Do(func(e *env) tea.Cmd {
		for range 2 * maxFailures {
			e.Toast(theme.Danger, "one more")
		}
		return nil
	})
	s.Press("G").Shows("200 errors since it was opened")
	s.Press("l").WaitFor("log of the coordinator")
}

func TestRefusals_everySize(t *testing.T) {
	t.Parallel()
	script := refusals()
	script.Refusal(amp.Executor, "\x1b[2Jagent", amp.Refusal{
		What: "\u202ewhat", Raw: append(tuitest.Hostile(), tuitest.LongLine(3*refusalHead)...),
		Problems: []amp.Problem{{Rule: "AMP-001", Field: "承認フロー", Message: "\r\x08 is 承認フローの翻訳 and too long to stand in any row of any screen"}},
	})
	m := still(t, script, 80, 24)
	m.env.Fail(errors.New("\x1b]0;title\x07 the socket is gone"))
	m.env.Go(Place{Kind: KindErrors})
	page, err := script.Query(t.Context(), amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{Kinds: []amp.Kind{amp.KindRefusal}, Newest: true}})
	if err != nil {
		t.Fatal(err)
	}
	p := m.nav.top().page.(*refusalPage)
	p.Update(refusalsMsg{items: refusalsOf(page.Entries), more: true})
	if len(p.rows) != 7 {
		t.Fatalf("%d groups", len(p.rows))
	}
	roam(t, m, []Place{{Kind: KindErrors}, {Kind: KindFailures}},
		[]string{"?", "tab", "x", "j", "k", "G", "g", "z", "enter", "esc", "/", "w", "m", "*", "r", "s", "p", "l", "y", "!"})
}

// TestRefusals_seenAgain ends the program and begins it again: what was seen stays seen, what was refused meanwhile is new.
func TestRefusals_seenAgain(t *testing.T) {
	t.Parallel()
	script := refusals()
	m := still(t, script, 80, 24)
	m.env.desk.seen.markAll(m.env.Board)
	kept, err := json.Marshal(m.keepSeen())
	if err != nil {
		t.Fatal(err)
	}
	script.Refusal(amp.Executor, "codex", amp.Refusal{What: "bytes", Problems: []amp.Problem{{Rule: "AMP-004", Message: "is empty"}}})
	again := still(t, script, 80, 24)
	again.env.saved.parts = map[string]jsontext.Value{"refusals": kept}
	again.takeSeen()
	if n := again.env.newRefusals(); n != 1 {
		t.Errorf("%d are new", n)
	}
}
