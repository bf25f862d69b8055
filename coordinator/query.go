package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
)

// maxLog is how much of the end of a turn's log one answer holds.
const maxLog = 1 << 20

// Query reads one page of what a client asks for. It never waits for agents, and reads of the journal do not hold up the loop.
func (c *Coordinator) Query(ctx context.Context, q amp.Query) (amp.Page, error) {
	switch q.Kind {
	case amp.QueryBoard:
		board, err := ssot.Fold(ctx, c.cfg.Log)
		if err != nil {
			return amp.Page{}, err
		}
		return amp.Page{Head: board.Head, Board: board}, nil
	case amp.QueryEntries:
		return c.queryEntries(ctx, q)
	case amp.QueryDiff:
		ws, err := c.workspaceOf(ctx, q.TaskID)
		if err != nil {
			return amp.Page{}, err
		}
		diff, err := c.cfg.Git.Diff(ctx, ws, q.From, q.To, q.Diff)
		return amp.Page{Text: strings.ToValidUTF8(diff.Text, "\uFFFD"), Diff: &diff}, err // JSON carries no other bytes
	case amp.QueryLog:
		return c.queryLog(ctx, q.TaskID, q.From)
	case amp.QueryChecklist:
		ws, err := c.workspaceOf(ctx, q.TaskID)
		if err != nil {
			return amp.Page{}, err
		}
		ck, err := c.cfg.Git.Checklist(ctx, ws)
		ck.TaskID = q.TaskID
		return amp.Page{Check: &ck}, err
	case amp.QueryStatus:
		return c.queryStatus(ctx)
	case amp.QueryPull:
		return c.queryPull(ctx, q.TaskID)
	}
	return amp.Page{}, fmt.Errorf("query %q is not known", q.Kind)
}

// Written is the JSON form of what Query answers, where there is a shorter way to it than by way of a Page; else it is nil.
func (c *Coordinator) Written(ctx context.Context, q amp.Query) (io.WriterTo, error) {
	log, ok := c.cfg.Log.(ssot.Snapshotter)
	if !ok || q.Kind != amp.QueryBoard {
		return nil, nil
	}
	s, err := log.Snapshot(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	return writtenBoard{s}, nil
}

// writtenBoard is the JSON form of a page with a board.
type writtenBoard struct{ *ssot.Snapshot }

func (w writtenBoard) WriteTo(to io.Writer) (n int64, err error) {
	k, err := to.Write(slices.Concat([]byte(`{"head":`), amp.EncodeBody(w.Head), []byte(`,"board":`)))
	if n = int64(k); err == nil {
		var m int64
		m, err = w.Snapshot.WriteTo(to)
		n += m
	}
	if err == nil {
		k, err = to.Write([]byte("}"))
		n += int64(k)
	}
	return n, err
}

func (c *Coordinator) queryEntries(ctx context.Context, q amp.Query) (amp.Page, error) {
	if q.Filter.TaskID == "" {
		q.Filter.TaskID = q.TaskID
	}
	return ssot.Page(ctx, c.cfg.Log, q.Filter)
}

// queryLog reads the end of a turn's raw output, or of the coordinator's own log. The turn id is looked up, never used as a path.
func (c *Coordinator) queryLog(ctx context.Context, task amp.TaskID, turnID string) (amp.Page, error) {
	if turnID == "" {
		return c.queryOwnLog()
	}
	root, err := os.OpenRoot(c.cfg.Home)
	if err != nil {
		return amp.Page{}, fmt.Errorf("open the data directory: %w", err)
	}
	defer root.Close()
	f, err := root.Open("turns/" + turnID + ".log")
	if errors.Is(err, os.ErrNotExist) {
		return amp.Page{}, c.noLog(ctx, task, turnID)
	}
	if err != nil {
		return amp.Page{}, fmt.Errorf("open the log of turn %q: %w", turnID, err)
	}
	defer f.Close()
	return endOf(f)
}

// noLog says why there is no log of a turn here.
func (c *Coordinator) noLog(ctx context.Context, task amp.TaskID, turnID string) error {
	if c.team == nil {
		return fmt.Errorf("turn %q has no log", turnID)
	}
	entries, err := c.lookUp(ctx, amp.Filter{TaskID: task, Kinds: []amp.Kind{amp.KindTurn}, Newest: true, Limit: ssot.MaxPage})
	if err != nil {
		return err
	}
	for i := range entries {
		u, err := amp.DecodeBody[amp.Turn](&entries[i])
		if err == nil && u.TurnID == turnID && u.Event == amp.TurnStarted && u.Owner != c.cfg.Owner {
			return fmt.Errorf("the log of turn %s is on the machine of %s, which ran it, in %s; what it came to is in the journal", turnID, u.Owner, u.Log)
		}
	}
	return fmt.Errorf("turn %q has no log here; one that another coordinator ran has its log there", turnID)
}

func (c *Coordinator) queryOwnLog() (amp.Page, error) {
	if c.ownLog() == "" {
		return amp.Page{}, errors.New("the coordinator writes no log file; what it logs is on its standard error")
	}
	f, err := os.Open(c.cfg.LogFile)
	if err != nil {
		return amp.Page{}, fmt.Errorf("open the coordinator's log: %w", err)
	}
	defer f.Close()
	return endOf(f)
}

// ownLog is the file of the own log, "" while there is none.
func (c *Coordinator) ownLog() string {
	if _, err := os.Stat(c.cfg.LogFile); err != nil {
		return ""
	}
	return c.cfg.LogFile
}

// endOf reads the end of a log.
func endOf(f *os.File) (amp.Page, error) {
	if st, err := f.Stat(); err == nil && st.Size() > maxLog {
		if _, err := f.Seek(-maxLog, io.SeekEnd); err != nil {
			return amp.Page{}, fmt.Errorf("read the end of a log: %w", err)
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxLog))
	return amp.Page{Text: string(text)}, err
}

func (c *Coordinator) workspaceOf(ctx context.Context, id amp.TaskID) (amp.Workspace, error) {
	var ws amp.Workspace
	found := false
	err := c.view(ctx, func(b *amp.Board) {
		if t := b.Task(id); t != nil {
			ws, found = t.Workspace(), true
		}
	})
	switch {
	case err != nil:
		return ws, err
	case !found:
		return ws, &amp.RefusedError{What: "query", Problems: []amp.Problem{{Rule: "AMP-021", Field: "task_id", Message: fmt.Sprintf("task %q is not known", id)}}}
	case ws.Repo == "":
		return ws, &amp.TransitionError{TaskID: id, Step: "a diff", Why: "the task has no plan yet"}
	}
	return ws, nil
}

func (c *Coordinator) queryStatus(ctx context.Context) (amp.Page, error) {
	s := &amp.CoordinatorState{
		PID: os.Getpid(), Version: c.cfg.Version, Home: c.cfg.Home, Log: c.ownLog(), Slots: c.cfg.Slots,
		Agents: map[amp.Role][]string{},
		Roles:  map[amp.Role]string{}, UndoMS: c.cfg.Undo.Milliseconds(), AckSec: map[amp.MessageType]int{},
		HeartbeatSec: int(c.cfg.Heartbeat.Seconds()), Crew: c.crew(), Budget: c.cfg.Budget, Pulls: c.cfg.Pulls != nil,
	}
	for role := range c.cfg.Roles {
		if name, _, err := c.choose(&amp.Task{}, role); err == nil {
			s.Roles[role] = name
		}
	}
	for typ, d := range c.cfg.AckTimeouts {
		if d > 0 {
			s.AckSec[typ] = max(1, int(d.Seconds()))
		}
	}
	for name, a := range c.cfg.Agents {
		for _, r := range a.Roles {
			s.Agents[r] = append(s.Agents[r], name)
		}
	}
	for _, names := range s.Agents {
		slices.Sort(names)
	}
	if x, ok := c.cfg.Log.(ssot.Indexer); ok {
		s.Indexed = x.Indexed()
	}
	if c.team != nil {
		s.Team = c.team.state()
	}
	var head amp.Head
	err := c.view(ctx, func(b *amp.Board) {
		head, s.Started, s.Turns, s.Stopped = b.Head, c.started, len(c.live), b.Stopped != nil
		s.Queued, s.AwakeSince = len(c.queued), c.awake
	})
	if c.cfg.Mirror != nil {
		m := c.cfg.Mirror()
		m.Behind = head.Seq - min(head.Seq, m.Head.Seq)
		s.Mirror = &m
	}
	if c.cfg.Bus != nil {
		b := c.cfg.Bus()
		s.Bus = &b
	}
	return amp.Page{Head: head, Status: s}, err
}
