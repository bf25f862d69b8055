package tui

import (
	"context"
	"fmt"
	"strings"

	"arbiter/amp"
)

// Export is the list as it is narrowed, each escalation with the evidence of its decision, which is read page by page.
func (p *escalationsPage) Export() export {
	const page = 50
	rows, s := p.rows, p.e.Session
	query := p.search.field.Text()
	if p.only != "" {
		query = strings.TrimSpace(query + " is:" + p.only)
	}
	return export{
		Title: "Escalations", Query: query, Total: len(rows),
		Columns: []string{"ENTRY", "RAISED", "TASK", "TYPE", "SEVERITY", "AGENT", "DECISION", "AFTER_SEC", "EVIDENCE", "NOTE", "DESCRIPTION"},
		Next: func(ctx context.Context) ([]exportRow, error) {
			n := min(len(rows), page)
			out := make([]exportRow, 0, n)
			for i := range rows[:n] {
				ev, err := rows[i].ReadEvidence(ctx, s.Query)
				if err != nil {
					return nil, err
				}
				out = append(out, escalationRow(rows[i].Record(ev)))
			}
			rows = rows[n:]
			return out, nil
		},
	}
}

func escalationRow(r amp.EscalationRecord) exportRow {
	x := &r.PastEscalation
	after, evidence, note := "", "", ""
	if _, _, ok := x.Took(); ok {
		after = fmt.Sprintf("%.0f", r.DecidedAfter)
	}
	if r.Evidence != nil {
		evidence, note = evidenceText(r.Evidence), r.Evidence.Note
	}
	return exportRow{[]string{
		seqName(x.Seq), amp.FormatTime(x.At), string(x.TaskID), string(x.Type), string(x.Severity), concerns(x), decisionOf(x), after,
		evidence, note, x.Description,
	}, r}
}
