package tui

import "arbiter/amp"

// Export is what waits, as the list is narrowed and in its order.
func (p *inboxPage) Export() export {
	query := p.search.query
	if p.kind != "" {
		query = "kind " + string(p.kind) + " " + query
	}
	return p.e.exportNeeds("inbox", query, p.rows)
}

// Export is everything that needs the admin; the tasks below it are the export of Tasks.
func (p *nowPage) Export() export { return p.e.exportNeeds("needs you", "", p.e.Index.Needs) }

func (e *env) exportNeeds(title, query string, needs []need) export {
	rows := make([]exportRow, 0, len(needs))
	for i := range needs {
		n := &needs[i]
		idle := e.idle(n, e.Board.Task(n.TaskID))
		rows = append(rows, exportRow{Cells: []string{
			seqName(n.Seq), amp.FormatTime(n.At), string(n.Kind), string(n.Severity), string(n.TaskID), n.What, n.Text, idle,
		}})
	}
	return export{
		Title: title, Query: query, Columns: []string{"ENTRY", "SINCE", "KIND", "SEVERITY", "TASK", "WHAT", "TEXT", "IF_IDLE"},
		Next: rowsOf(rows), Total: len(rows),
	}
}
