package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
)

// Everything that needs the admin has a sentence and the command that goes on, the gravest first; what is decided is not asked for.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	const id amp.TaskID = "T-2026-001"
	at := time.Unix(1_770_000_000, 0)
	budget := func(options ...string) []amp.QuestionState {
		return []amp.QuestionState{{Question: amp.Question{QuestionID: "q1", Type: amp.QuestionBudget, Request: "turns are used up", Options: options}, Seq: 4, At: at}}
	}
	deliver := amp.Waiting{Command: amp.Command{ID: "c1", Command: amp.Deliver, TaskID: id}, Seq: 9, At: at}
	for name, tc := range map[string]struct {
		task amp.Task
		want []string
	}{
		"plan": {
			amp.Task{Status: amp.AwaitingApproval, Plan: &amp.Plan{RiskLevel: amp.Low}},
			[]string{"approval of the plan, low risk", "arbiter plan show T-2026-001"},
		},
		"delivery":           {amp.Task{Status: amp.StatusApproved}, []string{"delivery", "arbiter deliver T-2026-001"}},
		"delivery, decided":  {amp.Task{Status: amp.StatusApproved, Waiting: []amp.Waiting{deliver}}, nil},
		"delivery under way": {amp.Task{Status: amp.StatusApproved, Doing: &deliver}, nil},
		"delivery that did not run": {
			amp.Task{Status: amp.StatusApproved, Failed: []amp.NotCarriedOut{{CommandID: "c1", Command: amp.Deliver, Seq: 9, Why: "main moved"}}},
			[]string{"deliver was not carried out: main moved", "arbiter task show T-2026-001", "delivery", "arbiter deliver T-2026-001"},
		},
		"budget of the task": {
			amp.Task{Status: amp.Executing, Questions: budget()},
			[]string{"budget question: turns are used up", "arbiter raise-limit T-2026-001 --turns … --wall … --tokens … --cost …"},
		},
		"budget of the day": {
			amp.Task{Status: amp.Executing, Questions: budget(amp.OptionToday)},
			[]string{"budget question: turns are used up", "arbiter answer T-2026-001 --question q1 --option …"},
		},
		"held and escalated": {
			amp.Task{
				Status: amp.Held, Hold: &amp.Hold{Kind: amp.HoldResult, Seq: 5, Why: "a partial result"},
				Escalations: []amp.EscalationState{{MsgID: "e1", Seq: 3, Type: amp.UnknownEscalation, Severity: amp.Warning, Description: "odd"}},
			},
			[]string{"warning escalation unknown: odd", "arbiter escalation show e1", "a partial result", "arbiter task show T-2026-001"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.task.ID = id
			var got []string
			for _, w := range waitsFor(&tc.task) {
				got = append(got, w.For, w.Next)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
