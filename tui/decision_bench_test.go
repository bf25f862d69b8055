package tui

import (
	"testing"

	"arbiter/amp"
)

// readPasts gives the pages what they would ask the journal for.
func readPasts(tb testing.TB, m *model) {
	tb.Helper()
	for _, id := range m.env.Board.Order {
		page, err := m.env.Session.Query(tb.Context(), amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{TaskID: id, Newest: true, Limit: pastEntries}})
		if err != nil {
			tb.Fatal(err)
		}
		m.env.desk.took(pastMsg{id, m.env.Board.Task(id).LastSeq, page.Entries, nil})
	}
}

// BenchmarkDecisionFrames draws the frame after a key of each page of decisions at 200x50.
func BenchmarkDecisionFrames(b *testing.B) {
	for _, at := range []Place{{Kind: KindTask, ID: "T-2026-004"}, {Kind: KindInbox}, {Kind: KindPlans}, {Kind: KindPlan, ID: "T-2026-017"}, {Kind: KindEscalation, ID: "T-2026-004", Seq: 82}} {
		b.Run(string(at.Kind), func(b *testing.B) {
			m := still(b, decisionScene(), 200, 50)
			readPasts(b, m)
			visit(b, m, at)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ { // three down, three up: every key moves
				m.Update(key([]string{"j", "j", "j", "k", "k", "k"}[i%6]))
			}
		})
	}
}
