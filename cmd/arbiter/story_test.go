package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// hostileText is what an agent could write to leave its place on a page: HTML, a picture that is fetched, ends of code, terminal controls.
const hostileText = "HOSTILE `code` ``` <script>x</script> ![p](http://e.invalid/p.png) **b** \x1b[31m\u202e|\n# HOSTILE\n\n```\nHOSTILE\n> HOSTILE\n- HOSTILE"

func TestSaid(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":           "—",
		"plain":      "`plain`",
		"a `b` c":    "`a ˋbˋ c`",
		"<b>![x](y)": "`<b>![x](y)`",
	} {
		if got := said(in); got != want {
			t.Errorf("said(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzMarkdown: whatever was said stays within one span of code or one quoted block.
func FuzzMarkdown(f *testing.F) {
	f.Add(hostileText)
	f.Add("`")
	f.Add("\r\n\x00\u2028x")
	f.Fuzz(func(t *testing.T, text string) {
		if s := said(text); s != "—" && (strings.Count(s, "`") != 2 || s[0] != '`' || s[len(s)-1] != '`' || strings.ContainsAny(s, "\n\r\x1b")) {
			t.Fatalf("said(%q) = %q", text, s)
		}
		var b bytes.Buffer
		m := newMarkdown(&b)
		m.quote(text)
		if err := m.end(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if line != "" && line != ">" && !strings.HasPrefix(line, ">     ") || strings.ContainsAny(line, "\r\x1b\x00") {
				t.Fatalf("quote(%q) has the line %q", text, line)
			}
		}
	})
}

func message(t *testing.T, from, to amp.Role, at time.Time, refs []string, p amp.Payload) amp.Record {
	t.Helper()
	task := ssottest.Task(1)
	m := &amp.Message{
		MsgID: amp.NewMsgID(p.MessageType(), task, at, nil), ProtocolVersion: amp.Version, Type: p.MessageType(), From: from, To: to,
		TaskID: task, Timestamp: amp.FormatTime(at), RequiresAck: p.MessageType() != amp.EscalationMsg, ContextRef: refs, Payload: p,
	}
	body, err := amp.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return amp.Record{Kind: amp.KindMessage, TaskID: task, Role: from, Actor: hostileText, At: at, ID: m.MsgID, Body: body}
}

// hostileJournal is a task in which agents wrote hostile text wherever they can.
func hostileJournal(t *testing.T) *memory.Log {
	t.Helper()
	h, at, task, no := hostileText, ssottest.Start, ssottest.Task(1), false
	fact := func(kind amp.Kind, id string, body any) amp.Record {
		at = at.Add(time.Second)
		return amp.Record{Kind: kind, TaskID: task, Role: amp.Executor, Actor: h, At: at, ID: id, Body: amp.EncodeBody(body)}
	}
	dispatch := ssottest.Dispatch(task, at.Add(time.Minute))
	result := message(t, amp.Executor, amp.Coordinator, at.Add(2*time.Minute), []string{dispatch.ID}, &amp.Result{
		SubtaskID: string(task) + "-S1", CompletionStatus: amp.Partial, DiffSummary: amp.DiffSummary{FilesChanged: []string{h}, LinesAdded: 1},
		SelfAssessment: amp.SelfAssessment{CriteriaMet: []*bool{&no}, Notes: []string{h}}, Blockers: []string{h},
		WorkLog:    []amp.WorkItem{{Timestamp: amp.FormatTime(at), Action: h, File: "a", Detail: h}},
		CommitHash: "0123456789abcdef0123456789abcdef01234567",
	})
	escalation := message(t, amp.Executor, amp.Admin, at.Add(3*time.Minute), []string{dispatch.ID}, &amp.Escalation{
		EscalationType: amp.Conflict, Severity: amp.Warning, TriggeredBy: amp.Executor, Description: h, AffectedMsgs: []string{dispatch.ID},
		SystemStateSnapshot: amp.Snapshot{TaskStatus: amp.Executing}, SuggestedActions: []string{h}, AutoSuspended: true,
	})
	log := memory.New()
	for _, r := range []amp.Record{
		fact(amp.KindCommand, "c1", amp.Command{ID: "c1", Command: amp.Submit, By: h, At: at, TaskID: task, Args: amp.Args{Wish: &amp.Wish{Text: h, Title: h, Repo: h}}}),
		fact(amp.KindPlan, "p1", amp.Plan{
			TaskID: task, Revision: 1, Title: h, Author: h, Reasons: h, Hash: h, Description: h, Repo: h, Branch: h, BaseBranch: h, BaseCommit: h,
			Subtasks: []amp.Subtask{{SubtaskID: h, Description: h}}, AcceptanceCriteria: []string{h}, RiskLevel: amp.RiskLevel(h),
			AllowedPaths: []string{h}, ForbiddenActions: []string{h}, Checks: [][]string{{h, h}},
		}),
		fact(amp.KindCommand, "c2", amp.Command{
			ID: "c2", Command: amp.Approve, By: h, At: at, TaskID: task, Expects: &amp.Expects{Hash: h}, Note: h,
			Args: amp.Args{Read: h, Digits: h, Unread: 1, TookMS: 5},
		}),
		dispatch, result,
		fact(amp.KindCheck, "k1", amp.Check{
			Subject: amp.CheckResult, TaskID: task, For: result.ID, Commit: h, Output: h, Text: h, CI: map[string]string{h: h},
			Claims: []amp.Claim{{Name: h, Finding: amp.Refuted, Claimed: h, Found: h, Evidence: h}},
		}),
		escalation,
		fact(amp.KindQuestion, "q1", amp.Question{QuestionID: "q1", TaskID: task, Type: amp.QuestionPermission, Agent: h, Request: h, Options: []string{h}}),
		fact(amp.KindTurn, "t1", amp.Turn{TurnID: "t", Event: amp.TurnEnded, TaskID: task, Role: amp.Executor, Agent: h, Epoch: 1, Text: h, Outcome: amp.TurnFailed, Tokens: 7}),
		fact(amp.KindRefusal, "r1", amp.Refusal{What: h, TaskID: task, Source: h, Problems: []amp.Problem{{Rule: h, Field: h, Message: h}}}),
		fact(amp.KindCheck, "k2", amp.Check{Subject: amp.CheckWorkspace, TaskID: task, For: "c9", Commit: h, Text: h}),
	} {
		out, err := log.Append(t.Context(), []amp.Record{r})
		if err != nil || out[0].Err != nil {
			t.Fatalf("%s: %+v, %v", r.ID, out, err)
		}
	}
	return log
}

// What agents wrote stands on the page in code only, and nothing of it reaches a terminal as more than text.
func TestStory_hostile(t *testing.T) {
	t.Parallel()
	log := hostileJournal(t)
	b, err := ssot.Fold(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	var out bytes.Buffer
	if err := writeStory(&out, cmd, reading{log}, b.Task(ssottest.Task(1)), b.Head); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, section := range []string{
		"## Wish", "## Plan", "**Approved by", "Round 1", "**partial**", "**REFUTED**", "## Escalations", "Open: nobody", "question (", "## Costs",
		"7 token", "## Delivery", "## Refused", "## Entries", "head was entry 11",
	} {
		if !strings.Contains(page, section) {
			t.Errorf("the page has no %q", section)
		}
	}
	if strings.ContainsAny(page, "\x1b\u202e\r") {
		t.Error("the page has control characters")
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, ">     ") {
			continue
		}
		var rest strings.Builder
		for i, part := range strings.Split(line, "`") {
			if i%2 == 0 {
				rest.WriteString(part)
			}
		}
		if strings.Count(line, "`")%2 != 0 || strings.Contains(rest.String(), "HOSTILE") || strings.Contains(rest.String(), "script") {
			t.Errorf("outside of code: %q", line)
		}
	}
}
