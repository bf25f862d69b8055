package amp_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"arbiter/amp"
)

// checkUsage compares what the board sums up with the tasks that it comes from.
func checkUsage(r *rapid.T, b *amp.Board) {
	waits := 0
	var tasks, days amp.Usage
	for _, t := range b.Tasks {
		tasks = tasks.Plus(t.Usage)
		if t.Status.Ended() {
			continue
		}
		waits += len(t.Needs())
		if t.Status == amp.Suspended && len(t.Raised()) == 0 {
			r.Fatalf("%s is suspended, and nobody is told: %+v", t.ID, t)
		}
	}
	for i := range b.Usage {
		for _, d := range b.Usage[i].Days {
			days = days.Plus(d.Usage)
			if o := d.Outcomes; o.OK+o.Failed+o.Invalid+o.Killed+o.Timeout+o.Lost != d.Turns {
				r.Fatalf("%s on %s: outcomes %+v of %d turns", b.Usage[i].Agent, d.Day, o, d.Turns)
			}
		}
	}
	if waits != b.Waits {
		r.Fatalf("%d things wait, the board says %d", waits, b.Waits)
	}
	if tasks != days {
		r.Fatalf("the tasks used %+v, the days of the agents %+v", tasks, days)
	}
	if n := len(b.Hours); n > 0 && b.Hours[n-1].Waits != b.Waits || n == 0 && b.Waits != 0 {
		r.Fatalf("%d wait, the hours are %+v", b.Waits, b.Hours)
	}
}

// spender appends ends of turns to a board.
type spender struct {
	t *testing.T
	b *amp.Board
}

func newSpender(t *testing.T) *spender {
	t.Helper()
	s := &spender{t, amp.NewBoard()}
	s.add(amp.KindCommand, "T-2026-001", time.Unix(0, 0), amp.EncodeBody(&amp.Command{ID: "c", Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "w"}}}))
	return s
}

func (s *spender) add(k amp.Kind, task amp.TaskID, at time.Time, body []byte) {
	s.t.Helper()
	e := s.b.Head.Chain(amp.Record{Kind: k, TaskID: task, At: at, ID: fmt.Sprint(s.b.Head.Seq), Body: body})
	if err := s.b.Apply(e); err != nil {
		s.t.Fatal(err)
	}
}

func (s *spender) end(agent string, at time.Time, u amp.Turn) {
	s.t.Helper()
	u.TurnID, u.TaskID, u.Agent, u.Event = fmt.Sprint("turn-", s.b.Head.Seq), "T-2026-001", agent, amp.TurnEnded
	s.add(amp.KindTurn, "T-2026-001", at, amp.EncodeBody(&u))
}

func TestUsage_days(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	day := time.Date(2026, 2, 26, 23, 59, 59, 0, time.UTC)
	s.end("codex", day, amp.Turn{Outcome: amp.TurnOK, Tokens: 100, CostUSD: 0.1, TookMS: 60_000})
	s.end("codex", day, amp.Turn{Outcome: amp.TurnTimeout, CostUSD: 0.2, Text: "silent: it wrote nothing for 10m0s"})
	s.end("claude", day, amp.Turn{Outcome: amp.TurnKilled, CostUSD: 0.7, Text: "stopped"})
	s.end("codex", day.Add(time.Second), amp.Turn{Outcome: amp.TurnOK, CostUSD: 4})
	a := s.b.UsageOf("codex")
	want := amp.DayUsage{
		Day: "2026-02-26", Usage: amp.Usage{Turns: 2, Tokens: 100, CostUSD: 0.3, TookMS: 60_000},
		Outcomes: amp.Outcomes{OK: 1, Timeout: 1},
	}
	if diff := cmp.Diff(want, a.On(day)); diff != "" {
		t.Errorf("the day (-want +got):\n%s", diff)
	}
	if got := s.b.UsedOn(day); got != (amp.Usage{Turns: 3, Tokens: 100, CostUSD: 1, TookMS: 60_000}) {
		t.Errorf("all agents used %+v", got)
	}
	if got := a.On(day.AddDate(0, 0, 7)); got.Turns != 0 {
		t.Errorf("a day without turns = %+v", got)
	}
	if got := s.b.Task("T-2026-001").Usage; got.Turns != 4 || got.CostUSD != 5 {
		t.Errorf("the task used %+v", got)
	}
	if len(a.Last) != 3 || a.Last[1].Why == "" || a.Last[0].Why != "" || !a.Last[1].Outcome.Bad() || amp.TurnKilled.Bad() {
		t.Errorf("the last turns are %+v", a.Last)
	}
	if s.b.UsageOf("nobody") != nil {
		t.Error("an agent without turns has a usage")
	}
}

// TestUsage_waiting: what a turn waited for the admin is no work, and an answer that came late makes none of it less than nothing.
func TestUsage_waiting(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	day := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s.end("codex", day, amp.Turn{Outcome: amp.TurnOK, TookMS: 60_000, WaitedMS: 45_000})
	s.end("codex", day, amp.Turn{Outcome: amp.TurnOK, TookMS: 1_000, WaitedMS: 2_000})
	if got := s.b.UsageOf("codex").On(day).Took(); got != 15*time.Second {
		t.Errorf("the turns worked %s, want 15s", got)
	}
}

// TestUsage_bounded: however long a journal is, what the board keeps of it has a bound, and what it keeps is the newest.
func TestUsage_bounded(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	day := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("é", 500)
	for i := range amp.UsageDays + 20 {
		s.end("codex", day.AddDate(0, 0, i), amp.Turn{Outcome: amp.TurnFailed, Text: "x" + long, CostUSD: 1})
	}
	a := s.b.UsageOf("codex")
	if len(a.Days) != amp.UsageDays || a.Days[0].Day != "2026-01-21" || len(a.Last) != amp.UsageTurns {
		t.Errorf("%d days from %s, %d turns", len(a.Days), a.Days[0].Day, len(a.Last))
	}
	if why := a.Last[0].Why; len(why) > 160 || !utf8.ValidString(why) {
		t.Errorf("why is %q", why)
	}
	s.end("codex", day, amp.Turn{Outcome: amp.TurnOK}) // a clock that went back
	if a := s.b.UsageOf("codex"); len(a.Days) != amp.UsageDays || a.Days[0].Day != "2026-01-21" {
		t.Errorf("an old day came in: %s", a.Days[0].Day)
	}
	for i := range amp.UsageAgents + 5 {
		s.end(fmt.Sprint("agent-", i), day.AddDate(0, 3, 0), amp.Turn{Outcome: amp.TurnOK})
	}
	if len(s.b.Usage) != amp.UsageAgents || s.b.UsageOf("codex") != nil || s.b.UsageOf(fmt.Sprint("agent-", amp.UsageAgents+4)) == nil {
		t.Errorf("%d agents are kept", len(s.b.Usage))
	}
	if n := len(amp.EncodeBody(s.b)); n > 64<<10 {
		t.Errorf("the board has %d bytes", n)
	}
}

// TestUsage_hostile: a journal that claims absurd numbers stays a board that can be written down.
func TestUsage_hostile(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	at := time.Date(2026, 2, 26, 12, 0, 0, 0, time.UTC)
	for range 3 {
		s.end("codex", at, amp.Turn{CostUSD: math.MaxFloat64, Tokens: math.MaxInt64, TookMS: math.MaxInt64, Outcome: "very well"})
		s.end("codex", at, amp.Turn{CostUSD: -5, Tokens: -5, TookMS: -5})
	}
	d := s.b.UsageOf("codex").On(at)
	if d.CostUSD <= 0 || math.IsInf(d.CostUSD, 0) || d.Tokens <= 0 || d.Took() <= 0 || d.Failed != 6 {
		t.Errorf("the day = %+v", d)
	}
	amp.EncodeBody(s.b)
}

// TestUsage_shared: a store takes a board back by a copy of its fields, so a fold must not write into what the copy shares.
func TestUsage_shared(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	at := time.Date(2026, 2, 26, 12, 0, 0, 0, time.UTC)
	s.end("codex", at, amp.Turn{Outcome: amp.TurnOK, CostUSD: 1})
	s.add(amp.KindQuestion, "T-2026-001", at, amp.EncodeBody(&amp.Question{QuestionID: "q"}))
	before := *s.b
	want := state(t, &amp.Board{Usage: before.Usage, Hours: before.Hours})
	for i := range 15 {
		s.end("codex", at.Add(time.Duration(i)*13*time.Hour), amp.Turn{Outcome: amp.TurnFailed, CostUSD: 1})
		s.end("claude", at, amp.Turn{Outcome: amp.TurnOK})
		s.add(amp.KindQuestion, "T-2026-001", at.Add(time.Duration(i)*time.Minute), amp.EncodeBody(&amp.Question{QuestionID: "q"}))
	}
	if diff := cmp.Diff(want, state(t, &amp.Board{Usage: before.Usage, Hours: before.Hours})); diff != "" {
		t.Errorf("the copy changed (-before +after):\n%s", diff)
	}
}

func TestHours(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	at := time.Date(2026, 2, 26, 2, 30, 0, 0, time.UTC)
	verdict := func(at time.Time, d amp.Decision) {
		yes := true
		m := &amp.Message{
			ProtocolVersion: amp.Version, Type: amp.ReviewVerdict, From: amp.Reviewer, To: amp.Coordinator, TaskID: "T-2026-001",
			Timestamp: amp.FormatTime(at), RequiresAck: true, MsgID: amp.NewMsgID(amp.ReviewVerdict, "T-2026-001", at, func(string) bool { return false }),
			Payload: &amp.Verdict{Decision: d, Confidence: 0.9, CriteriaResults: []amp.CriterionResult{{Criterion: "c", Passed: &yes, Evidence: "e"}}},
		}
		if d == amp.Rejected {
			m.Payload.(*amp.Verdict).Issues = []amp.Issue{{Severity: amp.IssueMajor, File: "f", Line: 1, Description: "d", SuggestedFix: "s"}}
		}
		raw, err := amp.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		s.add(amp.KindMessage, "T-2026-001", at, raw)
	}
	s.add(amp.KindQuestion, "T-2026-001", at, amp.EncodeBody(&amp.Question{QuestionID: "q"}))
	verdict(at.Add(time.Hour), amp.Approved)
	verdict(at.Add(time.Hour+time.Minute), amp.Rejected)
	want := []amp.HourFlow{{Hour: amp.HourOf(at), Waits: 1}, {Hour: amp.HourOf(at) + 1, Verdicts: 2, Rejected: 1, Waits: 1}}
	if diff := cmp.Diff(want, s.b.Hours); diff != "" {
		t.Errorf("hours (-want +got):\n%s", diff)
	}
	for i := range 30 {
		verdict(at.Add(time.Duration(i+2)*time.Hour), amp.Approved)
	}
	if n := len(s.b.Hours); n != amp.UsageHours || s.b.Hours[n-1].Hour != amp.HourOf(at)+31 || s.b.Hours[n-1].Waits != 1 {
		t.Errorf("%d hours: %+v", n, s.b.Hours)
	}
}

// TestUsage_memory: what the memory agent took counts as a turn of it, for the day, the task and the agent.
func TestUsage_memory(t *testing.T) {
	t.Parallel()
	s := newSpender(t)
	day := time.Date(2026, 2, 26, 12, 0, 0, 0, time.UTC)
	chain := amp.Chain{TaskID: "T-2026-001", TurnID: "m-1", Stage: amp.StageMemory, Agent: "keeper", Result: amp.ChainHeld, Tokens: 70, CostUSD: 0.5, TookMS: 900}
	s.add(amp.KindChain, "T-2026-001", day, amp.EncodeBody(&chain))
	want := amp.Usage{Turns: 1, Tokens: 70, CostUSD: 0.5, TookMS: 900}
	if got := s.b.UsedOn(day); got != want {
		t.Errorf("the day used %+v, want %+v", got, want)
	}
	if got := s.b.Task("T-2026-001").Usage; got != want {
		t.Errorf("the task used %+v, want %+v", got, want)
	}
	if a := s.b.UsageOf("keeper"); a == nil || a.On(day).Usage != want {
		t.Errorf("the agent used %+v, want %+v", a, want)
	}
	chain.Tokens, chain.CostUSD, chain.TookMS = 0, 0, 0
	s.add(amp.KindChain, "T-2026-001", day, amp.EncodeBody(&chain)) // as it was written once
	if got := s.b.UsedOn(day); got != want {
		t.Errorf("an entry that says nothing of its cost counts: %+v", got)
	}
}
