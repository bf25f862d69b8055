package tui

import (
	"context"
	"strings"

	"arbiter/amp"
)

// refusalRecord is a refusal as it is exported; raw is base64.
type refusalRecord struct {
	Seq   uint64   `json:"seq"`
	At    string   `json:"at"`
	Actor string   `json:"actor"`
	Role  amp.Role `json:"role"`
	Means string   `json:"means"`
	amp.Refusal
}

// Export is every refusal of the journal that the list would show, the newest first, read page by page.
func (p *refusalPage) Export() export {
	s, only, query := p.e.Session, p.only, p.search.query
	filter := listFilter{query: query}
	l := refusalLog{known: true}
	done := false
	name := strings.TrimSpace(query)
	if only != "" {
		name = strings.TrimSpace("rule " + only + " " + name)
	}
	return export{
		Title: "Refusals", Query: name, Columns: []string{"ENTRY", "AT", "TASK", "WHAT", "FROM", "RULE", "AT_FIELD", "MESSAGE", "MEANS", "BYTES"},
		Next: func(ctx context.Context) ([]exportRow, error) {
			for !done {
				got, err := s.Query(ctx, l.olderQuery())
				if err != nil {
					return nil, err
				}
				var rows []exportRow
				items := refusalsOf(got.Entries)
				for i := range items {
					it := &items[i]
					if (only == "" || it.rule() == only) && filter.keeps(it.match) {
						rows = append(rows, refusalRow(it, &got.Entries[i]))
					}
				}
				done = !got.More || len(items) == 0
				if len(items) > 0 {
					l.items = items[len(items)-1:]
				}
				if len(rows) > 0 {
					return rows, nil
				}
			}
			return nil, nil
		},
	}
}

func refusalRow(it *refusalItem, en *amp.Entry) exportRow {
	var p amp.Problem
	if len(it.Problems) > 0 {
		p = it.Problems[0]
	}
	full := it.Refusal
	if r, err := amp.DecodeBody[amp.Refusal](en); err == nil {
		full = r
	}
	at := amp.FormatTime(it.At)
	return exportRow{
		[]string{
			seqName(it.Seq), at, string(it.TaskID), it.What, it.Actor, it.rule(), p.Field, p.Message, it.Means(), visible(it.Raw),
		},
		refusalRecord{it.Seq, at, it.Actor, it.Role, it.Means(), full},
	}
}

// Export is every error that is kept, the newest first.
func (p *failurePage) Export() export {
	var rows []exportRow
	for i := range p.e.errors {
		f := p.at(i)
		rows = append(rows, exportRow{Cells: []string{amp.FormatTime(f.At), f.What, f.Means, f.Next}})
	}
	return export{
		Title: "Errors of this program", Columns: []string{"AT", "WHAT", "MEANS", "NEXT"}, Total: len(rows), Next: rowsOf(rows),
	}
}
