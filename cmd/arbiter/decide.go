package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/tui/textsafe"
)

// decision is what the flags of a deciding command say.
type decision struct {
	note string
	hash string
	yes  bool
	undo bool
	wait bool
}

// flags adds what every decision about a task takes.
func (d *decision) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.note, "note", "", "the reason, in your own words")
	f.StringVar(&d.hash, "hash", "", "the content that you decide on, at least 8 digits; refused when it is not the present one")
	f.BoolVar(&d.undo, "undo", false, "carry it out after the undo time only; arbiter withdraw takes it back until then")
	f.BoolVar(&d.wait, "wait", false, "then watch the task until it needs you (exit code 4) or ends")
}

// asks adds --yes to a decision that is confirmed on a terminal.
func (d *decision) asks(c *cobra.Command) {
	c.Flags().BoolVar(&d.yes, "yes", false, "do not ask")
}

// needNote refuses a decision without a reason.
func (d *decision) needNote(c *cobra.Command) error {
	if strings.TrimSpace(d.note) != "" {
		return nil
	}
	return &usageError{
		what: c.CommandPath() + " needs --note", means: "The reason goes into the journal, and to the agents as guidance.",
		next: c.CommandPath() + ` TASK --note "why"`,
	}
}

// desk is where a decision is made: a client, and the board that was looked at.
type desk struct {
	a      *app
	client *server.Client
	board  *amp.Board
}

// deskFor attaches to the coordinator and looks at the board. Before one is started for it, the journal is asked whether what the
// person named is there at all.
func (a *app) deskFor(ctx context.Context, named func(*amp.Board) error) (*desk, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	running, err := a.running(ctx, c)
	if err != nil {
		return nil, err
	}
	if !running {
		err := a.looking(func(l *look) error {
			b, err := board(ctx, l)
			if err != nil {
				return err
			}
			return named(b)
		})
		if err != nil {
			return nil, err
		}
	}
	if c, err = a.attach(ctx); err != nil {
		return nil, err
	}
	b, err := board(ctx, c)
	if err != nil {
		return nil, err
	}
	return &desk{a: a, client: c, board: b}, named(b)
}

// open finds the task that a decision is about and checks that the decision is possible now.
func (a *app) open(ctx context.Context, task string, name amp.CommandName) (k *desk, t *amp.Task, err error) {
	k, err = a.deskFor(ctx, func(b *amp.Board) (err error) {
		t, err = findTask(b, task)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if err := t.Allows(name); err != nil {
		return k, t, err
	}
	me, err := a.admin(ctx)
	if err != nil {
		return k, t, err
	}
	if te, ok := errors.AsType[*amp.TransitionError](t.AllowsBy(name, me)); ok {
		return k, t, &amp.RefusedError{What: string(name), Problems: []amp.Problem{{Rule: "policy", Field: "by", Message: te.Why}}, Next: otherAdmin(t)}
	}
	return k, t, nil
}

// expects is the state that the person saw: status and revision of the task, and the content that the command decides on.
func expects(t *amp.Task, name amp.CommandName, hash string) *amp.Expects {
	x := &amp.Expects{Status: t.Status, Revision: t.Revision, Hash: strings.ToLower(hash)}
	if x.Hash != "" {
		return x
	}
	if name.OnCommit() || name == amp.Approve || name == amp.Reject || name == amp.Revise { // the others decide on the status alone
		x.Hash = t.Content(name)
	}
	return x
}

// submit stores a decision about a task, prints its entry, and watches the task when that was asked for.
func (k *desk) submit(ctx context.Context, t *amp.Task, name amp.CommandName, d *decision, args amp.Args) error {
	args.Undo = d.undo
	cmd := newCommand(name, d.note)
	cmd.TaskID, cmd.Expects, cmd.Args = t.ID, expects(t, name, d.hash), args
	e, err := k.a.send(ctx, k.client, cmd)
	if err != nil {
		return err
	}
	k.a.printDecision(&e, name)
	switch {
	case d.wait:
		return k.a.watch(ctx, k.client, t.ID, e.Seq)
	case name == amp.Approve && t.Plan.TwoAdmins() && t.First == nil:
		return k.a.waitsForSecond(t, cmd.By)
	}
	return nil
}

// waitsForSecond says what the first of two approvals waits for.
func (a *app) waitsForSecond(t *amp.Task, by string) error {
	if a.json {
		return &quietError{code: exitWaits}
	}
	seen := *t
	seen.First = &amp.Approval{By: by}
	return &waitsError{
		what: fmt.Sprintf("the plan of %s waits for a second admin who is not %s", t.ID, seen.NotBy()),
		next: otherAdmin(t),
	}
}

// otherAdmin is what to do where another admin must approve, and the way out for who is the only one: the policy is part of the
// plan, so another policy needs another revision.
func otherAdmin(t *amp.Task) string {
	return fmt.Sprintf(`Another admin runs arbiter plan approve %s --hash %s under an account of their own. If there is none: set `+
		`second_admin = "never" under [policy], then arbiter down, arbiter up, and arbiter plan reject %s --note "one admin is enough"; `+
		`the next revision needs one.`, t.ID, short(t.Plan.Hash), t.ID)
}

// newCommand is a command of the user of this program, decided now.
func newCommand(name amp.CommandName, note string) amp.Command {
	return amp.Command{ID: uuid.Must(uuid.NewV7()).String(), Command: name, By: osUser(), At: time.Now().UTC().Truncate(time.Millisecond), Note: note}
}

// send submits a command. When the connection breaks it is sent again with the same id, which is the same decision.
func (a *app) send(ctx context.Context, c *server.Client, cmd amp.Command) (amp.Entry, error) {
	e, err := c.Submit(ctx, cmd)
	for n := 0; n < 3 && errors.Is(err, server.ErrBroken) && ctx.Err() == nil; n++ {
		again, errAgain := c.Submit(ctx, cmd)
		if errors.Is(errAgain, server.ErrNotRunning) {
			break // it ended meanwhile, before or after it stored the decision
		}
		e, err = again, errAgain
	}
	return e, err
}

// decisionReport is the JSON form of a stored decision.
type decisionReport struct {
	TaskID  amp.TaskID      `json:"task_id,omitzero"`
	Command amp.CommandName `json:"command"`
	ID      string          `json:"id"`
	Seq     uint64          `json:"seq"`
	At      time.Time       `json:"at"`
	// EffectiveAt is when it is carried out, when it has an undo time.
	EffectiveAt *time.Time `json:"effective_at,omitzero"`
}

func (a *app) printDecision(e *amp.Entry, name amp.CommandName) {
	stored, err := amp.DecodeBody[amp.Command](e)
	if err != nil {
		stored = amp.Command{}
	}
	if a.json {
		a.outJSON(decisionReport{TaskID: e.TaskID, Command: name, ID: e.ID, Seq: e.Seq, At: e.At, EffectiveAt: stored.Args.EffectiveAt})
		return
	}
	about := ""
	if e.TaskID != "" {
		about = " of " + string(e.TaskID)
	}
	a.out("%s%s is stored as entry %d.\n", name, about, e.Seq)
	if at := stored.Args.EffectiveAt; at != nil {
		a.out("It is carried out at %s; take it back with: arbiter withdraw %s\n", at.Local().Format(time.TimeOnly), e.ID)
	}
}

// terminal reports whether a person sits at standard input.
func (a *app) terminal() bool {
	f, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// answerable refuses what would have to be confirmed where nobody can be asked, before anything is begun for it: without a terminal the
// person has to have said so, with --yes, or with --hash, which names exactly what is meant.
func (a *app) answerable(c *cobra.Command, d *decision) error {
	if d.yes || d.hash != "" || a.terminal() {
		return nil
	}
	return &usageError{
		what: c.CommandPath() + " needs --yes or --hash, since standard input is no terminal", means: "Nothing was done: nobody could be asked.",
		next: "Repeat it with --yes, or with --hash and the content that you mean.",
	}
}

// confirm asks before something that cannot be taken back.
func (a *app) confirm(c *cobra.Command, d *decision, question string) error {
	if d.yes || d.hash != "" && !a.terminal() {
		return nil
	}
	if err := a.answerable(c, d); err != nil {
		return err
	}
	got, err := a.ask(question + " Type yes: ")
	if err != nil {
		return err
	}
	if strings.ToLower(got) != "yes" {
		return usage("not confirmed").then("Repeat it when you are sure.")
	}
	return nil
}

// ask puts a question on the terminal and reads one line.
func (a *app) ask(question string) (string, error) {
	fmt.Fprint(a.stderr, textsafe.Line(question))
	line, err := bufio.NewReader(a.typed).ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.stderr)
		if errors.Is(err, context.Canceled) {
			return "", err
		}
		return "", usage("no answer was given")
	}
	return strings.TrimSpace(line), nil
}
