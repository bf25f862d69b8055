package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"arbiter/providers/planning/memory"
	"arbiter/server"
)

func newMemory(a *app) *cobra.Command {
	return group("memory", "What ended tasks taught: read it, correct it, learn now", newMemoryList(a), newMemoryShow(a), newMemoryEdit(a),
		newMemoryDelete(a), newMemoryRun(a))
}

// memoryEntry is an entry as it is printed.
type memoryEntry struct {
	memory.Entry
	State memory.State `json:"state"`
	// Now is the confidence of now, after what it lost unused.
	Now float64 `json:"confidence_now"`
}

func printable(e *memory.Entry, now time.Time) memoryEntry {
	return memoryEntry{Entry: *e, State: e.State(now), Now: e.Now(now)}
}

func (a *app) memoryStore() (*memory.Store, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	return memory.NewStore(home), nil
}

func newMemoryList(a *app) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use: "list", Short: "List the entries; archived ones with --all", Args: takes(),
		RunE: a.do(func(*cobra.Command, []string) error {
			s, err := a.memoryStore()
			if err != nil {
				return err
			}
			b, err := s.Read()
			if err != nil {
				return err
			}
			now, list := time.Now(), []memoryEntry{}
			for i := range b.Entries {
				if e := printable(&b.Entries[i], now); all || e.State != memory.Archived {
					list = append(list, e)
				}
			}
			a.printMemory(list, len(b.Entries))
			return nil
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "also those that are archived")
	return c
}

func (a *app) printMemory(list []memoryEntry, known int) {
	if a.json {
		a.outJSON(list)
		return
	}
	if len(list) == 0 {
		if known > 0 {
			a.out("Every entry is archived; --all lists them.\n")
			return
		}
		a.out("Nothing was learned yet: the memory learns when a task ends. To let it look now: arbiter memory run\n")
		return
	}
	t := &table{}
	t.add("ID", "STATE", "SURE", "KIND", "TASKS", "TEXT")
	for i := range list {
		e := &list[i]
		t.add(e.ID, string(e.State), fmt.Sprintf("%.2f", e.Now), string(e.Kind), fmt.Sprint(len(e.Tasks)), e.Text)
	}
	t.print(a)
}

func newMemoryShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show an entry with its dates and sources", Args: takes("an ID"),
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			s, err := a.memoryStore()
			if err != nil {
				return err
			}
			b, err := s.Read()
			if err != nil {
				return err
			}
			e, err := memoryEntryOf(b, args[0])
			if err != nil {
				return err
			}
			a.printMemoryEntry(printable(e, time.Now()))
			return nil
		}),
	}
}

func memoryEntryOf(b *memory.Book, id string) (*memory.Entry, error) {
	e, err := b.Find(id)
	if err != nil {
		return nil, &notFoundError{what: err.Error(), next: "See them: arbiter memory list --all"}
	}
	return e, nil
}

func (a *app) printMemoryEntry(e memoryEntry) {
	if a.json {
		a.outJSON(e)
		return
	}
	a.out("%s  %s\n", e.ID, safe(e.Text))
	t := &table{}
	t.add("  kind", string(e.Kind))
	t.add("  state", fmt.Sprintf("%s at confidence %.2f, %.2f when it was last learned or used", e.State, e.Now, e.Confidence))
	t.add("  said by", e.By)
	t.add("  learned", e.Created.Local().Format(time.DateTime))
	t.add("  changed", e.Updated.Local().Format(time.DateTime))
	if !e.Used.IsZero() {
		t.add("  used", e.Used.Local().Format(time.DateOnly))
	}
	if e.Scope != "" {
		t.add("  repository", e.Scope)
	}
	var tasks []string
	for _, id := range e.Tasks {
		tasks = append(tasks, string(id))
	}
	t.add("  tasks", strings.Join(tasks, " "))
	t.add("  sources", strings.Join(e.Sources, " "))
	t.print(a)
}

func newMemoryEdit(a *app) *cobra.Command {
	text, confidence := "", -1.0
	c := &cobra.Command{
		Use: "edit ID [--text TEXT] [--confidence N]", Short: "Correct an entry; it is then yours", Args: takes("an ID"),
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			if text == "" && confidence < 0 {
				return usage("memory edit needs --text or --confidence").then(`As: arbiter memory edit mem-12ab34cd56 --text "…" --confidence 0.9`)
			}
			if confidence > 1 {
				return usage("--confidence is %v, want 0 to 1", confidence)
			}
			return a.changeMemory(args[0], func(b *memory.Book, id string) error {
				if err := b.Edit(id, text, confidence, osUser(), time.Now().UTC().Truncate(time.Second)); err != nil {
					return usage("the text cannot be kept: %v", err).then("Say it in one plain line without personal data.")
				}
				return nil
			})
		}),
	}
	c.Flags().StringVar(&text, "text", "", "what it says from now on")
	c.Flags().Float64Var(&confidence, "confidence", confidence, "how sure it is, 0 to 1; from 0.7 it reaches planners")
	return c
}

func newMemoryDelete(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete an entry for good; it is not learned again", Args: takes("an ID"),
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			return a.changeMemory(args[0], func(b *memory.Book, id string) error { return b.Delete(id) })
		}),
	}
}

// changeMemory changes one entry and says which.
func (a *app) changeMemory(name string, change func(*memory.Book, string) error) error {
	s, err := a.memoryStore()
	if err != nil {
		return err
	}
	id := ""
	err = s.Update(func(b *memory.Book) error {
		e, err := memoryEntryOf(b, name)
		if err != nil {
			return err
		}
		id = e.ID
		return change(b, id)
	})
	if err != nil {
		return err
	}
	if a.json {
		a.outJSON(struct {
			Changed string `json:"changed"`
		}{id})
		return nil
	}
	a.out("%s is changed; the next planning sees it so.\n", id)
	return nil
}

func newMemoryRun(a *app) *cobra.Command {
	timeout := 10 * time.Minute
	c := &cobra.Command{
		Use: "run", Short: "Learn now from the tasks that have ended", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			return a.runMemory(ctx)
		}),
	}
	c.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait for it")
	return c
}

// runMemory asks the coordinator for a pass, or makes one itself when none runs and no agent has to be asked.
func (a *app) runMemory(ctx context.Context) error {
	home, err := a.makeHome()
	if err != nil {
		return err
	}
	store := memory.NewStore(home)
	before, err := store.Read()
	if err != nil {
		return err
	}
	up, err := a.running(ctx, server.NewClient(home, sentinels))
	if err != nil {
		return err
	}
	if up {
		err = requestPass(ctx, home)
	} else {
		err = a.passAlone(ctx, store)
	}
	if err != nil {
		return err
	}
	after, err := store.Read()
	if err != nil {
		return err
	}
	got := struct {
		Tasks   int `json:"tasks"`
		Entries int `json:"entries"`
	}{len(after.Done) - len(before.Done), len(after.Entries)}
	if a.json {
		a.outJSON(got)
		return nil
	}
	a.out("The memory learned from %s and has %d entries: arbiter memory list\n", plural(got.Tasks, "more task"), got.Entries)
	return nil
}

// requestPass lets the coordinator make a pass and waits until it is over.
func requestPass(ctx context.Context, home string) error {
	file := requestFile(home)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return fmt.Errorf("ask the coordinator to learn: %w", err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	gone := func(file string) bool { _, err := os.Stat(file); return errors.Is(err, fs.ErrNotExist) }
	for {
		if gone(file) && gone(takenFile(home)) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until the coordinator has learned: %w", ctx.Err())
		}
	}
}

func (a *app) passAlone(ctx context.Context, store *memory.Store) error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	if name := cfg.Planning.Memory; name != "" {
		return usage("no coordinator runs, and the agent %s can only be asked beside one: its answers go into the journal", name).then("arbiter up, then again.")
	}
	return a.looking(func(l *look) error {
		r := memory.Runner{Store: store, Journal: l, NewID: func() string { return uuid.Must(uuid.NewV7()).String() }}
		_, err := r.Run(ctx, time.Now())
		return err
	})
}
