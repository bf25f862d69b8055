package tui

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
)

// BenchmarkDecisionFrames draws one frame of each page of decisions at 140x40.
func BenchmarkDecisionFrames(b *testing.B) {
	for _, at := range []Place{{Kind: KindInbox}, {Kind: KindPlans}, {Kind: KindPlan, ID: "T-2026-017"}, {Kind: KindEscalation, ID: "T-2026-004", Seq: 82}} {
		b.Run(string(at.Kind), func(b *testing.B) {
			m := still(b, decisionScene(), 140, 40)
			for _, id := range m.env.Board.Order {
				page, err := m.env.Session.Query(b.Context(), amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{TaskID: id, Newest: true, Limit: pastEntries}})
				if err != nil {
					b.Fatal(err)
				}
				m.env.desk.took(pastMsg{id, m.env.Board.Task(id).LastSeq, page.Entries, nil})
			}
			visit(b, m, at)
			b.ReportAllocs()
			for b.Loop() {
				m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'j'}})
			}
		})
	}
}
