package coordinator

import (
	"context"
	"time"

	"arbiter/amp"
)

// fix lets the branch follow to the direct fixes of a verdict that counts (AMP-124). Until then they are on no branch, so that of a verdict
// that was fenced, or that the admin dismissed, nothing is left there. Where tasks pass between machines, it is done where the fixes are.
func (c *Coordinator) fix(ctx context.Context, t *amp.Task) {
	if t.Turn != nil {
		return
	}
	ws := t.Workspace()
	c.start(ctx, job{key: "fix/" + string(t.ID)}, t, func(ctx context.Context, _ *tenure) outcome {
		if p := c.passer(); p != nil && !c.ready(ctx, p, candidate{id: ws.TaskID, ws: ws}) {
			return outcome{run: func(t *amp.Task, _ time.Time) []amp.Record {
				c.giveBack(t.ID)
				return nil
			}}
		}
		ck, err := c.cfg.Git.Fix(ctx, ws)
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if t.Behind == "" || t.Commit != ws.Commit {
				return nil
			}
			if err != nil {
				return c.gitAlarm(t, now, "The direct fixes of the review are not on the branch", err)
			}
			ck.Subject, ck.For = amp.CheckFix, t.Behind
			records := []amp.Record{c.check(t, now, ck)}
			if ck.Escalate != "" { // the branch moved after the review (AMP-089)
				records = append(records, c.violation(t, now, ck))
			}
			return records
		}}
	})
}
