package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/providers/bus/worker"
	"arbiter/ssot/sqlite"
)

func newWorkerStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say what the worker of this machine does, and what became of its requests",
		Args: takes(),
		RunE: a.do(func(*cobra.Command, []string) error {
			cfg, _, err := a.workerConfig()
			if err != nil {
				return err
			}
			home, err := cfg.Worker.folder(a.homeFlag)
			if err != nil {
				return err
			}
			jobs, err := worker.Jobs(home)
			if err != nil {
				return err
			}
			files, err := worker.Holdings(home)
			if err != nil {
				return err
			}
			held, err := sqlite.Holder(home)
			if err != nil {
				return err
			}
			if a.json {
				a.outJSON(struct {
					Running bool             `json:"running"`
					Home    string           `json:"home"`
					Jobs    []*worker.Job    `json:"requests"`
					Files   []worker.Holding `json:"files"`
				}{held != nil, home, append([]*worker.Job{}, jobs...), noNil(files)})
				return nil
			}
			if held != nil {
				a.out("The worker runs: process %d, folder %s\n", held.PID, home)
			} else {
				a.out("No worker runs in %s; arbiter worker starts one.\n", home)
			}
			t := &table{}
			for _, j := range jobs {
				t.add(string(j.Task), string(j.Role), string(j.State), j.At.Format(time.RFC3339), fmt.Sprintf("run %d", j.Runs), j.Doing)
			}
			t.print(a)
			for i := range files {
				a.out("%s has files here, on %s; they go when it has ended.\n", files[i].Asked.TaskID, safe(files[i].Asked.Branch))
			}
			return nil
		}),
	}
}

func newWorkerCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Say what this machine lacks to be a worker, and how to mend it; exit code 1 when something has to be",
		Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			failed := false
			t := &table{}
			for _, f := range a.examineWorker(c.Context()) {
				failed = failed || f.Level == "fail"
				t.add(f.Level, f.Name, f.What)
				if f.Next != "" {
					t.add("", "", "→ "+f.Next)
				}
			}
			t.print(a)
			if failed {
				return &quietError{code: exitFailed}
			}
			return nil
		}),
	}
}

// examineWorker looks at everything that a worker needs.
func (a *app) examineWorker(ctx context.Context) []finding {
	w, err := a.worker("", false)
	if err != nil {
		e := explain(err)
		return []finding{{"worker", "fail", e.What, e.Next}}
	}
	all := []finding{{"worker", "ok", w.cfg.Name + ", in " + w.home, ""}, {"git", "ok", "is there and new enough", ""}}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	switch err := w.probe(ctx); {
	case errors.Is(err, worker.ErrToken):
		e := explain(tokenProblem(w.cfg.URL, err))
		all = append(all, finding{"token", "fail", e.What, e.Next})
	case err != nil:
		all = append(all, finding{
			"coordinator", "fail", fmt.Sprintf("%s does not answer as a bus: %v", w.cfg.URL, err),
			"Start it there with arbiter up, with an address under [bus] that this machine reaches.",
		})
	default:
		all = append(all, finding{"coordinator", "ok", w.cfg.URL + " answers and accepts the token", ""})
	}
	cfg, file, err := a.workerConfig()
	if err != nil {
		return all
	}
	for _, name := range sortedKeys(w.cfg.Agents) {
		var roles []string
		for _, role := range w.cfg.Agents[name].Roles {
			roles = append(roles, string(role))
		}
		offer := "offered as " + worker.AgentID(w.cfg.Name, name) + ", " + strings.Join(roles, " or ")
		all = append(all, finding{"agent " + name, "ok", offer, ""})
		if g := cfg.Agents[name]; known(g) {
			all = append(all, examineProgram(ctx, name, g, filepath.Dir(file))...)
		} else {
			all = append(all, examineAgent(name, g, filepath.Dir(file)))
		}
	}
	return append(all, cfg.examineSandbox()...)
}

// tokenProblem is a token that the coordinator does not accept.
func tokenProblem(url string, err error) error {
	return &usageError{
		what:  url + ": " + err.Error(),
		means: "The worker was not started: without a valid token it gets no work.",
		next:  "An admin there makes one with arbiter token new NAME --role executor (or reviewer); name its file with --token-file.",
	}
}
