package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/gitops"
)

// taskNew is what the flags of arbiter task new say.
type taskNew struct {
	file, repo, branch, title, risk, executor, reviewer, note string
	turns                                                     int
	wall                                                      time.Duration
	wait                                                      bool
}

func newTaskNew(a *app) *cobra.Command {
	n := &taskNew{}
	c := &cobra.Command{
		Use:   `new [-f PLAN] [--repo DIR] "wish"`,
		Short: "Start a task from a wish, or from a plan of your own",
		Long: "Start a task. The wish says in your own words what you want done; a plan is drafted from it for your approval.\n" +
			"With -f you bring the plan yourself, as TOML or JSON; arbiter plan show TASK --toml prints one to start from.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && n.file == "" {
				return &usageError{what: "task new needs a wish, or a plan with -f", next: `arbiter task new "what you want done"`}
			}
			if len(args) > 1 {
				return &usageError{
					what: fmt.Sprintf("the wish is %d words without quotes", len(args)), means: "A shell splits words at blanks.",
					next: `arbiter task new "` + strings.Join(args, " ") + `"`,
				}
			}
			return nil
		},
		RunE: a.do(func(c *cobra.Command, args []string) error { return a.taskNew(c, n, strings.Join(args, " ")) }),
	}
	f := c.Flags()
	f.StringVarP(&n.file, "file", "f", "", "a plan as TOML or JSON, - is standard input")
	f.StringVar(&n.repo, "repo", "", "the repository (default the one of this folder)")
	f.StringVar(&n.branch, "branch", "", "the feature branch to work on (default one named after the task)")
	f.StringVar(&n.title, "title", "", "a short title")
	f.StringVar(&n.risk, "risk", "", "low, medium or high (default what the planner says)")
	f.StringVar(&n.executor, "executor", "", "the agent that executes")
	f.StringVar(&n.reviewer, "reviewer", "", "the agent that reviews")
	f.IntVar(&n.turns, "turns", 0, "how many turns the task may have")
	f.DurationVar(&n.wall, "wall", 0, "how much working time all turns together may take")
	f.StringVar(&n.note, "note", "", "a note for the journal")
	f.BoolVar(&n.wait, "wait", false, "then watch the task until it needs you (exit code 4) or ends")
	_ = c.RegisterFlagCompletionFunc("risk", cobra.FixedCompletions([]string{"low", "medium", "high"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return c
}

func (a *app) taskNew(c *cobra.Command, n *taskNew, text string) error {
	ctx := c.Context()
	wish := &amp.Wish{
		Text: strings.TrimSpace(text), Title: n.title, Branch: n.branch, Risk: amp.RiskLevel(n.risk), Executor: n.executor,
		Reviewer: n.reviewer, Budget: amp.Budget{Turns: n.turns, WallSec: int(n.wall.Seconds())},
	}
	if !slices.Contains([]amp.RiskLevel{"", amp.Low, amp.Medium, amp.High}, wish.Risk) {
		return usage("--risk is %q, want low, medium or high", n.risk)
	}
	if n.turns < 0 || n.wall < 0 {
		return usage("--turns and --wall are not negative")
	}
	var plan *amp.Plan
	if n.file != "" {
		var err error
		if plan, err = a.readPlan(n.file); err != nil {
			return err
		}
		n.mergePlan(plan, wish)
	} else if wish.Text == "" {
		return usage("the wish is empty")
	}
	if err := a.place(c, n, wish, plan); err != nil {
		return err
	}
	if plan != nil {
		plan.Repo = wish.Repo
	}
	client, err := a.attach(ctx)
	if err != nil {
		return err
	}
	cmd := newCommand(amp.Submit, n.note)
	cmd.Args = amp.Args{Wish: wish, Plan: plan}
	e, err := a.send(ctx, client, cmd)
	if err != nil {
		return err
	}
	if !a.json {
		a.out("%s is stored as entry %d. Watch it with: arbiter task watch %s\n", e.TaskID, e.Seq, e.TaskID)
	} else {
		a.printDecision(&e, amp.Submit)
	}
	if n.wait {
		return a.watch(ctx, client, e.TaskID, e.Seq)
	}
	return nil
}

// mergePlan lets flags win over the plan file, and gives the wish what the plan says.
func (n *taskNew) mergePlan(p *amp.Plan, w *amp.Wish) {
	pick := func(flag *string, file *string) {
		if *flag == "" {
			*flag = *file
		} else {
			*file = *flag
		}
	}
	pick(&w.Text, &p.Wish)
	pick(&w.Title, &p.Title)
	pick(&w.Branch, &p.Branch)
	pick(&w.Executor, &p.Executor)
	pick(&w.Reviewer, &p.Reviewer)
	if w.Risk == "" {
		w.Risk = p.RiskLevel
	}
	p.RiskLevel = w.Risk
	if w.Text == "" {
		w.Text = p.Description
	}
	if w.Budget == (amp.Budget{}) {
		w.Budget = p.Budget
	}
	p.Budget = w.Budget
}

// place finds the repository of a wish and looks at it. One on another machine is looked at there, when the wish arrives.
func (a *app) place(c *cobra.Command, n *taskNew, w *amp.Wish, p *amp.Plan) error {
	if a.url() != "" {
		if w.Repo = n.repo; w.Repo == "" && p != nil {
			w.Repo = p.Repo
		}
		if !filepath.IsAbs(w.Repo) {
			return usage("--repo is needed").then("Name the repository's full path on the coordinator's machine.")
		}
		return nil
	}
	repo, err := n.repository(p)
	if err != nil {
		return err
	}
	return a.inspect(c, w, repo)
}

// repository is the folder that is meant: the flag's, the plan's, or the one of here.
func (n *taskNew) repository(p *amp.Plan) (string, error) {
	dir := n.repo
	if dir == "" && p != nil {
		dir = p.Repo
	}
	if dir == "" {
		dir = "."
	}
	return repoTop(dir)
}

// inspect looks at the repository before anything is started or stored, and says what a person may have overlooked.
func (a *app) inspect(c *cobra.Command, w *amp.Wish, repo string) error {
	facts, err := a.prepareWish(c.Context(), w, repo)
	if err != nil || a.json {
		return err
	}
	if facts.Detached {
		a.complain(fmt.Sprintf("arbiter: HEAD of %s is detached; work starts from %s at %s", facts.Root, facts.DefaultBranch, short(facts.Head)))
	}
	if facts.Dirty {
		a.complain(fmt.Sprintf("arbiter: %s has changes that are not committed; agents do not see them and do not touch them", facts.Root))
	}
	return nil
}

// prepareWish looks at a repository: one that cannot be worked in is refused. It fills the wish with what the repository's own
// arbiter.toml sets.
func (a *app) prepareWish(ctx context.Context, w *amp.Wish, repo string) (amp.RepoFacts, error) {
	if _, err := loadRepoFile(repo); err != nil {
		return amp.RepoFacts{}, err
	}
	home, err := a.makeHome()
	if err != nil {
		return amp.RepoFacts{}, err
	}
	git, err := gitops.New(gitops.Options{Home: home})
	if err != nil {
		return amp.RepoFacts{}, err
	}
	facts, err := (&repoGuard{Git: git}).Inspect(ctx, repo, w.Branch)
	if err != nil {
		return facts, err
	}
	w.Repo = facts.Root
	own, err := loadRepoFile(facts.Root)
	if err != nil {
		return facts, err
	}
	w.Executor, w.Reviewer = cmp.Or(w.Executor, own.Roles.Executor), cmp.Or(w.Reviewer, own.Roles.Reviewer)
	w.Budget = w.Budget.Or(own.Budget.budget())
	return facts, nil
}

// prepareOnScreen is [app.prepareWish] for a wish whose repository was typed: a folder below it will do, and ~ is the person's home.
func (a *app) prepareOnScreen(ctx context.Context, w *amp.Wish) error {
	if a.url() != "" {
		return nil // the coordinator's machine has it, and looks at it
	}
	dir := w.Repo
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == filepath.Separator) {
		home, err := os.UserHomeDir()
		if err != nil {
			return fmt.Errorf("find the home of ~: %w", err)
		}
		dir = home + rest
	}
	repo, err := repoTop(dir)
	if err != nil {
		return err
	}
	_, err = a.prepareWish(ctx, w, repo)
	return err
}

// repoHere is the top folder of the repository of this folder, empty when there is none.
func repoHere() string {
	top, err := repoTop(".")
	if err != nil {
		return ""
	}
	if there, _ := exists(filepath.Join(top, ".git")); !there {
		return ""
	}
	return top
}
