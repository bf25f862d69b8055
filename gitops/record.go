package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"arbiter/amp"
)

// turnRecord is what is remembered of a turn, in Home/refs/<task>/<turn>.json, so that a restart can still compare.
type turnRecord struct {
	Turn   string     `json:"turn"`
	Task   amp.TaskID `json:"task"`
	Common string     `json:"common"`
	Branch string     `json:"branch"`
	// Review is set of a reviewer's turn: it has no checkpoint and may move no branch.
	Review     bool      `json:"review,omitzero"`
	Checkpoint int       `json:"checkpoint,omitzero"`
	Tip        string    `json:"tip"`
	At         time.Time `json:"at"`
	// Default is the default branch at the start: a turn that deletes it does not take its protection away.
	Default string `json:"default"`
	// Refs are all refs at the start, Logs the sizes of their reflogs, Trusted what the repository lets run.
	Refs map[string]string `json:"refs"`
	// Symbolic are the symbolic ones of them, and HEAD, with the ref that each names.
	Symbolic map[string]string `json:"symbolic,omitzero"`
	Logs     map[string]int64  `json:"logs"`
	Trusted  map[string]string `json:"trusted"`

	// AgentTip is the branch's tip as the agent left it, before leftovers were committed.
	AgentTip string `json:"agent_tip,omitzero"`
	// Left is the commit of what the agent left uncommitted, recorded before the branch moves to it.
	Left string `json:"left,omitzero"`
	// Moved are the protected refs that this turn moved, as they were seen after it; Rollback puts them back.
	Moved []movedRef `json:"moved,omitzero"`
	// Fix is the commit of a reviewer's direct fixes, on no branch of this turn's doing; Done is what the review ended with.
	Fix  string     `json:"fix,omitzero"`
	Done *amp.Check `json:"done,omitzero"`
}

// movedRef is a protected ref that a turn moved: Before and After are "" when there was no such ref.
type movedRef struct {
	Ref    string `json:"ref"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Symbolic is set when it was made a symbolic ref.
	Symbolic bool `json:"symbolic,omitzero"`
	// Restored is set when Rollback put it back.
	Restored bool `json:"restored,omitzero"`
}

func (g *Git) recordDir(task amp.TaskID) string {
	return filepath.Join(g.home, "refs", fileName(string(task)))
}

func (g *Git) recordFile(task amp.TaskID, turnID string) string {
	return filepath.Join(g.recordDir(task), fileName(turnID)+".json")
}

// save writes the record whole or not at all.
func (g *Git) save(rec *turnRecord) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode the record of turn %s: %w", rec.Turn, err)
	}
	if err := os.MkdirAll(g.recordDir(rec.Task), 0o700); err != nil {
		return fmt.Errorf("create the folder of turn records: %w", err)
	}
	if err := renameio.WriteFile(g.recordFile(rec.Task, rec.Turn), b, 0o600); err != nil {
		return fmt.Errorf("save the record of turn %s: %w", rec.Turn, err)
	}
	return nil
}

// load reads the record of a turn; nil without an error when there is none.
func (g *Git) load(task amp.TaskID, turnID string) (*turnRecord, error) {
	return readRecord(g.recordFile(task, turnID))
}

func readRecord(name string) (*turnRecord, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a turn record: %w", err)
	}
	rec := new(turnRecord)
	if err := json.Unmarshal(b, rec); err != nil {
		return nil, fmt.Errorf("turn record %s is damaged; move it away to go on without it: %w", name, err)
	}
	return rec, nil
}

// records reads all records of a task, oldest first.
func (g *Git) records(task amp.TaskID) ([]*turnRecord, error) {
	entries, err := os.ReadDir(g.recordDir(task))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the turn records of %s: %w", task, err)
	}
	var all []*turnRecord
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		rec, err := readRecord(filepath.Join(g.recordDir(task), e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	slices.SortStableFunc(all, func(a, b *turnRecord) int { return a.At.Compare(b.At) })
	return all, nil
}

// branchesOfTasks are the branches on which tasks work in a repository. A record that cannot be read is its own task's trouble.
func (g *Git) branchesOfTasks(common string) (map[string]bool, error) {
	dirs, err := os.ReadDir(filepath.Join(g.home, "refs"))
	if err != nil {
		return nil, fmt.Errorf("read the turn records: %w", err)
	}
	found := map[string]bool{}
	for _, dir := range dirs {
		all, err := g.records(amp.TaskID(dir.Name()))
		if err != nil {
			g.log.Warn("turn records of a task cannot be read", "task", dir.Name(), "err", err)
		}
		for _, rec := range all {
			found[rec.Branch] = found[rec.Branch] || rec.Common == common
		}
	}
	return found, nil
}

// keptRecords is how many records of a task's turns are kept beside those that a rollback still needs.
const keptRecords = 4

// prune removes records and hooks of turns that nothing will ask about again.
func (g *Git) prune(task amp.TaskID) error {
	all, err := g.records(task)
	if err != nil {
		return err
	}
	for i, rec := range all {
		pending := slices.ContainsFunc(rec.Moved, func(m movedRef) bool { return !m.Restored })
		if i >= len(all)-keptRecords || pending {
			continue
		}
		if err := g.removeRecord(rec); err != nil {
			return err
		}
	}
	return nil
}

func (g *Git) removeRecord(rec *turnRecord) error {
	for _, name := range []string{g.hookDir(rec.Turn), g.attemptsFile(rec.Turn), g.recordFile(rec.Task, rec.Turn)} {
		if err := os.RemoveAll(name); err != nil {
			return fmt.Errorf("remove what was kept of turn %s: %w", rec.Turn, err)
		}
	}
	return nil
}
