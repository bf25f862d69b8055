package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// Journal answers questions about the journal.
type Journal interface {
	Query(ctx context.Context, q amp.Query) (amp.Page, error)
}

// Runner learns from the tasks of a journal. Its passes must not run at the same time.
type Runner struct {
	Store   *Store
	Journal Journal
	// Agent distils what the journal's own facts do not say; nil for none. It is asked about tasks that ended at Since or later.
	Agent *Agent
	Since time.Time
	// Record stores the agent's answer as an entry of its task, with what it took of the model; it is needed with an agent.
	Record func(ctx context.Context, body amp.Chain, used providers.Usage) error
	NewID  func() string
	// Owner is the name of this coordinator where several write one journal: the agent is asked about its tasks alone.
	Owner string
}

// Learned is what one pass came to.
type Learned struct {
	Tasks   []amp.TaskID `json:"tasks"`
	Entries int          `json:"entries"`
	// Dropped are entries of the agent that were not taken, and why.
	Dropped []string `json:"dropped,omitzero"`
}

// maxTries is how often the agent is asked about a task that it gives no usable answer for.
const maxTries = 3

// Run learns from every task that ended since the last pass, also after failure, and from every planning chain that ended in an error (SEN-055). A
// task that was learned from is not looked at again; a pass that is cut off is repeated without effect on what is known already. The
// error tells of agents that could not be asked; the others' lessons are kept.
func (r *Runner) Run(ctx context.Context, now time.Time) (Learned, error) {
	var got Learned
	page, err := r.Journal.Query(ctx, amp.Query{Kind: amp.QueryBoard})
	if err != nil {
		return got, err
	}
	book, err := r.Store.Read()
	if err != nil {
		return got, err
	}
	var errs []error
	for _, id := range page.Board.Order {
		t := page.Board.Task(id)
		mark := markOf(t)
		if mark == "" || book.Done[id] == mark {
			continue
		}
		if err := r.task(ctx, t, mark, book.Tries[id], now, &got); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
		}
		if ctx.Err() != nil {
			return got, ctx.Err()
		}
	}
	return got, errors.Join(errs...)
}

// markOf names what there is to learn from a task, "" for nothing yet.
func markOf(t *amp.Task) string {
	switch {
	case t.Status.Ended():
		return "ended"
	case t.Chain != nil && t.Chain.Result == amp.ChainEnded:
		return fmt.Sprintf("chain %d", t.Chain.Seq)
	}
	return ""
}

func (r *Runner) task(ctx context.Context, t *amp.Task, mark string, tries int, now time.Time, got *Learned) error {
	entries, err := r.entries(ctx, t.ID)
	if err != nil {
		return err
	}
	lessons := Extract(t, entries)
	done := true
	if r.Agent != nil && t.Owner == r.Owner && tries < maxTries && !t.LastAt.Before(r.Since) {
		more, body, used, dropped, err2 := r.Agent.distil(ctx, r.NewID(), t, entries)
		if body != nil {
			if e := r.Record(ctx, *body, used); e != nil { // what is not on record was not learned
				return e
			}
		}
		err, done = err2, body != nil && body.Result == amp.ChainForwarded
		lessons, got.Dropped = append(lessons, more...), append(got.Dropped, dropped...)
		if te, ok := errors.AsType[*providers.TurnError](err); ok && te.Failure.Pauses() {
			tries-- // that says nothing about the task
		}
	}
	got.Tasks = append(got.Tasks, t.ID)
	return errors.Join(err, r.Store.Update(func(b *Book) error {
		for i := range lessons {
			if b.learn(&lessons[i], now.UTC().Truncate(time.Second)) {
				got.Entries++
			}
		}
		if b.Done == nil {
			b.Done = map[amp.TaskID]string{}
		}
		if b.Tries == nil {
			b.Tries = map[amp.TaskID]int{}
		}
		if done {
			b.Done[t.ID] = mark
			delete(b.Tries, t.ID)
		} else {
			b.Tries[t.ID] = tries + 1
		}
		return nil
	}))
}

// entries are all entries of a task.
func (r *Runner) entries(ctx context.Context, id amp.TaskID) ([]amp.Entry, error) {
	var all []amp.Entry
	for after := uint64(0); ; {
		page, err := r.Journal.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{TaskID: id, After: after}})
		if err != nil {
			return nil, fmt.Errorf("read the entries of %s: %w", id, err)
		}
		all = append(all, page.Entries...)
		if !page.More || len(page.Entries) == 0 {
			return all, nil
		}
		after = page.Entries[len(page.Entries)-1].Seq
	}
}
