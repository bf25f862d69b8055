package worker

import (
	"context"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"arbiter/amp"
	"arbiter/providers"
)

// diffFile is the diff of a review_request in the home of its reviewer.
const diffFile = "review.diff"

// bringDiff puts the diff that a reviewer is told of where its program can read it: the request names a file of the coordinator's machine.
func (w *Worker) bringDiff(ctx context.Context, t *task, turn *providers.Turn) error {
	file := filepath.Join(turn.Home, diffFile)
	err := w.persist(ctx, t, "fetch the diff", func() error {
		data, err := w.link(t.Agent).diff(ctx, t.Agent, t.MessageID)
		if err == nil {
			err = renameio.WriteFile(file, data, 0o600) // an agent before may have left a link in its place
		}
		return err
	})
	if err == nil {
		turn.Env = append(turn.Env, "ARBITER_DIFF="+file)
		return nil
	}
	if refused(err) { // there is none, or the coordinator is older: the commits are here
		return os.RemoveAll(file)
	}
	return err
}

// judge says what a turn did to its clone beside its work, and lets go of a reviewer's worktree. A review that moved refs there is void, as it
// would be at the coordinator.
func (w *Worker) judge(ctx context.Context, t *task, turn *providers.Turn, failed error) (amp.Check, error) {
	var check amp.Check
	var err error
	if turn.Role == amp.Reviewer {
		check, err = w.cfg.Git.CloseReview(ctx, turn.Work, turn.ID, nil)
	} else {
		check, err = w.cfg.Git.Verify(ctx, turn.Work, turn.ID, nil, t.MessageID)
	}
	if err != nil {
		w.cfg.Logger.Warn("what the turn did to its clone could not be judged", "task", t.Task, "err", err)
	}
	if failed == nil && turn.Role == amp.Reviewer && check.Blocked() {
		failed = &providers.TurnError{Failure: providers.FailAnswer, Text: "what the reviewer did to its clone voids its verdict: " + refuted(&check)}
	}
	return check, failed
}

// refuted is what a check found to be wrong.
func refuted(c *amp.Check) string {
	found := c.Text
	for _, cl := range c.Claims {
		if cl.Finding == amp.Refuted {
			found = cl.Found
		}
	}
	return found
}

// drop removes the worktree of a review that was interrupted.
func (w *Worker) drop(ctx context.Context, t *task, turn *providers.Turn, run string) {
	if turn.Role != amp.Reviewer || run == "" {
		return
	}
	if _, err := w.cfg.Git.CloseReview(ctx, turn.Work, run, nil); err != nil {
		w.cfg.Logger.Warn("the worktree of a review that was interrupted stays", "task", t.Task, "run", run, "err", err)
	}
}
