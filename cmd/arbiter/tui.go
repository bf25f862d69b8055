package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"arbiter/tui"
	"arbiter/tui/term"
)

// screen is what the flags of arbiter without a command say.
type screen struct {
	plain, readonly bool
	open            string
	keys            bool
}

func screenFlags(c *cobra.Command, a *app) {
	f := c.Flags()
	f.BoolVar(&a.screen.plain, "plain", false, "no full screen: sentences and numbered choices, also through a pipe")
	f.BoolVar(&a.screen.readonly, "readonly", false, "no decisions")
	f.BoolVar(&a.screen.keys, "keys", false, "print every action of the screens and its keys")
	f.StringVar(&a.screen.open, "open", "", "go straight to a task or entry")
}

// runScreens is arbiter without a command: it attaches to the coordinator and opens the screens. With --plain, or on a terminal that
// can not move its cursor, it asks and answers in sentences instead. Without a terminal it prints how things stand, or the task of
// --open.
func (a *app) runScreens(c *cobra.Command, _ []string) error {
	if a.screen.keys {
		return a.printKeys()
	}
	client, err := a.attach(c.Context())
	if err != nil {
		return err
	}
	plain := a.screen.plain || a.onScreen() && term.Detect(os.Getenv).Plain
	if a.json || !plain && !a.onScreen() {
		if a.screen.open != "" {
			return a.showTask(c.Context(), a.screen.open, 12)
		}
		return a.status(c.Context())
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	home := a.url() // whose screens these are
	if home == "" {
		if home, err = a.home(); err != nil {
			return err
		}
	}
	admin, err := a.admin(c.Context())
	if err != nil {
		return err
	}
	alerts, err := cfg.TUI.alerts()
	if err != nil {
		return err
	}
	exports, err := exportFolder(cfg.TUI.Export)
	if err != nil {
		return err
	}
	keys, err := a.keys(cfg)
	if err != nil {
		return err
	}
	client.Patience = -1 // the screens show that the connection broke, and try again themselves
	screens := tui.Config{
		Session: client, Admin: admin, ReadOnly: a.screen.readonly, Open: a.screen.open, Theme: cfg.TUI.theme(), Alerts: alerts,
		Signs: cfg.TUI.signs(), Mouse: cfg.TUI.Mouse == nil || *cfg.TUI.Mouse, Keys: keys, Explain: explained,
		Prepare: a.prepareOnScreen,
		Version: version(), Home: home, Exports: exports, Up: a.upQuietly, Letters: letters{client},
	}
	if remote := client.Remote(); remote != "" {
		_, screens.Place, _ = strings.Cut(remote, "://")
	} else {
		screens.Repo = repoHere() // that machine has others
	}
	if plain {
		return a.runPlain(c.Context(), screens)
	}
	return tui.Run(c.Context(), screens)
}

// runPlain is the interface in sentences. It takes interrupts itself: the first one cancels a question, not the program.
func (a *app) runPlain(ctx context.Context, cfg tui.Config) error {
	return tui.RunPlain(context.WithoutCancel(ctx), cfg, a.stdin, a.stdout)
}

// theme is the configured theme, "" for the one that suits the terminal.
func (t tuiConfig) theme() string {
	if t.Theme == "auto" {
		return ""
	}
	return t.Theme
}

// signs is the configured set of signs, "" for the one that suits the terminal.
func (t tuiConfig) signs() string {
	if t.Signs == "auto" {
		return ""
	}
	return t.Signs
}

// alerts is when the terminal may call the admin.
func (t tuiConfig) alerts() (a tui.Alerts, err error) {
	a.Off = t.Notify != nil && !*t.Notify
	a.Silent = t.Bell != nil && !*t.Bell
	a.From, a.To, err = quietHours(t.Quiet)
	return a, err
}

// exportFolder is where exports of the screens go: the configured folder, that of documents, or the home directory. The current
// directory is none of them: it may be a repository that agents work in.
func exportFolder(configured string) (string, error) {
	if configured != "" {
		dir := configured
		if dir == "~" || strings.HasPrefix(dir, "~/") {
			dir = filepath.Join(xdg.Home, dir[1:])
		}
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("%q is no folder that begins with / or ~", configured)
		}
		return dir, nil
	}
	if ok, err := exists(xdg.UserDirs.Documents); ok && err == nil {
		return xdg.UserDirs.Documents, nil
	}
	return xdg.Home, nil
}

// upQuietly starts the coordinator while a screen has the terminal: nothing is printed.
func (a *app) upQuietly(ctx context.Context) error {
	quiet := *a
	quiet.stderr = io.Discard
	_, err := quiet.attach(ctx)
	return err
}

// explained is what a screen says of an error: the same words as the command line.
func explained(err error) (what, means, next string) {
	e := explain(err)
	return e.What, e.Means, e.Next
}
