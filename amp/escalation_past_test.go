package amp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

// past builds a journal entry by entry.
type past struct {
	t     *testing.T
	board *amp.Board
	log   []amp.Entry
	now   time.Time
}

func newPast(t *testing.T) *past {
	t.Helper()
	return &past{t: t, board: amp.NewBoard(), now: time.Date(2026, 2, 26, 12, 0, 0, 0, time.UTC)}
}

func (p *past) add(kind amp.Kind, task amp.TaskID, id string, body []byte) amp.Entry {
	p.t.Helper()
	e := p.board.Head.Chain(amp.Record{Kind: kind, TaskID: task, Role: amp.Coordinator, Actor: "arbiter", At: p.now, ID: id, Body: body})
	if err := p.board.Apply(e); err != nil {
		p.t.Fatal(err)
	}
	p.log = append(p.log, e)
	return e
}

func (p *past) escalate(task amp.TaskID, typ amp.EscalationType, sev amp.Severity, by amp.Role, affected ...string) string {
	p.t.Helper()
	status := amp.Executing
	if typ == amp.HallucinationLock {
		status = amp.Locked
	}
	m := &amp.Message{
		MsgID: amp.NewMsgID(amp.EscalationMsg, task, p.now, func(string) bool { return false }), ProtocolVersion: amp.Version, Type: amp.EscalationMsg,
		From: by, To: amp.Admin, TaskID: task, Timestamp: amp.FormatTime(p.now), Payload: &amp.Escalation{
			EscalationType: typ, Severity: sev, TriggeredBy: by, Description: "what went wrong", AffectedMsgs: append([]string{}, affected...),
			AutoSuspended: sev != amp.Info, SystemStateSnapshot: amp.Snapshot{TaskStatus: status},
		},
	}
	body, err := amp.Encode(m)
	if err != nil {
		p.t.Fatal(err)
	}
	p.add(amp.KindMessage, task, m.MsgID, body)
	return m.MsgID
}

func (p *past) command(c amp.Command) amp.Entry {
	p.t.Helper()
	c.By, c.At = "mira", p.now
	return p.add(amp.KindCommand, c.TaskID, c.ID, amp.EncodeBody(&c))
}

// ask answers queries as a coordinator does.
func (p *past) ask(_ context.Context, q amp.Query) (page amp.Page, err error) {
	for _, e := range p.log {
		f := q.Filter
		if f.ID != "" && e.ID != f.ID || e.Seq <= f.After || f.Before > 0 && e.Seq >= f.Before || f.TaskID != "" && e.TaskID != f.TaskID ||
			len(f.Kinds) > 0 && e.Kind != f.Kinds[0] {
			continue
		}
		page.Entries = append(page.Entries, e)
	}
	return page, nil
}

const pastTask, endedTask amp.TaskID = "T-2026-001", "T-2026-002"

func history(t *testing.T) *past {
	t.Helper()
	p := newPast(t)
	for _, id := range []amp.TaskID{pastTask, endedTask} {
		p.command(amp.Command{ID: "submit-" + string(id), Command: amp.Submit, TaskID: id, Args: amp.Args{Wish: &amp.Wish{Text: "x", Executor: "codex", Reviewer: "claude"}}})
	}
	first := p.escalate(pastTask, amp.AckTimeoutEsc, amp.Warning, amp.Coordinator, "review_request-T-2026-001-1772107200000")
	p.now = p.now.Add(4 * time.Minute)
	due := p.now.Add(10 * time.Second)
	p.add(amp.KindCheck, pastTask, "check-1", amp.EncodeBody(&amp.Check{
		Subject: amp.CheckResume, TaskID: pastTask, For: "resume-1",
		Claims: []amp.Claim{{Name: "branch", Finding: amp.Confirmed}},
	}))
	p.command(amp.Command{
		ID: "resume-1", Command: amp.Resume, TaskID: pastTask, Note: "try again", Expects: &amp.Expects{Status: amp.Suspended},
		Args: amp.Args{Escalation: first, EffectiveAt: &due, Read: "read 2/3", Unread: 1, Digits: "c0de"},
	})
	p.now = due
	p.add(amp.KindCheck, pastTask, "check-2", amp.EncodeBody(&amp.Check{
		Subject: amp.CheckCommand, TaskID: pastTask, For: "resume-1", Claims: []amp.Claim{{Name: "expects", Finding: amp.Confirmed}},
	}))
	p.now = p.now.Add(time.Hour)
	p.escalate(endedTask, amp.UnknownEscalation, amp.Info, amp.Executor)
	p.now = p.now.Add(20 * time.Minute)
	p.command(amp.Command{ID: "end-2", Command: amp.Terminate, TaskID: endedTask})
	p.now = p.now.Add(time.Minute)
	p.escalate(pastTask, amp.HallucinationLock, amp.Critical, amp.Coordinator)
	return p
}

func TestPastEscalations(t *testing.T) {
	t.Parallel()
	p := history(t)
	list := p.board.PastEscalations(nil)
	if len(list) != 3 || list[0].Type != amp.HallucinationLock || list[2].Type != amp.AckTimeoutEsc {
		t.Fatalf("history = %+v", list)
	}
	lock, unknown, ack := list[0], list[1], list[2]
	if !lock.Open() || lock.Role != amp.Executor || lock.Agent != "codex" {
		t.Errorf("the lock = %+v", lock)
	}
	if ack.Open() || ack.Role != amp.Reviewer || ack.Agent != "claude" || ack.Resolution != amp.Resume || ack.Decision != "resume-1" {
		t.Errorf("the ACK timeout = %+v", ack)
	}
	if decided, carried, ok := ack.Took(); !ok || decided != 4*time.Minute || carried != 4*time.Minute+10*time.Second {
		t.Errorf("it took %v and %v, %t", decided, carried, ok)
	}
	if _, _, ok := lock.Took(); ok {
		t.Error("what is open took no time yet")
	}
	if unknown.Open() || unknown.Resolution != amp.Terminate || unknown.Role != amp.Executor {
		t.Errorf("the unknown one = %+v", unknown)
	}
	totals := amp.TotalsOf(list)
	if totals.Open != 1 || totals.Types[amp.AckTimeoutEsc] != 1 || totals.Median != 12*time.Minute {
		t.Errorf("totals = %+v", totals)
	}
	if empty := amp.TotalsOf(nil); empty.Median != 0 || empty.Open != 0 {
		t.Errorf("totals of nothing = %+v", empty)
	}
}

func TestReadEvidence(t *testing.T) {
	t.Parallel()
	p := history(t)
	list := p.board.PastEscalations(nil)
	ev, err := list[2].ReadEvidence(t.Context(), p.ask)
	if err != nil {
		t.Fatal(err)
	}
	if ev.Seq != 5 || ev.Read != "read 2/3" || ev.Unread != 1 || ev.Digits != "c0de" || ev.Note != "try again" || ev.Expects.Status != amp.Suspended {
		t.Errorf("evidence = %+v", ev)
	}
	if len(ev.Checks) != 2 || ev.Checks[0].Name != "branch" || ev.Checks[1].Name != "expects" {
		t.Errorf("checks = %+v", ev.Checks)
	}
	r := list[2].Record(ev)
	if r.IsOpen || r.DecidedAfter != 240 || r.CarriedOutAfter != 250 || r.Evidence != ev {
		t.Errorf("record = %+v", r)
	}
	if ev, err := list[0].ReadEvidence(t.Context(), p.ask); ev != nil || err != nil {
		t.Errorf("what is open has the evidence %+v, %v", ev, err)
	}
	p.log = nil
	if _, err := list[2].ReadEvidence(t.Context(), p.ask); err == nil {
		t.Error("a decision that is not in the journal was read")
	}
	gone := errors.New("gone")
	if _, err := list[2].ReadEvidence(t.Context(), func(context.Context, amp.Query) (amp.Page, error) { return amp.Page{}, gone }); !errors.Is(err, gone) {
		t.Errorf("err = %v", err)
	}
}

func TestParseEscalationSearch(t *testing.T) {
	t.Parallel()
	p := history(t)
	list := p.board.PastEscalations(nil)
	for text, want := range map[string]string{
		"":                               "lock unknown ack",
		"type:ack_timeout":               "ack",
		"type:ack_timeout type:unknown":  "unknown ack",
		"TYPE:UNKNOWN":                   "unknown",
		"severity:critical":              "lock",
		"task:t-2026-001":                "lock ack",
		"agent:claude":                   "ack",
		"agent:executor":                 "lock unknown",
		"by:mira":                        "unknown ack",
		"is:open":                        "lock",
		"is:closed":                      "unknown ack",
		"is:open is:closed":              "lock unknown ack",
		"-type:ack_timeout":              "lock unknown",
		"-is:open -agent:claude":         "unknown",
		"since:30m":                      "lock unknown",
		"until:2026-02-26T13:00:00Z":     "ack",
		"went wrong resume":              "ack",
		`"went wrong" -resume`:           "lock unknown",
		"nothing like that":              "",
		"since:today until:2026-02-26":   "lock unknown ack",
		"until:2026-02-25":               "",
		"severity:info severity:warning": "unknown ack",
	} {
		s, err := amp.ParseEscalationSearch(text, p.now)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		names := map[amp.EscalationType]string{amp.HallucinationLock: "lock", amp.UnknownEscalation: "unknown", amp.AckTimeoutEsc: "ack"}
		var got []string
		for i := range list {
			if s.Match(&list[i]) {
				got = append(got, names[list[i].Type])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q selects %v, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"type:dance":                   "it is one of hallucination_lock",
		"type:ack_timeot":              `did you mean "ack_timeout"`,
		"sevirity:info":                `did you mean "severity:"`,
		"task:x":                       "is no task",
		"is:red":                       "open, closed",
		"since:soon":                   "is no moment",
		"since:1d since:2d":            "only once",
		"agent:":                       "needs a value",
		strings.Repeat("a ", 1<<12):    "too long",
		"one two -severity:everything": "is none",
	} {
		if _, err := amp.ParseEscalationSearch(text, p.now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}
