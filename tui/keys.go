package tui

import (
	"context"
	"time"

	"arbiter/tui/action"
	"arbiter/tui/theme"
)

// Keymap returns the table of all actions of the screens, with the keys of a configuration in place, and what is wrong with
// those. It needs no session and no terminal.
func Keymap(keys map[string][]string) ([]action.Row, []action.Problem) {
	m := newModel(context.Background(), Config{}, parts{theme: theme.Default(), now: time.Now, zone: time.UTC, newID: newID})
	problems := m.env.Reg.Override(keys)
	return m.env.Reg.Table(), problems
}
