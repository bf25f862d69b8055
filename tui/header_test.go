package tui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/tuitest"
)

// At every width each tab can be read and clicked, and the connection is said.
func TestHeader_everyWidth(t *testing.T) {
	t.Parallel()
	m := still(t, tuitest.Scene(), 80, 24)
	for w := minWidth; w <= 220; w++ {
		for _, k := range m.nav.kinds {
			if k.Tab == "" {
				continue
			}
			m.env.Go(Place{Kind: k.Kind})
			m.Update(tea.WindowSizeMsg{Width: w, Height: 24})
			row := ansi.Strip(strings.Split(m.View(), "\n")[0])
			if !strings.Contains(row, "["+k.Tab) || !strings.Contains(row, "●") {
				t.Errorf("%d: the header does not show where one is, or the connection: %q", w, row)
			}
			found := map[Kind]bool{}
			for x := range w {
				if kind, ok := m.tabAt(x); ok {
					found[kind] = true
				}
			}
			for _, other := range m.nav.kinds {
				if other.Tab != "" && !found[other.Kind] {
					t.Errorf("%d: the tab of %s can not be clicked in %q", w, other.Kind, row)
				}
			}
		}
	}
}
