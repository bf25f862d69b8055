// Command arbiter is the admin's program: the screens, the background coordinator, and every decision as a command.
//
// Rules of the command line: what a machine reads goes to standard output and nothing else does; prompts, progress and errors go
// to standard error; nothing is asked when standard input is no terminal, except by --plain. Exit codes: 0 done, 1 failed, 2 usage,
// 3 refused by a rule, 4 waits for a person, 130 interrupted.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"arbiter/providers/sandbox"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program but for the exit.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == sandbox.ShimCommand {
		return sandbox.Main(args[1:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it as it ends any program
	a := &app{stdin: stdin, typed: &typed{stdin, ctx.Done()}, stdout: stdout, stderr: stderr}
	root := newRoot(a)
	root.SetArgs(append([]string{}, args...)) // nil would make cobra read os.Args
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = cmp.Or(a.helpErr, a.stdoutErr)
	}
	if err == nil {
		return 0
	}
	if !a.started { // flags, arguments, unknown command
		if _, ok := errors.AsType[*usageError](err); !ok {
			err = &usageError{what: err.Error(), next: "See " + helpFor(root, args) + "."}
		}
	}
	return a.report(explain(err))
}

// app is one run of the program.
type app struct {
	// stdin is standard input itself, for screens and editors; others read it as typed.
	stdin, typed   io.Reader
	stdout, stderr io.Writer
	// started is set when a command's own code runs: errors before it are usage errors.
	started bool
	// path is the command that runs, as arbiter task list.
	path string
	// stdoutErr is the first error of writing to standard output.
	stdoutErr error
	// helpErr is why there is no help: what it was asked for is no command.
	helpErr error

	homeFlag, configFlag string
	urlFlag, tokenFlag   string
	sets                 []string
	json                 bool
	screen               screen
}

// do wraps every RunE and marks the border between usage errors and errors of the command itself. No error of use is without a
// next step.
func (a *app) do(f func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		a.started, a.path = true, c.CommandPath()
		err := f(c, args)
		if e, ok := errors.AsType[*usageError](err); ok && e.next == "" {
			e.next = "See " + c.CommandPath() + " --help."
		}
		return err
	}
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "arbiter",
		Short: "Coordinate agents, with you as the judge",
		Long: "Arbiter turns a wish into a plan, has agents carry it out and review it, checks what they claim against git,\n" +
			"and asks you before anything counts. Without a command it opens the screens.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          a.do(a.runScreens),
	}
	root.SetVersionTemplate("arbiter {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	root.CompletionOptions.HiddenDefaultCmd = false
	pf := root.PersistentFlags()
	pf.StringVar(&a.homeFlag, "home", "", "data directory (default $ARBITER_HOME, else $XDG_DATA_HOME/arbiter)")
	pf.StringVar(&a.configFlag, "config", "", "configuration file (default $ARBITER_CONFIG, else $XDG_CONFIG_HOME/arbiter/config.toml)")
	pf.StringArrayVar(&a.sets, "set", nil, "override one configuration key, as policy.slots=2; may be repeated")
	pf.BoolVar(&a.json, "json", false, "print JSON")
	remoteFlags(root, a)
	screenFlags(root, a)
	part(root, "Tasks:", newTask(a), newPlan(a), newEscalation(a), newMemory(a))
	part(
		root, "Decisions about a task:", newAccept(a), newAnswer(a), newDeliver(a), newNote(a), newOverride(a), newRaiseLimit(a), newReassign(a),
		newRedispatch(a), newResume(a), newRollback(a), newSplit(a), newTerminate(a), newUnlock(a), newWithdraw(a),
	)
	part(root, "Coordinator:", newStatus(a), newUp(a), newDown(a), newServe(a), newStopAll(a), newThaw(a), newToken(a), newBusCommand(a), newWorker(a), newInit(a), newDoctor(a), newDemo(a))
	part(root, "Journal and protocol:", newJournal(a), newMirror(a), newWhy(a), newMessage(a), newEvents(a), newHooks(a), newValidate(a), newParse(a), newSchema(a), newMCP(a))
	root.AddCommand(newNotify(a), newDemoAgent(a))
	a.completeTasks(root)
	ownHelp(a, root)
	refuseEmpty(root)
	return root
}

// part adds commands under a title of the help.
func part(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// group holds other commands; without RunE a misspelt one would print help and succeed.
func group(use, short string, sub ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: grouped}
	c.AddCommand(sub...)
	return c
}

// grouped runs a command that only holds others.
func grouped(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return strayed(c, args[0])
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return &usageError{what: c.CommandPath() + " needs a command: " + either(names), next: "See " + c.CommandPath() + " --help."}
}

// noArgs refuses arguments of the root command: they are misspelt commands.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return strayed(c, args[0])
}

// takes wants exactly these arguments.
func takes(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return &usageError{what: c.CommandPath() + " needs " + names[len(args)], next: "See " + c.CommandPath() + " --help."}
		}
		if len(args) > len(names) {
			return &usageError{
				what:  fmt.Sprintf("%s does not take the argument %q", c.CommandPath(), args[len(names)]),
				means: "Words that belong together need quotes.", next: "See " + c.CommandPath() + " --help.",
			}
		}
		return nil
	}
}

func helpFor(root *cobra.Command, args []string) string {
	c, _, err := root.Find(args)
	if err != nil || c == nil {
		c = root
	}
	return c.CommandPath() + " --help"
}
