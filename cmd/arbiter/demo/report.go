package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/providers/command/scripted"
	"arbiter/ssot"
)

// Report is what a demo came to. Every value is read back from the journal and from git.
type Report struct {
	Tasks       []TaskReport       `json:"tasks"`
	Escalations []EscalationReport `json:"escalations"`
	Journal     JournalReport      `json:"journal"`
	// DefaultBranchUntouched: main and the person's checkout are as they were.
	DefaultBranchUntouched bool `json:"default_branch_untouched"`
}

// TaskReport is one task.
type TaskReport struct {
	TaskID      amp.TaskID  `json:"task_id"`
	Title       string      `json:"title"`
	Status      amp.Status  `json:"status"`
	RejectTotal int         `json:"reject_total"`
	Rounds      int         `json:"rounds"`
	Branch      string      `json:"branch"`
	Commit      string      `json:"commit"`
	Checks      ClaimCounts `json:"checks"`
}

// ClaimCounts sums the claims of a task's checks.
type ClaimCounts struct {
	Confirmed    int `json:"confirmed"`
	Refuted      int `json:"refuted"`
	Inconclusive int `json:"inconclusive"`
}

// EscalationReport is one escalation and the command that resolved it, empty while it is open.
type EscalationReport struct {
	MsgID      string             `json:"msg_id"`
	TaskID     amp.TaskID         `json:"task_id"`
	Type       amp.EscalationType `json:"type"`
	Severity   amp.Severity       `json:"severity"`
	Resolution amp.CommandName    `json:"resolution"`
}

// JournalReport is the journal after a full verification.
type JournalReport struct {
	Entries  uint64   `json:"entries"`
	Head     amp.Hash `json:"head"`
	Verified bool     `json:"verified"`
}

// Report reads back what the demo did.
func (d *Demo) Report(ctx context.Context) (*Report, error) {
	verified, err := d.log.Verify(ctx, nil)
	if err != nil {
		return nil, err
	}
	board, err := d.foldEntries(ctx)
	if err != nil {
		return nil, err
	}
	r := &Report{Tasks: []TaskReport{}, Escalations: []EscalationReport{}, Journal: JournalReport{
		Entries: verified.Entries, Head: board.Head.Hash, Verified: verified.Err(d.Home) == nil,
	}}
	for _, id := range board.Order {
		t := board.Task(id)
		tr := TaskReport{
			TaskID: id, Title: t.Title, Status: t.Status, RejectTotal: t.RejectTotal, Rounds: t.Round,
			Checks: ClaimCounts{t.Checks.Confirmed, t.Checks.Refuted, t.Checks.Inconclusive},
		}
		if t.Plan != nil {
			tr.Branch = t.Plan.Branch
			if tr.Commit, err = d.git(ctx, "rev-parse", "refs/heads/"+tr.Branch); err != nil {
				return nil, err
			}
		}
		r.Tasks = append(r.Tasks, tr)
		for _, e := range t.Escalations {
			r.Escalations = append(r.Escalations, EscalationReport{e.MsgID, id, e.Type, e.Severity, e.Resolution})
		}
	}
	commit, tree, err := d.defaultBranch(ctx)
	r.DefaultBranchUntouched = commit == d.main && tree == d.tree
	return r, err
}

// foldEntries folds the entries themselves, not the store's projection of them.
func (d *Demo) foldEntries(ctx context.Context) (*amp.Board, error) {
	return ssot.Fold(ctx, struct{ ssot.Log }{d.log})
}

// Judge compares a report with what the scenarios promise; each line of the answer is one broken promise.
func (d *Demo) Judge(ctx context.Context, r *Report) ([]string, error) {
	board, err := d.foldEntries(ctx)
	if err != nil {
		return nil, err
	}
	var broken []string
	fail := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	if len(r.Tasks) != len(scripted.Scenarios) {
		fail("%d tasks, want %d", len(r.Tasks), len(scripted.Scenarios))
	}
	for _, tr := range r.Tasks {
		t := board.Task(tr.TaskID)
		s := scenarioOf(t)
		if s == nil {
			fail("%s belongs to no scenario", tr.TaskID)
			continue
		}
		var raised []amp.EscalationType
		for _, e := range t.Escalations {
			raised = append(raised, e.Type)
			if e.Open() {
				fail("%s: the escalation %s is open", s.Name, e.Type)
			}
		}
		if tr.Status != s.Status || tr.RejectTotal != s.Rejects || tr.Rounds != s.Rounds {
			fail("%s: %s after %d rejects in %d rounds, want %s, %d, %d", s.Name, tr.Status, tr.RejectTotal, tr.Rounds, s.Status, s.Rejects, s.Rounds)
		}
		if !slices.Equal(raised, s.Escalations) {
			fail("%s: escalations %v, want %v", s.Name, raised, s.Escalations)
		}
		if s.Refuted && tr.Checks.Refuted == 0 {
			fail("%s: nothing was refuted", s.Name)
		}
		if tr.Status == amp.StatusApproved && tr.Commit != t.Reviewed {
			fail("%s: %s is at %s, reviewed was %s", s.Name, tr.Branch, tr.Commit, t.Reviewed)
		}
		if s.Hold != "" && !d.held(ctx, tr.TaskID) {
			fail("%s: nothing was held", s.Name)
		}
	}
	if !r.Journal.Verified {
		fail("the journal does not verify")
	}
	if !r.DefaultBranchUntouched {
		fail("the default branch or its checkout was touched")
	}
	return broken, nil
}

// held reports whether the history of a task holds the admin's acceptance of something held.
func (d *Demo) held(ctx context.Context, id amp.TaskID) bool {
	entries, err := d.log.Read(ctx, amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindCommand}})
	return err == nil && slices.ContainsFunc(entries, func(e amp.Entry) bool {
		c, err := amp.DecodeBody[amp.Command](&e)
		return err == nil && c.Command == amp.Accept && c.Expects != nil && c.Expects.Status == amp.Held
	})
}

// String is the report for a person: one line for each task.
func (r *Report) String() string {
	var b strings.Builder
	for _, t := range r.Tasks {
		fmt.Fprintf(&b, "%-11s %-10s %-28s rejects %d  rounds %d  claims ✓%d ✗%d ?%d  %.8s\n", t.TaskID, t.Status, t.Title, t.RejectTotal,
			t.Rounds, t.Checks.Confirmed, t.Checks.Refuted, t.Checks.Inconclusive, t.Commit)
	}
	for _, e := range r.Escalations {
		fmt.Fprintf(&b, "%-11s %-10s %s: %s\n", e.TaskID, e.Severity, e.Type, e.Resolution)
	}
	fmt.Fprintf(&b, "journal: %d entries, head %.8s, verified %v; default branch untouched %v\n", r.Journal.Entries, r.Journal.Head,
		r.Journal.Verified, r.DefaultBranchUntouched)
	return b.String()
}
