package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"arbiter/amp"
	"arbiter/providers/bus"
)

// Holding is a task of which the worker has files: a worktree and the homes of its agents. It is on disk, in Home/tasks, before they are, and
// goes when they went.
type Holding struct {
	// Asked is the space as the coordinator names it, Here as it is on this machine.
	Asked amp.Workspace `json:"asked"`
	Here  amp.Workspace `json:"here"`
	At    time.Time     `json:"at"`
}

func (w *Worker) homes(task amp.TaskID) string {
	return filepath.Join(w.cfg.Home, "homes", string(task))
}

func holdingFile(home string, task amp.TaskID) string {
	return filepath.Join(home, "tasks", string(task)+".json")
}

// hold notes that there will be files of a task.
func (w *Worker) hold(asked, here amp.Workspace) error {
	file := holdingFile(w.cfg.Home, asked.TaskID)
	data, err := json.Marshal(Holding{asked, here, time.Now().UTC()})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(file, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note which task has files here: %w", err)
	}
	return nil
}

// Holdings are the tasks of which a worker has files in its home, by id.
func Holdings(home string) ([]Holding, error) {
	entries, err := os.ReadDir(filepath.Join(home, "tasks"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which tasks have files: %w", err)
	}
	var all []Holding
	for _, e := range entries {
		if h, ok := readHolding(filepath.Join(home, "tasks", e.Name())); ok {
			all = append(all, h)
		}
	}
	return all, nil
}

// readHolding reads one; what is not the worker's own is none.
func readHolding(file string) (h Holding, ok bool) {
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &h) != nil {
		return h, false
	}
	return h, h.Asked.TaskID.Valid() && string(h.Asked.TaskID)+".json" == filepath.Base(file) && h.Here.TaskID == h.Asked.TaskID
}

// tidy asks the coordinator which tasks have ended, whenever somebody connected and every now and then, and removes what they left here. An
// answer that is lost is asked for again.
func (w *Worker) tidy(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Tidy)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.untidy:
		case <-ctx.Done():
			return
		}
		if err := w.clear(ctx); err != nil && ctx.Err() == nil {
			w.cfg.Logger.Warn("what ended tasks left stays for now", "err", err)
		}
	}
}

// look lets the coordinator be asked soon.
func (w *Worker) look() {
	select {
	case w.untidy <- struct{}{}:
	default:
	}
}

func (w *Worker) clear(ctx context.Context) error {
	all, err := Holdings(w.cfg.Home)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(all, bus.MaxHeld) {
		spaces := make([]amp.Workspace, len(part))
		for i := range part {
			a := &part[i].Asked
			spaces[i] = amp.Workspace{TaskID: a.TaskID, Repo: a.Repo, BaseCommit: a.BaseCommit}
		}
		ended, err := w.ended(ctx, spaces)
		if err != nil {
			return err
		}
		for i := range part {
			if !slices.Contains(ended, part[i].Asked.TaskID) {
				continue
			}
			if err := w.remove(ctx, &part[i]); err != nil {
				w.cfg.Logger.Warn("what an ended task left stays for now", "task", part[i].Asked.TaskID, "err", err)
			}
		}
	}
	return nil
}

// ended asks which tasks have ended, for whichever agent gets an answer.
func (w *Worker) ended(ctx context.Context, spaces []amp.Workspace) (ended []amp.TaskID, err error) {
	for name := range w.cfg.Agents {
		agent := AgentID(w.cfg.Name, name)
		if ended, err = w.link(agent).ended(ctx, agent, spaces); err == nil {
			return ended, nil
		}
	}
	return nil, err
}

// remove removes what an ended task left, unless something of it still runs here: that is stopped first, and whoever looks next removes it.
func (w *Worker) remove(ctx context.Context, h *Holding) error {
	task := h.Asked.TaskID
	if busy, err := w.over(task); err != nil || busy {
		return err
	}
	defer w.lock("task/" + string(task))()
	if busy, err := w.over(task); err != nil || busy {
		return err
	}
	if now, ok := readHolding(holdingFile(w.cfg.Home, task)); !ok || !now.At.Equal(h.At) {
		return nil // it is held for something else by now
	}
	check, err := w.cfg.Git.HostRelease(ctx, h.Here, w.homes(task))
	if err != nil {
		return err
	}
	if err := os.Remove(holdingFile(w.cfg.Home, task)); err != nil {
		return err
	}
	w.cfg.Logger.Info("removed what an ended task left", "task", task, "homes", w.homes(task), "git", check.Text)
	return nil
}

// over ends what is under way for a task that has ended: its message was lost. It reports whether something still is.
func (w *Worker) over(task amp.TaskID) (busy bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.jobs {
		if t.Task != task {
			continue
		}
		busy = busy || t.live
		if t.State == Told || t.State == Withdrawn {
			continue
		}
		w.cfg.Logger.Info("a request is of a task that has ended", "task", task, "message", t.MessageID)
		if err := w.withdraw(t, "the task has ended"); err != nil {
			return true, err
		}
	}
	return busy, nil
}
