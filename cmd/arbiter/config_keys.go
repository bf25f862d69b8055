package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"arbiter/tui"
	"arbiter/tui/action"
)

// keyMap is [tui.keys]: a key, or a list of keys, for each action id. An id with a dot may be written with quotes or without.
type keyMap map[string]any

// flat returns the keys by action id.
func (k keyMap) flat() (map[string][]string, error) {
	out := map[string][]string{}
	return out, flatten(out, "", k)
}

func flatten(out map[string][]string, prefix string, in map[string]any) error {
	for _, name := range sortedKeys(in) {
		id := prefix + name
		if _, twice := out[id]; twice {
			return fmt.Errorf("%q is there twice", id)
		}
		switch v := in[name].(type) {
		case string:
			out[id] = []string{v}
		case []any:
			out[id] = []string{}
			for _, one := range v {
				key, ok := one.(string)
				if !ok {
					return fmt.Errorf("%q holds %v, want keys as \"ctrl+x\"", id, one)
				}
				out[id] = append(out[id], key)
			}
		case map[string]any:
			if err := flatten(out, id+".", v); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%q is %v, want a key as \"ctrl+x\" or a list of keys", id, v)
		}
	}
	return nil
}

// keys are the configured keys of the screens, or an error with every wrong one and its line.
func (a *app) keys(c *config) (map[string][]string, error) {
	keys, err := c.TUI.Keys.flat()
	if err != nil {
		return nil, err
	}
	_, problems := tui.Keymap(keys)
	if len(problems) == 0 {
		return keys, nil
	}
	file, _ := a.configPath()
	data, err := os.ReadFile(file)
	if err != nil { // then they came from --set
		data = nil
	}
	lines := keyLines(data)
	var text []string
	for _, p := range problems {
		where := "tui.keys"
		if line := lines[p.ID]; line > 0 {
			where = fmt.Sprintf("%s:%d", file, line)
		}
		text = append(text, where+": "+p.Error())
	}
	return nil, &usageError{
		what: strings.Join(text, "\n"), means: "No screen was opened: a key that does something else than you think is worse than none.",
		next: "Edit " + file + "; arbiter --keys prints actions and keys.",
	}
}

// keyLines are the lines of the ids under [tui.keys], counted from 1.
func keyLines(data []byte) map[string]int {
	lines := map[string]int{}
	p := &unstable.Parser{}
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		switch n := p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, _ = keyPath(p, n, nil)
		case unstable.KeyValue:
			noteKeys(p, n, table, lines)
		default: // comments
		}
	}
	return lines
}

// noteKeys notes the lines of a key, or of those in its inline table.
func noteKeys(p *unstable.Parser, n *unstable.Node, table []string, lines map[string]int) {
	at, line := keyPath(p, n, table)
	if len(at) > 2 && at[0] == "tui" && at[1] == "keys" {
		lines[strings.Join(at[2:], ".")] = line
	}
	if v := n.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			noteKeys(p, it.Node(), at, lines)
		}
	}
}

// keyPath is the full name of a table or key, and its line.
func keyPath(p *unstable.Parser, n *unstable.Node, table []string) (names []string, line int) {
	names = append(names, table...)
	for it := n.Key(); it.Next(); {
		names = append(names, string(it.Node().Data))
		line = p.Shape(it.Node().Raw).Start.Line
	}
	return names, line
}

// printKeys prints the table of actions and keys as they are configured.
func (a *app) printKeys() error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	keys, err := a.keys(cfg)
	if err != nil {
		return err
	}
	rows, _ := tui.Keymap(keys)
	if a.json {
		a.outJSON(rows)
		return nil
	}
	a.out("%s", action.Text(rows))
	return nil
}
