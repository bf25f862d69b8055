package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/providers/command/scripted"
)

// Play runs every scenario with the demo's own admin, who decides as the scenarios say, and returns when each task stands where
// it should, or with what went another way. Run must be running.
func (d *Demo) Play(ctx context.Context, step func(string)) error {
	for _, s := range scripted.Scenarios {
		if _, err := d.Submit(ctx, d.Wish(s, admin)); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		step("wish: " + s.Title)
	}
	p := &player{d: d, step: step, made: map[amp.TaskID]int{}, board: amp.NewBoard()}
	err := d.Follow(ctx, 0, func(entries []amp.Entry) error {
		for _, e := range entries {
			if err := p.board.Apply(e); err != nil {
				return err
			}
		}
		return p.look(ctx)
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

var errDone = errors.New("every scenario has ended")

// player is the admin of a demo that nobody watches.
type player struct {
	d     *Demo
	step  func(string)
	board *amp.Board
	// made counts the decisions of a task after its approval.
	made map[amp.TaskID]int
}

// look decides what is to be decided now; errDone when nothing is left.
func (p *player) look(ctx context.Context) error {
	open := len(scripted.Scenarios) - len(p.board.Order)
	for _, id := range p.board.Order {
		t := p.board.Task(id)
		s := scenarioOf(t)
		if s == nil {
			return fmt.Errorf("%s belongs to no scenario", id)
		}
		if t.Status == s.Status && p.made[id] >= len(s.Decisions) {
			if t.Status.Ended() && !t.Released {
				open++
			}
			continue
		}
		open++
		if err := p.decide(ctx, t, s); err != nil {
			return fmt.Errorf("scenario %s (%s): %w", s.Name, id, err)
		}
	}
	if open == 0 {
		return errDone
	}
	return nil
}

func (p *player) decide(ctx context.Context, t *amp.Task, s *scripted.Scenario) error {
	c, ok := Next(t, s, p.made[t.ID])
	if !ok {
		if t.Status == amp.Held || t.Status == amp.Suspended && t.Proof != 0 {
			return fmt.Errorf("it is %s and the scenario has no decision for that: %s", t.Status, why(t))
		}
		return nil
	}
	c.By = admin
	if _, err := p.d.Submit(ctx, c); err != nil {
		return err
	}
	if c.Command != amp.Approve {
		p.made[t.ID]++
	}
	p.step(fmt.Sprintf("%s: %s %s", t.ID, c.Command, c.Args.Next))
	return nil
}

// Next is the decision that a scenario wants for a task as it stands, after made decisions; ok is false when none is due.
func Next(t *amp.Task, s *scripted.Scenario, made int) (c amp.Command, ok bool) {
	c = amp.Command{ID: fmt.Sprintf("%s-%d", t.ID, t.Revision), TaskID: t.ID, Expects: &amp.Expects{Status: t.Status, Revision: t.Revision}}
	if t.Status == amp.AwaitingApproval && t.Approval == nil {
		c.Command, c.Expects.Hash = amp.Approve, t.Plan.Hash
		c.Args.Read = fmt.Sprintf("read %d/%d", len(t.Plan.Subtasks), len(t.Plan.Subtasks))
		if t.Plan.RiskLevel == amp.High {
			c.Args.Digits = t.Plan.Hash[len(t.Plan.Hash)-4:]
		}
		return c, true
	}
	if made >= len(s.Decisions) {
		return amp.Command{}, false
	}
	want := s.Decisions[made]
	if want.When != t.Status || (t.Status == amp.Suspended || t.Status == amp.Locked) && t.Proof == 0 {
		return amp.Command{}, false
	}
	c.Command, c.Note, c.Args.Next = want.Command, want.Note, want.Next
	return c, true
}

func scenarioOf(t *amp.Task) *scripted.Scenario {
	for i := range scripted.Scenarios {
		if t.Wish != nil && scripted.Scenarios[i].Title == t.Wish.Title {
			return &scripted.Scenarios[i]
		}
	}
	return nil
}

func why(t *amp.Task) string {
	if t.Hold != nil {
		return t.Hold.Why
	}
	if open := t.OpenEscalations(); len(open) > 0 {
		return open[len(open)-1].Description
	}
	return ""
}

// Settle waits until no agent runs any more.
func (d *Demo) Settle(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		page, err := d.Query(ctx, amp.Query{Kind: amp.QueryStatus})
		if err != nil || page.Status.Turns == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
