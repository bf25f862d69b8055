package coordinator

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"arbiter/amp"
)

// external judges a result by the checks that ran elsewhere on its commit (AMP-113): what failed becomes a failed CI run, what the plan
// requires is waited for, and silence is never a yes. waits says that no review is to be requested now.
func (c *Coordinator) external(t *amp.Task, now time.Time) (records []amp.Record, waits bool) {
	ck := amp.Check{Subject: amp.CheckCI, For: t.Result.MsgID, Commit: t.Commit, Base: t.Base, CI: maps.Clone(t.CI)}
	failed := false
	settle := func(x *amp.ExternalCI, finding amp.Finding) {
		ck.CI[x.Name] = string(x.State)
		ck.Claims = append(ck.Claims, amp.Claim{
			Name: "ci", Finding: finding, Claimed: x.Name, Found: string(x.State), Evidence: fmt.Sprintf("entry %d, from %s", x.Seq, x.Source),
		})
	}
	for _, gate := range t.Gates() {
		if x := t.ExternalState(gate); x != nil && x.State == amp.CheckFailed {
			settle(x, amp.Refuted)
			failed = true
		}
	}
	missing := t.Missing()
	var open []string
	for _, name := range missing {
		switch x := t.ExternalState(name); {
		case x == nil:
			open = append(open, name+" said nothing")
		case x.State == amp.CheckPassed:
			settle(x, amp.Confirmed)
		case x.State != amp.CheckFailed:
			open = append(open, fmt.Sprintf("%s is %s", name, x.State))
		}
	}
	switch {
	case failed:
		ck.Text = "a check that ran elsewhere failed"
	case len(missing) == 0:
		return nil, false
	case len(open) == 0:
		ck.Text = "every check that the plan requires has passed elsewhere"
	case !now.Before(t.MissingUntil()):
		return []amp.Record{c.escalate(t, now, alarm{typ: amp.CIFailure, text: fmt.Sprintf(
			"The plan of %s requires checks that run elsewhere, and on %s they have not passed in time: %s. No review was requested. "+
				"Suspended until you decide; after a resume they are waited for again.", t.ID, short(t.Commit), strings.Join(open, "; "))})}, true
	default:
		return nil, true
	}
	return []amp.Record{c.check(t, now, ck)}, true
}
