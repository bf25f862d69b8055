package tui

import (
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// waitingPlan is a script with one plan that waits.
func waitingPlan(risk amp.RiskLevel, change ...func(*amp.Plan)) func() *tuitest.Script {
	return func() *tuitest.Script {
		s := tuitest.NewScript(begin)
		change := append([]func(*amp.Plan){func(p *amp.Plan) { p.RiskLevel = risk }}, change...)
		s.NewTask("Split planner package").Propose(change...)
		return s
	}
}

func TestPlain_approve(t *testing.T) {
	t.Parallel()
	talking(t, "approve", waitingPlan(amp.Low), func(k *talk) {
		k.hears("One thing needs you: one plan.")
		k.says("4", "1").hears("Plan of T-2026-001, revision 1", "Criterion 1 of 3: «go build ./... and go vet ./... pass»")
		k.says("1").hears("Approve T-2026-001 r1?", "It will not merge; push; touch main", "Type yes to approve")
		k.sent("")
		k.says("yes").hears("Approve T-2026-001 is entry #3: u takes it back for 10 s.")
		c := k.script.Sent()[0]
		if !c.Args.Undo || c.Args.Unread != 0 || !strings.HasPrefix(c.Args.Read, "read 2/2 in ") || c.By != "mira" {
			t.Errorf("command = %+v", c)
		}
		want := amp.Expects{Status: amp.AwaitingApproval, Revision: 1, Hash: k.script.Task("T-2026-001").Plan.Hash}
		if c.Expects == nil || *c.Expects != want {
			t.Errorf("expects = %+v, want %+v", c.Expects, want)
		}
		k.waits(10*time.Second).says("").hears("The approve of T-2026-001 is carried out.", "T-2026-001 is dispatched")
	})
}
