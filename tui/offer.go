package tui

import (
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/ui"
)

// hints are the keys that work now.
func (m *model) hints(rows int) []ui.KeyHint {
	if begun := m.keys.Begun(); begun != "" {
		out := []ui.KeyHint{{Key: begun, Text: "…"}}
		for _, h := range m.keys.Next(m.scopes()...) {
			out = append(out, ui.KeyHint{Key: action.Display(h.Key, m.env.Theme.Signs.IsASCII()), Text: h.Text})
		}
		return append(out, ui.KeyHint{Key: "esc", Text: "leaves"})
	}
	if m.sink() != nil {
		if h, ok := m.nav.top().page.(hinter); ok && m.env.sheet == nil && m.overlay == nil {
			return h.Hints()
		}
		return []ui.KeyHint{{Key: "esc", Text: "close"}}
	}
	offered := m.offered(rows)
	out := make([]ui.KeyHint, 0, len(offered))
	for _, h := range offered {
		switch {
		case h.ID == stageScopes[0] && h.Key == "1":
			h.Key = stageKeys(m.scopes())
		case m.asks() && h.ID == cardAccept:
			h.Text = "allow once…"
		case m.asks() && h.ID == cardReject:
			h.Text = "deny…"
		}
		out = append(out, ui.KeyHint{Key: action.Display(h.Key, m.env.Theme.Signs.IsASCII()), Text: h.Text})
	}
	return out
}

// The reasons that several pages have.
const (
	nothingSelected = "nothing is selected"
	onePane         = "there is no other pane"
	noZoom          = "there is nothing to zoom"
	noFilter        = "there is nothing to filter"
	noText          = "there is no text"
)

// unless is the reason why, where ok is not so.
func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

// pageOff is the reason of an action that the page on the screen answers: the action's own, else the page's.
func (m *model) pageOff(id string, own func() string) func() string {
	return func() string {
		if own != nil {
			if why := own(); why != "" {
				return why
			}
		}
		if p, ok := m.nav.top().page.(offerer); ok {
			return p.Off(id)
		}
		return ""
	}
}

// offered are the actions that the footer names, at most as many as fit in its rows: each does something now.
func (m *model) offered(rows int) []action.Hint {
	n := 8
	if rows > 1 {
		n = 14
	}
	return slices.DeleteFunc(m.env.Reg.Footer(n, m.scopes()...), func(h action.Hint) bool {
		switch {
		case h.ID == navBack:
			return len(m.nav.way) < 2
		case strings.HasPrefix(h.ID, stagePrefix):
			return m.stageOff()
		}
		return false
	})
}

// stageOff reports whether no way of the card can be taken; a key of one that is off says why.
func (m *model) stageOff() bool {
	c, ok := m.nav.top().page.(carder)
	if !ok {
		return true
	}
	n, t := c.card()
	return t == nil || !slices.ContainsFunc(m.env.options(&n, t), func(o option) bool { return o.off == "" })
}

// asks reports whether the cursor is on a question, where A and R answer it.
func (m *model) asks() bool {
	c, ok := m.nav.top().page.(carder)
	if !ok {
		return false
	}
	n, _ := c.card()
	return n.Kind == amp.NeedQuestion
}

// hinter says which keys work while the page takes raw keys.
type hinter interface{ Hints() []ui.KeyHint }
