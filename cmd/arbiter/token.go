package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/server"
)

func newToken(a *app) *cobra.Command {
	return group("token", "Let people and agents on other machines take part, each with a token of their own",
		newTokenNew(a), newTokenList(a), newTokenRevoke(a))
}

func newTokenNew(a *app) *cobra.Command {
	role, expires := "", ""
	c := &cobra.Command{
		Use:   "new NAME --role ROLE [--expires 90d]",
		Short: "Make a token for a person or an agent; it is shown this once",
		Long: "Make a token. NAME is the person or the agent that bears it, and what the journal calls the bearer. The role is what it allows:\n" +
			"admin decides, reader looks, and coordinator, executor and reviewer hand in the messages of an agent in that role.\n" +
			"Only a hash of it is kept.",
		Args: takes("a NAME"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if role == "" {
				return usage("arbiter token new needs --role").then("See arbiter token new --help.")
			}
			if !slices.Contains(server.Scopes(), server.Scope(role)) {
				return usage("--role is %q, want %s", role, server.ScopeWords()).then("See arbiter token new --help.")
			}
			if err := a.elsewhere(); err != nil {
				return err
			}
			n := server.NewToken{Name: args[0], Scope: server.Scope(role)}
			if expires != "" {
				d, err := parseDays(expires)
				if err != nil {
					return err
				}
				at := time.Now().UTC().Add(d).Truncate(time.Second)
				n.Expires = &at
			}
			client, err := a.attach(c.Context())
			if err != nil {
				return err
			}
			made, err := client.NewToken(c.Context(), n)
			if err != nil {
				return err
			}
			if a.json {
				a.outJSON(made)
				return nil
			}
			a.out("%s\n", made.Secret)
			a.complain(fmt.Sprintf("arbiter: token %s lets %s in as %s%s. It is not shown again.", made.ID, safe(made.Name), made.Scope, until(made.Expires)))
			return nil
		}),
	}
	c.Flags().StringVar(&role, "role", "", server.ScopeWords())
	c.Flags().StringVar(&expires, "expires", "", "how long it is valid, as 90d or 12h (default until it is revoked)")
	_ = c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(scopeNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func scopeNames() (names []string) {
	for _, s := range server.Scopes() {
		names = append(names, string(s))
	}
	return names
}

// parseDays reads a time that may be in days.
func parseDays(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, usage("%q is no time", text).then("Write it as 90d or 12h.")
}

func until(t *time.Time) string {
	if t == nil {
		return ", until it is revoked"
	}
	return ", until " + t.Local().Format(time.DateTime)
}

func newTokenList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens; what is secret about them is kept nowhere", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			all, err := a.tokens()
			if err != nil {
				return err
			}
			if a.json {
				a.outJSON(noNil(all))
				return nil
			}
			if len(all) == 0 {
				a.out("There is no token. Make one: arbiter token new NAME --role reader\n")
				return nil
			}
			t, now := &table{}, time.Now()
			for i := range all {
				k := &all[i]
				state := strings.TrimPrefix(until(k.Expires), ", ")
				if k.Expired(now) {
					state = "expired"
				}
				t.add(k.ID, safe(k.Name), string(k.Scope), "by "+safe(k.By), "since "+k.Created.Local().Format(time.DateOnly), state)
			}
			t.print(a)
			return nil
		}),
	}
}

// tokens reads the tokens of the data directory; no coordinator is needed to look at them.
func (a *app) tokens() ([]server.Token, error) {
	if err := a.elsewhere(); err != nil {
		return nil, err
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	return server.NewTokens(home).List()
}

func newTokenRevoke(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a token by its id, or every token of a bearer by name, at once", Args: takes("an ID or a NAME"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := a.elsewhere(); err != nil {
				return err
			}
			client, err := a.attach(c.Context())
			if err != nil {
				return err
			}
			ended, err := client.RevokeToken(c.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				a.outJSON(ended)
				return nil
			}
			for i := range ended {
				a.out("token %s of %s (%s) is revoked.\n", ended[i].ID, safe(ended[i].Name), ended[i].Scope)
			}
			return nil
		}),
	}
}
