package coordinator

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// Heard says what became of a report from outside.
type Heard struct {
	// Tasks are those that it was about and that keep it now.
	Tasks []amp.TaskID `json:"tasks"`
	// Duplicate says that it was kept before, Full that a task keeps no more reports: it is only counted.
	Duplicate bool `json:"duplicate,omitzero"`
	Full      bool `json:"full,omitzero"`
}

// recentReports is how many of a task's last reports are compared by what was received: the id of a delivery is not signed.
const recentReports = 64

// Hear keeps what another system reported of a commit, a branch or a pull request, once, on each task that it is about; what is
// about none is not kept. The same delivery with other content is [ssot.ErrConflict]. It starts nothing by itself: what follows is
// derived from the task, and text in it reaches no agent.
func (c *Coordinator) Hear(ctx context.Context, by string, o amp.Outside) (heard Heard, err error) {
	o.Clean()
	if err := c.refresh(ctx); err != nil {
		return heard, err
	}
	c.arriving.Lock() // two with one id are never judged before either is stored
	defer c.arriving.Unlock()
	_, err = c.call(ctx, fromClient, "", func(now time.Time) ([]amp.Record, error) {
		heard = Heard{Tasks: []amp.TaskID{}}
		return c.outside(ctx, by, o, now, &heard)
	})
	return heard, err
}

// outside builds the entries of a report; in the loop.
func (c *Coordinator) outside(ctx context.Context, by string, o amp.Outside, now time.Time, heard *Heard) ([]amp.Record, error) {
	id := "outside/" + o.Source + "/" + o.Delivery
	stored, err := c.cfg.Log.Read(ctx, amp.Filter{ID: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(stored) > 0 {
		first, err := amp.DecodeBody[amp.Outside](&stored[0])
		if err != nil || first.Digest != o.Digest {
			return nil, fmt.Errorf("delivery %s of %s: %w", o.Delivery, o.Source, ssot.ErrConflict)
		}
		heard.Duplicate = true
		return nil, nil
	}
	var records []amp.Record
	for _, t := range c.concerned(&o) {
		if s := t.Outside; s != nil && (s.Reports >= amp.MaxOutside || o.Remark != nil && s.Remarks >= amp.MaxRemarks) {
			heard.Full = true
			continue
		}
		again, err := c.heardBefore(ctx, t, &o)
		if err != nil {
			return nil, err
		}
		if again {
			heard.Duplicate = true
			continue
		}
		r := amp.Record{Kind: amp.KindOutside, TaskID: t.ID, Role: amp.System, Actor: by, At: now, ID: id}
		if n := len(records); n > 0 {
			r.ID += "/" + strconv.Itoa(n+1)
		}
		o.TaskID = t.ID
		r.Body = amp.EncodeBody(o)
		records = append(records, r)
		heard.Tasks = append(heard.Tasks, t.ID)
	}
	return records, nil
}

// concerned are the tasks that a report is about. A check on a commit that no task has reported yet is of the one task that is at work
// on its branch.
func (c *Coordinator) concerned(o *amp.Outside) (all []*amp.Task) {
	var works []*amp.Task
	for _, id := range c.board.Order {
		switch t := c.board.Task(id); {
		case t.Concerns(o):
			all = append(all, t)
		case o.CI != nil && t.Works(o.Branch):
			works = append(works, t)
		}
	}
	if len(all) == 0 && len(works) == 1 {
		return works
	}
	return all
}

// heardBefore reports whether the task keeps a report of the same bytes, under whatever id they came.
func (c *Coordinator) heardBefore(ctx context.Context, t *amp.Task, o *amp.Outside) (bool, error) {
	if o.Digest == "" || t.Outside == nil {
		return false, nil
	}
	last, err := c.cfg.Log.Read(ctx, amp.Filter{TaskID: t.ID, Kinds: []amp.Kind{amp.KindOutside}, Newest: true, Limit: recentReports})
	if err != nil {
		return false, err
	}
	for i := range last {
		if old, err := amp.DecodeBody[amp.Outside](&last[i]); err == nil && old.Digest == o.Digest {
			return true, nil
		}
	}
	return false, nil
}
