package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"arbiter/amp"
)

// agentPrefix begins the names of programs that speak the command protocol and want to be found.
const agentPrefix = "arbiter-agent-"

// initFlags are what arbiter init was told.
type initFlags struct {
	agents []string
	roles  rolesConfig
	repo   string
	force  bool
}

func newInit(a *app) *cobra.Command {
	n := &initFlags{}
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration for the agents found here; with --repo, arbiter.toml for a repository",
		Long: "Write config.toml. Agents are the programs named with --agent, and those on PATH whose names begin with " + agentPrefix + "\n" +
			"(each reads one JSON object from standard input and answers with JSON lines), and codex, claude and gemini. What else is found,\n" +
			"keys in the environment and programs for any model, is proposed as a comment. With --repo DIR, write arbiter.toml there\n" +
			"instead, with the checks that the repository's own files suggest.",
		Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("repo") {
				return a.initRepo(n)
			}
			return a.initConfig(n)
		}),
	}
	f := c.Flags()
	f.StringArrayVar(&n.agents, "agent", nil, `an agent as NAME=PROGRAM or NAME="PROGRAM ARG …"; may be repeated`)
	f.StringVar(&n.roles.Coordinator, "coordinator", "", "the agent that plans")
	f.StringVar(&n.roles.Executor, "executor", "", "the agent that executes")
	f.StringVar(&n.roles.Reviewer, "reviewer", "", "the agent that reviews")
	f.StringVar(&n.repo, "repo", ".", "write arbiter.toml of this repository instead")
	f.BoolVar(&n.force, "force", false, "replace a file that is there; it is kept with .old at its name")
	return c
}

// found is one agent for the configuration.
type found struct {
	name string
	argv []string
	kind string // a vendor's program; empty is a command
}

func (a *app) initConfig(n *initFlags) error {
	agents, err := n.named()
	if err != nil {
		return err
	}
	for _, f := range append(onPath(os.Getenv("PATH")), installed()...) {
		if !slices.ContainsFunc(agents, func(o found) bool { return o.name == f.name }) {
			agents = append(agents, f)
		}
	}
	n.assign(agents)
	text := configText(agents, n.roles)
	var c config
	if err := decodeTOML("the new configuration", text, &c); err != nil {
		return err
	}
	if err := c.validate(); err != nil {
		return usage("the configuration would be wrong: %v", err).then("Name agents with --agent NAME=PROGRAM.")
	}
	path, _ := a.configPath()
	if err := a.writeNew(path, text, n.force); err != nil {
		return err
	}
	if a.json {
		names := []string{}
		for _, f := range agents {
			names = append(names, f.name)
		}
		a.outJSON(struct {
			File   string   `json:"file"`
			Agents []string `json:"agents"`
		}{path, names})
		return nil
	}
	a.out("%s is written, with %s.\n", path, plural(len(agents), "agent"))
	for _, f := range agents {
		if m, ok := makers[f.kind]; ok {
			a.out("%s is here: %s.\n", f.name, f.argv[0])
			if os.Getenv(m.keyEnv) == "" {
				a.out("  Its key is not: export %s=…, or say in the file where it is (key_file, key_command).\n", m.keyEnv)
			}
		}
	}
	for _, o := range discovered(agents) {
		a.out("%s could take part (%s): see what is missing in the file.\n", o.name, o.has)
	}
	if len(agents) == 0 {
		a.out("No program of an agent is on the PATH. docs/agents.md has small ones to begin with.\nnext: arbiter init --force --agent NAME=PROGRAM\n")
		return nil
	}
	a.out("next: arbiter doctor, then arbiter doctor --try\n")
	return nil
}

// named are the agents of --agent.
func (n *initFlags) named() ([]found, error) {
	var agents []found
	for _, s := range n.agents {
		name, program, ok := strings.Cut(s, "=")
		argv := strings.Fields(program)
		if !ok || !agentName.MatchString(name) || len(argv) == 0 {
			return nil, usage("--agent %s is not NAME=PROGRAM", s).then("As: arbiter init --agent worker=/usr/local/bin/my-agent")
		}
		full, err := exec.LookPath(argv[0])
		if err != nil {
			return nil, usage("the agent %s cannot be started: %v", name, err).then("Give the program's full path.")
		}
		if argv[0], err = filepath.Abs(full); err != nil {
			return nil, fmt.Errorf("find the agent %s: %w", name, err)
		}
		for i, arg := range argv[1:] { // a turn has another folder
			switch there, _ := exists(arg); {
			case strings.HasPrefix(arg, "-"):
			case there:
				if argv[i+1], err = filepath.Abs(arg); err != nil {
					return nil, fmt.Errorf("find the agent %s: %w", name, err)
				}
			case isScript(arg):
				return nil, usage("%s, which the agent %s needs, is not here", arg, name).then("Write it first, as docs/agents.md shows, or give its full path.")
			}
		}
		agents = append(agents, found{name: name, argv: argv})
	}
	return agents, nil
}

// isScript reports whether an argument is by its name a program that another one runs.
func isScript(arg string) bool {
	return slices.Contains([]string{".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua"}, filepath.Ext(arg))
}

// onPath are the programs of a search path that want to be found.
func onPath(path string) []found {
	var agents []found
	for _, dir := range filepath.SplitList(path) {
		programs, _ := filepath.Glob(filepath.Join(dir, agentPrefix+"*")) // the pattern is well formed
		slices.Sort(programs)
		for _, p := range programs {
			name := strings.TrimPrefix(filepath.Base(p), agentPrefix)
			if _, err := exec.LookPath(p); err != nil || !agentName.MatchString(name) ||
				slices.ContainsFunc(agents, func(o found) bool { return o.name == name }) {
				continue
			}
			agents = append(agents, found{name: name, argv: []string{p}})
		}
	}
	return agents
}

// assign fills the roles that were not named: an agent named after its role first, then any; executor and reviewer apart.
func (n *initFlags) assign(agents []found) {
	names := make([]string, len(agents))
	for i, f := range agents {
		names[i] = f.name
	}
	reads := map[string]bool{}
	for _, f := range agents {
		reads[f.name] = agentConfig{Kind: f.kind}.reads()
	}
	pick := func(role *string, as string, not string) {
		names := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return as == string(amp.Executor) && reads[n] })
		if *role != "" || len(names) == 0 {
			return
		}
		*role = names[0]
		if i := slices.IndexFunc(names, func(s string) bool { return s != not }); i >= 0 {
			*role = names[i]
		}
		if slices.Contains(names, as) {
			*role = as
		}
	}
	pick(&n.roles.Executor, string(amp.Executor), "")
	pick(&n.roles.Reviewer, string(amp.Reviewer), n.roles.Executor)
	pick(&n.roles.Coordinator, string(amp.Coordinator), "")
}

func configText(agents []found, roles rolesConfig) []byte {
	var b bytes.Buffer
	b.WriteString("# Arbiter's configuration. Unknown keys are errors; arbiter doctor checks this file.\n\n")
	for _, f := range agents {
		if m, ok := makers[f.kind]; ok {
			fmt.Fprintf(&b, "[agents.%q]\nkind = %q\nprogram = %q\n# model = \"…\"\nkey_env = %q # the key stays with Arbiter: the program never sees it\n\n", f.name, f.kind, f.argv[0], m.keyEnv)
			continue
		}
		fmt.Fprintf(&b, "[agents.%q]\nkind = \"command\"\nargv = [%s]\n", f.name, quoted(f.argv))
		fmt.Fprintf(&b, "vendor = %q # a review by the executor's own vendor is worth little: name them truly\nacks = \"agent\" # or \"auto\" for a program that knows nothing of ACKs\n"+
			"sandbox = \"off\" # nothing confines it; \"auto\" does, and then it needs no network but url = \"…\" and does not commit\n\n", f.name)
	}
	if len(agents) == 0 {
		b.WriteString("# A program that reads one JSON object from standard input and answers with JSON lines:\n" +
			"# [agents.worker]\n# kind = \"command\"\n# argv = [\"/usr/local/bin/my-agent\"]\n# vendor = \"mine\"\n\n" +
			"# One that takes part by itself, through arbiter message:\n# [agents.guest]\n# kind = \"external\"\n\n")
	}
	if more := discovered(agents); len(more) > 0 {
		b.WriteString("# Found here too. Take the # away and say what stands as …\n#\n")
		for _, o := range more {
			b.WriteString(comment(o.text) + "#\n")
		}
		b.WriteByte('\n')
	}
	b.WriteString("[roles]\n")
	for _, r := range []struct{ key, name string }{{"coordinator", roles.Coordinator}, {"executor", roles.Executor}, {"reviewer", roles.Reviewer}} {
		if r.name == "" {
			fmt.Fprintf(&b, "# %s = \"…\"\n", r.key)
			continue
		}
		fmt.Fprintf(&b, "%s = %q\n", r.key, r.name)
	}
	b.WriteString(`
# [policy]
# lock_at = 3         # rejections until the hallucination lock
# hold_below = 0.8    # verdicts below this confidence need you
# second_admin = "never"  # or "high", "always": which plans two admins approve who did not write them
# heartbeat = "30m"   # silence of a role with an open duty
# undo = "10s"        # decisions on screens can be taken back for this long
# slots = 4           # agents at work at once
#
# [budget]            # of each task; reached, it asks
# wall = "2h"
# turns = 20
# cost = 5.0          # US dollars, as [prices] counts them, or as the agent says; tokens = N bounds those
#
# [budget.day]        # of all tasks on one day in UTC
# cost = 50.0
#
# [prices."a-model*"] # what a million tokens cost; a name that ends in * is a beginning
# input = 1.25
# cached = 0.125
# output = 10.0
#
# [[permissions]]     # answers what agents ask, the first that matches; what none matches is asked on a card
# type = "run"        # or write, read, fetch, tool
# command = "go test *"
# ruling = "allow"    # or ask, deny, escalate
#
# [repo]              # for every repository; arbiter.toml in one sets its own
# protected = ["release/*"]
# checks = [["go", "test", "./..."]]
`)
	return b.Bytes()
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return strings.Join(q, ", ")
}

// writeNew writes a file that must not be there yet, or with force replaces it and keeps the old one.
func (a *app) writeNew(path string, text []byte, force bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the folder of the configuration: %w", err)
	}
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read the present configuration: %w", err)
	case !force:
		return &keptError{path: path, beside: true}
	default:
		if err := renameio.WriteFile(path+".old", old, 0o600); err != nil {
			return fmt.Errorf("keep the present configuration: %w", err)
		}
	}
	if err := renameio.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// keptError is a file that was not replaced; with beside, force keeps the present one beside the new one.
type keptError struct {
	path   string
	beside bool
}

func (e *keptError) Error() string { return e.path + " is there already" }

func (a *app) initRepo(n *initFlags) error {
	root, err := repoTop(n.repo)
	if err != nil {
		return err
	}
	if there, err := exists(filepath.Join(root, ".git")); err != nil || !there {
		return errors.Join(err, &amp.GuardError{Type: amp.UnknownEscalation, Repo: root, Why: "is no git repository: it has no .git"})
	}
	checks := suggestedChecks(root)
	var b bytes.Buffer
	b.WriteString("# What Arbiter has to know of this repository.\n\n[repo]\n# protected = [\"release/*\"]\n")
	b.WriteString("# The local CI: every command has to succeed before a review.\nchecks = [\n")
	for _, c := range checks {
		fmt.Fprintf(&b, "  [%s],\n", quoted(c))
	}
	b.WriteString("]\n")
	path := filepath.Join(root, repoFile)
	if err := a.writeNew(path, b.Bytes(), n.force); err != nil {
		return err
	}
	if a.json {
		a.outJSON(struct {
			File   string     `json:"file"`
			Checks [][]string `json:"checks"`
		}{path, checks})
		return nil
	}
	a.out("%s is written, with %s.\n", path, plural(len(checks), "check"))
	return nil
}

// suggestedChecks are the check commands that a repository's own files suggest.
func suggestedChecks(root string) [][]string {
	checks := [][]string{}
	for _, s := range []struct {
		file string
		argv []string
	}{
		{"go.mod", []string{"go", "test", "./..."}},
		{"Cargo.toml", []string{"cargo", "test"}},
		{"package.json", []string{"npm", "test"}},
		{"pyproject.toml", []string{"python3", "-m", "pytest"}},
		{"Package.swift", []string{"swift", "test"}},
	} {
		if there, _ := exists(filepath.Join(root, s.file)); there {
			checks = append(checks, s.argv)
		}
	}
	return checks
}
