package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"arbiter/amp"
)

// pullDraft is what the board knows for a pull request; verdict names the message that is read for it.
type pullDraft struct {
	amp.PullDraft
	verdict string
}

func draftOf(t *amp.Task, cmd *amp.Command, head amp.Head) pullDraft {
	d := pullDraft{PullDraft: amp.PullDraft{
		TaskID: t.ID, Title: t.Title, Plan: t.Plan, Approval: t.Approval, Checks: t.Checks, CI: maps.Clone(t.CI), VerdictSeq: verdictSeq(t),
		Head: head, By: cmd.By,
	}}
	if t.Verdict != nil {
		d.verdict = t.Verdict.MsgID
	}
	return d
}

// noPulls is why nothing is delivered by pull request.
const noPulls = "no token for GitHub is configured: add [github] to the configuration"

// complete reads what a pull request says and the board does not hold.
func (c *Coordinator) complete(ctx context.Context, d *pullDraft) error {
	if d.verdict != "" {
		m, err := c.readMessage(ctx, d.verdict)
		if err != nil {
			return err
		}
		d.Verdict, _ = m.Payload.(*amp.Verdict)
	}
	checks, err := c.lookUp(ctx, amp.Filter{TaskID: d.TaskID, Kinds: []amp.Kind{amp.KindCheck}, Newest: true, Limit: 100})
	if err != nil {
		return err
	}
	for i := range checks {
		if k, err := amp.DecodeBody[amp.Check](&checks[i]); err == nil && k.Subject == amp.CheckResult {
			d.Claims = k.Claims
			break
		}
	}
	return nil
}

// queryPull says what a delivery by pull request would send. A task that cannot be delivered now is refused as the delivery would be.
func (c *Coordinator) queryPull(ctx context.Context, id amp.TaskID) (amp.Page, error) {
	if c.cfg.Pulls == nil {
		return amp.Page{}, &amp.RefusedError{What: string(amp.Deliver), Problems: []amp.Problem{{Rule: "policy", Field: "args.pull", Message: noPulls}}}
	}
	ws, err := c.workspaceOf(ctx, id)
	if err != nil {
		return amp.Page{}, err
	}
	var d pullDraft
	var off error
	err = c.view(ctx, func(b *amp.Board) {
		t := b.Task(id)
		off, d = t.Allows(amp.Deliver), draftOf(t, &amp.Command{}, b.Head)
	})
	if err = cmp.Or(err, off); err != nil {
		return amp.Page{}, err
	}
	if err := c.complete(ctx, &d); err != nil {
		return amp.Page{}, err
	}
	p, err := c.cfg.Pulls.Plan(ctx, ws, d.PullDraft)
	return amp.Page{Head: d.Head, Pull: &p}, err
}

// openPull opens the pull request of a delivery, and notes it in the check of the delivery.
func (c *Coordinator) openPull(ctx context.Context, ws amp.Workspace, d pullDraft, ck *amp.Check) error {
	if c.cfg.Pulls == nil {
		return fmt.Errorf("no token for GitHub is configured any more: add [github] to the configuration, then deliver again")
	}
	if err := c.complete(ctx, &d); err != nil {
		return err
	}
	p, err := c.cfg.Pulls.Open(ctx, ws, d.PullDraft)
	if err != nil {
		return err
	}
	ck.Pull = &p
	ck.Text = fmt.Sprintf("%s is pushed at %s; pull request %s: %s", ws.Branch, short(ws.Commit), p.Name(), p.URL)
	ck.Claims = append(ck.Claims, amp.Claim{Name: "pull", Finding: amp.Confirmed, Found: p.Name() + " " + string(p.State)})
	return nil
}
