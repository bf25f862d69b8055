package tui

import (
	"fmt"
	"strconv"

	"arbiter/amp"
)

// Export is the plans of the list, in its order, each with the whole plan in JSON.
func (p *plansPage) Export() export {
	rows := make([]exportRow, 0, len(p.rows))
	for _, r := range p.rows {
		t := p.e.Board.Task(r.id)
		if t == nil || t.Plan == nil {
			continue
		}
		n := len(t.Plan.Subtasks)
		rows = append(rows, exportRow{[]string{
			string(t.ID), strconv.Itoa(t.Plan.Revision), string(t.Plan.RiskLevel), t.Title, t.Plan.Author, strconv.Itoa(n),
			fmt.Sprintf("%d/%d", n-len(p.e.desk.reading(r.id).unread(t.Plan)), n), amp.FormatTime(r.at), t.Plan.Branch, t.Plan.Hash,
		}, t.Plan})
	}
	query := "oldest first"
	if p.newest {
		query = "newest first"
	}
	if p.search.query != "" {
		query += ", filter " + p.search.query
	}
	return export{
		Title: "plans", Query: query, Columns: []string{"TASK", "REVISION", "RISK", "TITLE", "AUTHOR", "SUBTASKS", "READ", "SINCE", "BRANCH", "CONTENT"},
		Next: rowsOf(rows), Total: len(rows),
	}
}
