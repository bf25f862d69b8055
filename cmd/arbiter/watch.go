package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/server"
)

func newTaskWatch(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "watch TASK",
		Short: "Follow a task until it needs you (exit code 4) or ends (0 delivered, 1 terminated)",
		Args:  takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			var t *amp.Task
			k, err := a.deskFor(c.Context(), func(b *amp.Board) (err error) {
				t, err = findTask(b, args[0])
				return err
			})
			if err != nil {
				return err
			}
			return a.watch(c.Context(), k.client, t.ID, k.board.Head.Seq)
		}),
	}
}

// errStands ends the following of a task that stands still.
var errStands = errors.New("the task stands still")

// watch prints the entries of a task after seq until it waits for a person or has ended, and says which as an error.
func (a *app) watch(ctx context.Context, c *server.Client, id amp.TaskID, after uint64) error {
	b, err := board(ctx, c)
	if err != nil {
		return err
	}
	if after < b.Head.Seq { // what came between the decision and this look
		if err := a.printBetween(ctx, c, id, after, b.Head.Seq); err != nil {
			return err
		}
	}
	if !stands(b, b.Task(id)) {
		err = c.Follow(ctx, b.Head.Seq, func(batch []amp.Entry) error {
			for i := range batch {
				if err := b.Apply(batch[i]); err != nil {
					return err
				}
				if batch[i].TaskID == id {
					a.printEntry(&batch[i])
				}
			}
			if stands(b, b.Task(id)) {
				return errStands
			}
			return a.stdoutErr
		})
		if !errors.Is(err, errStands) {
			return err
		}
	}
	return a.stood(b, b.Task(id))
}

func (a *app) printBetween(ctx context.Context, q querier, id amp.TaskID, after, head uint64) error {
	for after < head {
		page, err := q.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{TaskID: id, After: after, Before: head + 1}})
		if err != nil {
			return err
		}
		for i := range page.Entries {
			a.printEntry(&page.Entries[i])
		}
		if !page.More || len(page.Entries) == 0 {
			return nil
		}
		after = page.Entries[len(page.Entries)-1].Seq
	}
	return nil
}

func (a *app) printEntry(e *amp.Entry) {
	if a.json {
		a.outJSON(e)
		return
	}
	t := &table{}
	t.addEntries([]amp.Entry{*e})
	t.print(a)
}

// stands reports whether the task cannot go on by itself. A decision with an undo time, and git work for one, still go on.
func stands(b *amp.Board, t *amp.Task) bool {
	switch {
	case t.Status.Ended():
		return true
	case len(t.Waiting) > 0 || t.Doing != nil:
		return false
	}
	return b.Stopped != nil || len(t.Questions) > 0 || !t.Status.Working()
}

// stood says how a watch ended: nil when the task was delivered.
func (a *app) stood(b *amp.Board, t *amp.Task) error {
	waits := waitsFor(t)
	if a.json {
		if waits == nil {
			waits = []waiting{}
		}
		a.outJSON(struct {
			TaskID amp.TaskID `json:"task_id"`
			Status amp.Status `json:"status"`
			Waits  []waiting  `json:"waits"`
		}{t.ID, t.Status, waits})
	}
	switch {
	case t.Status == amp.Delivered:
		return nil
	case t.Status == amp.Terminated && a.json:
		return &quietError{code: exitFailed}
	case t.Status == amp.Terminated:
		return &endedTaskError{t.ID}
	case a.json:
		return &quietError{code: exitWaits}
	case len(waits) > 0:
		return &waitsError{what: fmt.Sprintf("%s is %s and needs you: %s", t.ID, t.Status, waits[0].For), next: waits[0].Next}
	case b.Stopped != nil:
		return &waitsError{what: fmt.Sprintf("%s stands still since %s stopped everything", t.ID, b.Stopped.By), next: "arbiter thaw"}
	}
	return &waitsError{what: fmt.Sprintf("%s is %s and needs you", t.ID, t.Status), next: "arbiter task show " + string(t.ID)}
}

// endedTaskError is a watched task that was terminated.
type endedTaskError struct{ id amp.TaskID }

func (e *endedTaskError) Error() string { return string(e.id) + " was terminated" }
