package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/ui"
)

func agentKind() pageKind {
	return pageKind{
		Kind: KindAgents, Tab: "6", Title: "Agents",
		Make: func(e *env, _ Place) page { return &agentPage{e} },
	}
}

// agentPage shows what each agent does now.
type agentPage struct{ e *env }

// Update handles one message.
func (p *agentPage) Update(tea.Msg) tea.Cmd { return nil }

// Scopes is the scope of the page.
func (p *agentPage) Scopes() []string { return []string{string(KindAgents)} }

// Title names the page.
func (p *agentPage) Title() string { return "Agents" }

// Render draws a row for each agent.
func (p *agentPage) Render(w, h int) *ui.Block {
	b := ui.NewBlock(p.e.Theme, w).Rule("Agents", "")
	for _, a := range p.e.agents() {
		b.Add(" " + ui.Pad(a.name, 12) + " " + p.e.agentText(a))
	}
	return b.Fit(h)
}
