package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"arbiter/tui/action"
)

// strayed is the error of a word in the place of a command of c that is none, with those that were probably meant.
func strayed(c *cobra.Command, word string) error {
	what := fmt.Sprintf("%s has no command %q", c.CommandPath(), word)
	if !c.HasParent() {
		what = fmt.Sprintf("there is no command %q", word)
	}
	if all := meant(c, word); len(all) > 0 {
		what += "; did you mean " + either(all) + "?"
	}
	return &usageError{what: what, next: "See " + c.CommandPath() + " --help."}
}

// foreign are what other programs call what a command does here.
var foreign = map[string]string{
	"start": "up", "run": "up", "launch": "up", "stop": "down", "quit": "down", "kill": "down", "ps": "status", "check": "doctor", "setup": "init", "config": "init",
	"ls": "task list", "add": "task new", "create": "task new", "cancel": "terminate", "abort": "terminate", "pause": "stop-all", "merge": "deliver",
	"log": "journal search", "logs": "journal search", "grep": "journal search", "find": "journal search", "blame": "why", "undo": "withdraw",
}

// maxMeant is how many commands are offered in the place of a word that is none.
const maxMeant = 3

// meant are what was probably meant by a word that is no command of c, quoted: the flag of that name, the commands that are called so
// elsewhere or in other programs, those that begin so, else the one that is written most like it, here or anywhere.
func meant(c *cobra.Command, word string) []string {
	if f := c.Flags().Lookup(word); f != nil && !f.Hidden {
		return []string{fmt.Sprintf("%q", c.CommandPath()+" --"+word)}
	}
	here, everywhere := visible(c), below(c.Root())
	all := paths(everywhere, func(s *cobra.Command) bool {
		return s.Name() == word || s.CommandPath() == c.Root().Name()+" "+foreign[word]
	})
	if len(word) > 1 {
		for _, p := range paths(here, func(s *cobra.Command) bool { return strings.HasPrefix(s.Name(), word) }) {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	if best := action.Nearest(word, names(append(here, everywhere...))); best != "" && len(all) == 0 {
		like := func(s *cobra.Command) bool { return s.Name() == best }
		if all = paths(here, like); len(all) == 0 {
			all = paths(everywhere, like)
		}
	}
	return all[:min(maxMeant, len(all))]
}

// visible are the commands of c that help shows, in the order of its parts.
func visible(c *cobra.Command) []*cobra.Command {
	all := slices.DeleteFunc(slices.Clone(c.Commands()), func(s *cobra.Command) bool { return s.Hidden })
	part := func(s *cobra.Command) int {
		return slices.IndexFunc(c.Groups(), func(g *cobra.Group) bool { return g.ID == s.GroupID })
	}
	slices.SortStableFunc(all, func(a, b *cobra.Command) int { return cmp.Compare(part(a), part(b)) })
	return all
}

// below are the commands of c and theirs.
func below(c *cobra.Command) (all []*cobra.Command) {
	for _, s := range visible(c) {
		all = append(append(all, s), below(s)...)
	}
	return all
}

func names(all []*cobra.Command) (out []string) {
	for _, c := range all {
		out = append(out, c.Name())
	}
	return out
}

// paths are those of the commands that are chosen, quoted.
func paths(all []*cobra.Command, chosen func(*cobra.Command) bool) (out []string) {
	for _, c := range all {
		if chosen(c) {
			out = append(out, fmt.Sprintf("%q", c.CommandPath()))
		}
	}
	return out
}

// either is "a, b or c".
func either(all []string) string {
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// ownHelp makes help and completion, which the library brings, answer a word that is no command as every other command does.
func ownHelp(a *app, root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if words := c.Flags().Args(); len(words) > 0 && c.HasSubCommands() { // arbiter tsk --help
			a.helpErr = strayed(c, words[0])
			return
		}
		help(c, args)
	})
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run, c.RunE = nil, a.do(func(_ *cobra.Command, args []string) error {
				of, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					err = strayed(of, rest[0])
				}
				if err != nil {
					return err
				}
				of.InitDefaultHelpFlag()
				of.InitDefaultVersionFlag()
				return of.Help()
			})
		case "completion":
			c.Args, c.RunE = cobra.ArbitraryArgs, grouped
			for _, shell := range c.Commands() {
				shell.Args = takes()
			}
		}
	}
}

// refuseEmpty has every command refuse an empty argument, and an empty value of a flag: they come from variables of the shell that are not set,
// and are never meant as if nothing had been said.
func refuseEmpty(c *cobra.Command) {
	judge := c.Args
	c.Args = func(c *cobra.Command, args []string) (err error) {
		refuse := func(what string) error {
			return &usageError{
				what: what, means: "Nothing was done. A variable of the shell that is not set gives one.", next: "See " + c.CommandPath() + " --help.",
			}
		}
		if slices.ContainsFunc(args, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			return refuse(c.CommandPath() + " was given an empty argument")
		}
		c.Flags().Visit(func(f *pflag.Flag) {
			if f.Value.Type() == "string" && f.Value.String() == "" {
				err = refuse("--" + f.Name + " is empty")
			}
		})
		if err != nil || judge == nil {
			return err
		}
		return judge(c, args)
	}
	for _, sub := range c.Commands() {
		refuseEmpty(sub)
	}
}
