package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/server"
	"arbiter/ssot/sqlite"
)

// finding is one line of arbiter doctor.
type finding struct {
	Name string `json:"name"`
	// Level is ok, warn (it works, but) or fail.
	Level string `json:"level"`
	What  string `json:"what"`
	Next  string `json:"next,omitzero"`
}

func newDoctor(a *app) *cobra.Command {
	try := false
	c := &cobra.Command{
		Use: "doctor [--try [AGENT...]]", Short: "Say what is missing or wrong here, and how to mend it; exit code 1 when something has to be",
		Args: cobra.ArbitraryArgs,
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if len(args) > 0 && !try {
				return usage("doctor takes agents only with --try").then("As: arbiter doctor --try " + args[0])
			}
			if err := a.elsewhere(); err != nil {
				return err
			}
			all := a.examine(c.Context())
			if try {
				tried, err := a.tryAgents(c.Context(), args)
				if err != nil {
					return err
				}
				all = append(all, tried...)
				if len(args) == 0 {
					if tried, err = a.tryNotify(c.Context()); err != nil {
						return err
					}
					all = append(all, tried...)
				}
			}
			failed := false
			for _, f := range all {
				failed = failed || f.Level == "fail"
			}
			if a.json {
				a.outJSON(struct {
					OK       bool      `json:"ok"`
					Findings []finding `json:"findings"`
				}{!failed, all})
			} else {
				t := &table{}
				for _, f := range all {
					t.add(f.Level, f.Name, f.What)
					if f.Next != "" {
						t.add("", "", "→ "+f.Next)
					}
				}
				t.print(a)
			}
			if failed {
				return &quietError{code: exitFailed}
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&try, "try", false, "ask each agent, or those named, one word; it costs a few tokens of each")
	return c
}

// noRoom is how little room a disk has on which no coordinator starts.
const noRoom = 8 << 20

// lowRoom is how little room a disk has that is worth a warning.
const lowRoom = 1 << 30

// examine looks at everything that a coordinator needs. It changes nothing but creates the data directory.
func (a *app) examine(ctx context.Context) []finding {
	var all []finding
	add := func(level, name, what, next string) { all = append(all, finding{name, level, what, next}) }
	failed := func(name string, err error) {
		e := explain(err)
		add("fail", name, e.What, e.Next)
	}
	home, err := a.makeHome()
	if err != nil {
		failed("data directory", err)
		return append(all, a.examineConfig(ctx)...)
	}
	add("ok", "data directory", home, "")
	if free, err := freeBytes(home); err == nil && free < lowRoom {
		level := "warn"
		if free < noRoom {
			level = "fail"
		}
		add(level, "disk", fmt.Sprintf("%d MiB are free for the journal and the worktrees", free>>20), "Make room, or name another disk with --home.")
	}
	git, err := gitops.New(gitops.Options{Home: home})
	if err != nil {
		add("fail", "git", err.Error(), "Install git, version 2.38 or newer.")
	} else {
		add("ok", "git", "is there and new enough", "")
	}
	all = append(all, a.examineJournal(ctx, home)...)
	all = append(all, a.examineConfig(ctx)...)
	all = append(all, a.examineMirror(ctx, home)...)
	if c, err := a.loadConfig(); err == nil { // what is wrong with it was said
		all = append(all, c.examineListen(ctx, home, a.configDir())...)
	}
	runs := a.examineCoordinator(ctx, home)
	all = append(all, runs)
	var hooks []hookState
	if runs.Level != "fail" { // one that stands still answers nothing
		if err := server.NewClient(home, sentinels).Ask(ctx, http.MethodGet, "/v1/hooks", &hooks); err == nil { // nor does one that does not run
			all = append(all, hookFindings(hooks)...)
		}
	}
	if git != nil {
		all = append(all, examineRepository(ctx, git)...)
	}
	return all
}

func (a *app) examineJournal(ctx context.Context, home string) []finding {
	where, cfg := home, storeConfig{}
	if set, c, err := a.store(); err == nil { // what is wrong with the configuration has a line of its own
		where, cfg = set, c
	}
	log, err := a.readStore(ctx, where, cfg)
	if _, ok := errors.AsType[*notFoundError](err); ok {
		return []finding{{"journal", "ok", "none yet; it begins with the first coordinator", ""}}
	}
	if err == nil {
		var head amp.Head
		head, err = log.Head(ctx)
		clock := examineClock(ctx, log, time.Now())
		if err = errors.Join(err, log.Close()); err == nil {
			all := []finding{{"journal", "ok", fmt.Sprintf("%d entries; arbiter journal verify checks all of them", head.Seq), ""}}
			if s, ok := log.(*sqlite.Log); ok && s.LogSize() > sqlite.LargeLog {
				all = append(all, finding{
					"journal", "warn", fmt.Sprintf(
						"its write-ahead log has %d MB: something has read one moment of the journal for long, and still does; appends take longer meanwhile", s.LogSize()>>20),
					"End it: a shell of SQLite on journal.db, perhaps, or a backup that stands still. The log is cut by itself then.",
				})
			}
			return append(all, clock...)
		}
	}
	e := explain(err)
	return []finding{{"journal", "fail", e.What, e.Next}}
}

func (a *app) examineConfig(ctx context.Context) []finding {
	file, _ := a.configPath()
	c, err := a.loadConfig()
	if err != nil {
		e := explain(err)
		return []finding{{"configuration", "fail", e.What, e.Next}}
	}
	if len(c.Agents) == 0 {
		next := "arbiter init --agent NAME=PROGRAM"
		if there, err := exists(file); err == nil && there {
			next = "arbiter init --force --agent NAME=PROGRAM, or add one to the file; docs/agents.md has small ones."
		}
		return []finding{{"configuration", "fail", "no agent is configured in " + file, next}}
	}
	all := []finding{{"configuration", "ok", file, ""}}
	for _, name := range sortedKeys(c.Agents) {
		if g := c.Agents[name]; known(g) {
			all = append(all, examineProgram(ctx, name, g, filepath.Dir(file))...)
			continue
		}
		all = append(all, examineAgent(name, c.Agents[name], filepath.Dir(file)))
	}
	all = append(all, c.examineSandbox()...)
	for _, r := range []struct {
		role amp.Role
		does string
	}{{amp.Coordinator, "drafts plans"}, {amp.Executor, "executes"}, {amp.Reviewer, "reviews"}} {
		name := c.Roles.all()[r.role]
		if name == "" {
			all = append(all, finding{"role " + string(r.role), "fail", "no agent " + r.does, fmt.Sprintf("Set roles.%s in %s.", r.role, file)})
			continue
		}
		all = append(all, finding{"role " + string(r.role), "ok", name, ""})
	}
	x, v := c.Agents[c.Roles.Executor], c.Agents[c.Roles.Reviewer]
	if c.Roles.Executor != "" && c.Roles.Reviewer != "" && x.vendor() != "" && x.vendor() == v.vendor() {
		all = append(all, finding{"reviewer", "warn", "executor and reviewer are both of vendor " + x.vendor(), "Configure a reviewer of another vendor."})
	}
	all = append(all, c.examineSecrets(filepath.Dir(file), file)...)
	all = append(all, c.Notify.examineNotify(filepath.Dir(file), file)...)
	if len(c.Repo.Checks) == 0 && !checkedHere() {
		all = append(all, finding{"local CI", "warn", "no checks are configured, neither for every repository nor for the one of this folder", "arbiter init --repo DIR suggests them for one."})
	}
	return all
}

// known reports whether something is known of the agent's program.
func known(g agentConfig) bool {
	_, ok := g.maker()
	return ok
}

func examineAgent(name string, g agentConfig, configDir string) finding {
	if g.Kind == "external" {
		return finding{"agent " + name, "ok", "takes part through arbiter message", ""}
	}
	if g.Kind == "bus" {
		return examineBusAgent(name, g)
	}
	if g.Kind == "api" {
		return examineModel(name, g, configDir)
	}
	program := g.Argv[0]
	if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		program = filepath.Join(configDir, program)
	}
	full, err := exec.LookPath(program)
	if err != nil {
		return finding{"agent " + name, "fail", err.Error(), fmt.Sprintf("Install it, or correct agents.%s.argv.", name)}
	}
	if key := g.key(configDir); key != nil {
		if _, err := key(); err != nil {
			return noKey(name, full, g, err)
		}
	}
	for _, arg := range g.Argv[1:] {
		if isScript(arg) && !filepath.IsAbs(arg) {
			return finding{
				"agent " + name, "warn", full + " " + arg + ": the script is looked for in the folder of each turn, not here",
				fmt.Sprintf("Unless it is part of the repository, give its full path in agents.%s.argv.", name),
			}
		}
	}
	if info, err := os.Stat(full); err == nil && info.Mode().Perm()&0o022 != 0 {
		return finding{"agent " + name, "warn", full + " can be changed by others", "chmod go-w " + full}
	}
	return finding{"agent " + name, "ok", full, ""}
}

func (a *app) examineCoordinator(ctx context.Context, home string) finding {
	state, err := hail(ctx, server.NewClient(home, sentinels), home, answerTime)
	switch {
	case err == nil && state.Version != version():
		return finding{"coordinator", "warn", fmt.Sprintf("process %d runs version %s, this is %s", state.PID, state.Version, version()), "arbiter down, then arbiter up"}
	case err == nil:
		return finding{"coordinator", "ok", fmt.Sprintf("process %d runs", state.PID), ""}
	case errors.Is(err, server.ErrNotRunning):
		if err := server.Vacant(home); err != nil {
			e := explain(err)
			return finding{"coordinator", "fail", e.What, e.Next}
		}
		if held, err := sqlite.Holder(home); err == nil && held != nil {
			e := explain(held)
			return finding{"coordinator", "warn", atWork(held, time.Now()), e.Next}
		}
		return finding{"coordinator", "ok", "does not run; arbiter up starts it", ""}
	}
	e := explain(err)
	return finding{"coordinator", "fail", e.What, e.Next}
}

// freeBytes is how much room the disk of a folder has for this user.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
