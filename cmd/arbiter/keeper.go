package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/providers/planning"
	"arbiter/providers/planning/memory"
)

// recall is what planners are told of earlier tasks.
func recall(home string) func(repo string) (string, error) {
	store := memory.NewStore(home)
	return func(repo string) (string, error) {
		return store.Recall(repo, time.Now(), planning.MemoryTokens, planning.Tokens)
	}
}

// The times of the keeper: how often it looks without a reason, how long it waits for more to end, and how often it looks for a request.
const (
	memoryEvery  = 24 * time.Hour
	memorySettle = 2 * time.Second
	memoryPoll   = time.Second
)

// requestFile asks the coordinator's keeper for a pass. The keeper renames it to takenFile when the pass begins and removes that when it is
// over, so that a request during a pass gets one of its own.
func requestFile(home string) string { return filepath.Join(home, "system", "memory.request") }

func takenFile(home string) string { return filepath.Join(home, "system", "memory.taken") }

// keeper lets the memory learn beside the coordinator: when a task ends, on a schedule, and when a file asks for it.
type keeper struct {
	home   string
	every  time.Duration
	runner memory.Runner
	coord  *coordinator.Coordinator
	logger *slog.Logger
}

func newKeeper(home, owner string, c *config, configDir string, coord *coordinator.Coordinator, logger *slog.Logger) (*keeper, error) {
	k := &keeper{home: home, every: time.Duration(c.Planning.MemoryEvery), coord: coord, logger: logger}
	if k.every == 0 {
		k.every = memoryEvery
	}
	k.runner = memory.Runner{
		Store: memory.NewStore(home), Journal: coord, Record: coord.Remember, Since: time.Now().Add(-7 * 24 * time.Hour),
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Owner: owner,
	}
	name := c.Planning.Memory
	if name == "" {
		return k, nil
	}
	only := *c
	only.Agents = map[string]agentConfig{name: c.Agents[name]}
	agents, err := buildAgents(&only, configDir, nil)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(home, "homes", "memory")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k.runner.Agent = &memory.Agent{Name: name, Agent: agents[name].Agent, Limits: agents[name].Limits, Home: dir, Dir: dir}
	return k, nil
}

// run passes until ctx ends. What goes wrong is logged: a memory that cannot be kept stops no work.
func (k *keeper) run(ctx context.Context) {
	if err := k.keep(ctx); err != nil && ctx.Err() == nil {
		k.logger.Error("the memory does not learn any more until the coordinator is started again", "err", err)
	}
}

func (k *keeper) keep(ctx context.Context) error {
	page, err := k.coord.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{Newest: true, Limit: 1}})
	if err != nil {
		return err
	}
	ended := make(chan struct{}, 1)
	followed := make(chan error, 1)
	go func() {
		followed <- follower(k.coord)(ctx, page.Head.Seq, func(entries []amp.Entry) error {
			for i := range entries {
				if mayEnd(&entries[i]) {
					select {
					case ended <- struct{}{}:
					default:
					}
				}
			}
			return nil
		})
	}()
	schedule, poll := time.NewTicker(k.every), time.NewTicker(memoryPoll)
	defer schedule.Stop()
	defer poll.Stop()
	k.pass(ctx)
	for {
		select {
		case err := <-followed:
			return err
		case <-ended:
			select {
			case <-time.After(memorySettle):
			case <-ctx.Done():
				continue
			}
		case <-schedule.C:
		case <-poll.C:
			if _, err := os.Stat(requestFile(k.home)); err != nil {
				continue
			}
		}
		k.pass(ctx)
	}
}

// mayEnd reports whether a task, or a planning chain, may have ended with an entry.
func mayEnd(e *amp.Entry) bool {
	switch e.Kind {
	case amp.KindCommand:
		c, err := amp.DecodeBody[amp.Command](e)
		return err == nil && c.Command == amp.Terminate
	case amp.KindCheck:
		c, err := amp.DecodeBody[amp.Check](e)
		return err == nil && (c.Subject == amp.CheckWorkspace || c.Subject == amp.CheckCommand || c.Subject == amp.CheckRelease)
	case amp.KindChain:
		c, err := amp.DecodeBody[amp.Chain](e)
		return err == nil && c.Result == amp.ChainEnded
	case amp.KindMessage, amp.KindAck, amp.KindPlan, amp.KindTurn, amp.KindQuestion, amp.KindRefusal, amp.KindBus, amp.KindOutside:
	}
	return false
}

func (k *keeper) pass(ctx context.Context) {
	if err := os.Rename(requestFile(k.home), takenFile(k.home)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.logger.Error("a request for the memory cannot be taken", "err", err)
	}
	got, err := k.runner.Run(ctx, time.Now())
	if err != nil && ctx.Err() == nil {
		k.logger.Error("the memory did not learn from every task", "err", err)
	}
	if len(got.Tasks) > 0 {
		k.logger.Info("the memory learned", "tasks", len(got.Tasks), "entries", got.Entries, "dropped", len(got.Dropped))
	}
	for _, why := range got.Dropped {
		k.logger.Warn("an entry was not taken into the memory", "why", why)
	}
	if err := os.Remove(takenFile(k.home)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.logger.Error("a request for the memory cannot be removed", "err", err)
	}
}
