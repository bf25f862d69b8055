package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/ssot"
)

func newWhy(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "why FILE:LINE", Short: "Say who approved a line of code, and on what evidence", Args: takes("a FILE:LINE"),
		Long: "Asks git which commit changed a line last, and the journal which task that commit belongs to: its wish, the plan and who approved it,\n" +
			"what of its claims was confirmed, and what the review said. What a commit says of itself is not believed: the task's verified work has\n" +
			"to hold the commit.",
		RunE: a.do(func(c *cobra.Command, args []string) error {
			file, number, _ := cutLast(args[0], ":")
			line, err := strconv.Atoi(number)
			if err != nil || line < 1 || file == "" {
				return usage("%q is no FILE:LINE", args[0]).then("arbiter why main.go:12")
			}
			return a.why(c, file, line)
		}),
	}
}

// origin is what is known of a line.
type origin struct {
	File    string        `json:"file"`
	Line    int           `json:"line"`
	Text    string        `json:"text"`
	Commit  string        `json:"commit,omitzero"`
	Author  string        `json:"author,omitzero"`
	At      time.Time     `json:"at,omitzero"`
	Subject string        `json:"subject,omitzero"`
	TaskID  amp.TaskID    `json:"task_id,omitzero"`
	Status  amp.Status    `json:"status,omitzero"`
	Title   string        `json:"title,omitzero"`
	Wish    string        `json:"wish,omitzero"`
	Plan    string        `json:"plan_hash,omitzero"`
	PlanSeq uint64        `json:"plan_seq,omitzero"`
	First   *amp.Approval `json:"first_approval,omitzero"`
	// Approval is who approved the plan, nil when nobody did; Evidence are the entries that tell how the work was judged.
	Approval *amp.Approval `json:"approval,omitzero"`
	Evidence []amp.Entry   `json:"evidence,omitzero"`
	// Reviewed says that the last verdict saw the commit. Unproven are tasks that the commit names and that do not hold it.
	Reviewed bool         `json:"reviewed"`
	Unproven []amp.TaskID `json:"unproven,omitzero"`
}

func (a *app) why(c *cobra.Command, file string, line int) (err error) {
	log, home, err := a.openJournal(c.Context())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	root, rel, err := inRepo(file)
	if err != nil {
		return err
	}
	git, err := gitops.New(gitops.Options{Home: home})
	if err != nil {
		return err
	}
	from, err := git.Blame(c.Context(), root, rel, line)
	if err != nil {
		return &notFoundError{what: err.Error(), next: "Name a line of a file that git knows: arbiter why FILE:LINE"}
	}
	b, err := ssot.Fold(c.Context(), log)
	if err != nil {
		return err
	}
	o := origin{File: rel, Line: line, Text: from.Text, Commit: from.Commit, Author: from.Author, At: from.At, Subject: from.Subject}
	if from.Commit != "" {
		if err := o.find(c.Context(), git, log, b, root, from.Claims); err != nil {
			return err
		}
	}
	if t := b.Task(o.TaskID); t != nil {
		if err := o.evidence(c, reading{log}, t, b.Head); err != nil {
			return err
		}
	}
	return a.printOrigin(c, reading{log}, &o)
}

// inRepo is the top folder of the repository of a file, and the file's path in it.
func inRepo(file string) (root, rel string, err error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return "", "", fmt.Errorf("find %s: %w", file, err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", err
	}
	if root, err = repoTop(dir); err != nil {
		return "", "", err
	}
	rel, err = filepath.Rel(root, filepath.Join(dir, filepath.Base(file)))
	return root, rel, err
}

// maxTried is how many tasks are asked for a commit that names none.
const maxTried = 200

// find looks for the task whose verified work holds the commit: first those that the commit names, then those whose entries name the
// commit, then the youngest of the repository.
func (o *origin) find(ctx context.Context, git *gitops.Git, log ssot.Log, b *amp.Board, root string, claims []amp.TaskID) error {
	try := slices.Clone(claims)
	found, err := log.Read(ctx, amp.Filter{Search: &amp.Search{Words: []string{o.Commit}}, Newest: true, Limit: 50})
	if err != nil {
		return err
	}
	for i := range found {
		try = append(try, found[i].TaskID)
	}
	for _, id := range slices.Backward(b.Order) {
		if len(try) < maxTried && b.Task(id).Commit != "" {
			try = append(try, id)
		}
	}
	tried := map[amp.TaskID]bool{}
	for i, id := range try {
		t := b.Task(id)
		if tried[id] {
			continue
		}
		tried[id] = true
		in := false
		if t != nil && t.Plan != nil && t.Commit != "" {
			if in, err = git.Within(ctx, root, o.Commit, t.Plan.BaseCommit, t.Commit); err != nil {
				return err
			}
		}
		if !in {
			if i < len(claims) {
				o.Unproven = append(o.Unproven, id)
			}
			continue
		}
		o.TaskID, o.Status, o.Title, o.Plan, o.PlanSeq, o.First, o.Approval = id, t.Status, t.Title, t.Plan.Hash, t.PlanSeq, t.First, t.Approval
		if t.Wish != nil {
			o.Wish = t.Wish.Text
		}
		if t.Reviewed != "" {
			o.Reviewed, err = git.Within(ctx, root, o.Commit, t.Plan.BaseCommit, t.Reviewed)
		}
		return err
	}
	return nil
}

// evidence are the last check of a result, the last of the local CI, the last verdict, and the admin's decisions since the approval.
func (o *origin) evidence(c *cobra.Command, q querier, t *amp.Task, head amp.Head) error {
	last := map[string]amp.Entry{}
	err := eachEntry(c, q, amp.Filter{TaskID: t.ID, Before: head.Seq + 1, Kinds: []amp.Kind{amp.KindMessage, amp.KindCheck, amp.KindCommand}}, func(e *amp.Entry) error {
		switch e.Kind {
		case amp.KindCheck:
			if k, err := amp.DecodeBody[amp.Check](e); err == nil && (k.Subject == amp.CheckResult || k.Subject == amp.CheckCI || k.Subject == amp.CheckWorkspace) {
				last[string(k.Subject)] = *e
			}
		case amp.KindCommand:
			if k, err := amp.DecodeBody[amp.Command](e); err == nil && slices.Contains([]amp.CommandName{amp.Accept, amp.Override, amp.Deliver}, k.Command) {
				last[string(k.Command)] = *e
			}
		default:
			if m, _, err := amp.Decode(e.Body); err == nil && m.Type == amp.ReviewVerdict {
				last[string(m.Type)] = *e
			}
		}
		return nil
	})
	for _, e := range last {
		o.Evidence = append(o.Evidence, e)
	}
	slices.SortFunc(o.Evidence, func(x, y amp.Entry) int { return int(x.Seq) - int(y.Seq) })
	return err
}

func (a *app) printOrigin(c *cobra.Command, q querier, o *origin) error {
	if a.json {
		a.outJSON(o)
	} else if err := a.originTable(c, q, o); err != nil {
		return err
	}
	switch {
	case o.Commit == "":
		return &notFoundError{what: "the line is not committed: nobody has approved it", next: "Commit it, or ask for a line that is."}
	case o.TaskID == "":
		return &notFoundError{what: "no task of this journal holds commit " + short(o.Commit), next: "Ask its author, or another journal: --home DIR"}
	case o.Approval == nil:
		return &notFoundError{what: "the plan of " + string(o.TaskID) + " is not approved", next: "arbiter plan show " + string(o.TaskID)}
	}
	return nil
}

func (a *app) originTable(c *cobra.Command, q querier, o *origin) error {
	t := &table{}
	t.add("line", fmt.Sprintf("%s:%d", o.File, o.Line))
	t.add("text", o.Text)
	if o.Commit != "" {
		t.add("commit", fmt.Sprintf("%s by %s, %s: %s", short(o.Commit), o.Author, utc(o.At), o.Subject))
	}
	for _, id := range o.Unproven {
		t.add("unproven", fmt.Sprintf("the commit or a merge names %s, whose verified work does not hold it", id))
	}
	if o.TaskID != "" {
		t.add("task", fmt.Sprintf("%s %s (%s)", o.TaskID, o.Title, o.Status))
		t.add("wish", o.Wish)
		t.add("plan", fmt.Sprintf("content %s, entry #%d", o.Plan, o.PlanSeq))
	}
	for _, p := range []*amp.Approval{o.First, o.Approval} {
		if p == nil {
			continue
		}
		e, err := findEntry(c, q, fmt.Sprint(p.Seq))
		if err != nil {
			return err
		}
		t.add("approved", fmt.Sprintf("by %s, %s, entry #%d with hash %s%s", p.By, utc(p.At), p.Seq, short(e.Hash.String()), evidence(e)))
	}
	for i := range o.Evidence {
		e := &o.Evidence[i]
		t.add("then", fmt.Sprintf("#%d %s by %s: %s", e.Seq, utc(e.At), e.Actor, entryLine(e)))
	}
	if o.TaskID != "" && !o.Reviewed {
		t.add("review", "no verdict saw this commit")
	}
	t.print(a)
	return nil
}
