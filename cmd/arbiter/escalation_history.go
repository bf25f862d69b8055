package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/tui/textsafe"
)

// pastFlags narrow the history of escalations; each is a field of its search.
type pastFlags struct {
	since, typ, severity, task, agent string
	open, csv                         bool
}

func newEscalationHistory(a *app) *cobra.Command {
	f := &pastFlags{}
	c := &cobra.Command{
		Use:   "history [SEARCH]",
		Short: "Every escalation ever raised: what was decided, by whom, on what evidence, and how long it took",
		Long: "Every escalation ever raised, the newest first.\n\nSEARCH is words and fields: " + strings.Join(amp.EscalationFields, ": ") +
			":, such as type:ack_timeout agent:codex since:7d is:closed. With --json each line is one escalation with its evidence.",
		Args: cobra.ArbitraryArgs,
		RunE: a.do(func(c *cobra.Command, args []string) error {
			return a.looking(func(l *look) error {
				b, err := board(c.Context(), l)
				if err != nil {
					return err
				}
				s, err := f.search(b, strings.Join(args, " "), time.Now())
				if err != nil {
					return err
				}
				return a.printPast(c.Context(), l, b.PastEscalations(s.Match), f.csv)
			})
		}),
	}
	fl := c.Flags()
	fl.BoolVar(&f.csv, "csv", false, "print a table for spreadsheets")
	fl.BoolVar(&f.open, "open", false, "only those that wait for a decision")
	fl.StringVar(&f.since, "since", "", "raised since: an age such as 7d, a day, or a time")
	fl.StringVar(&f.typ, "type", "", "the type of escalation")
	fl.StringVar(&f.severity, "severity", "", "critical, warning or info")
	fl.StringVar(&f.task, "task", "", "the task")
	fl.StringVar(&f.agent, "agent", "", "the agent that it is about, or its role")
	types := make([]string, len(amp.EscalationTypes))
	for i, t := range amp.EscalationTypes {
		types[i] = string(t)
	}
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(types, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return c
}

// search reads the flags and words as one search.
func (f *pastFlags) search(b *amp.Board, words string, now time.Time) (amp.EscalationSearch, error) {
	text := []string{words}
	field := func(name, value string) {
		if value != "" {
			text = append(text, name+`:"`+strings.ReplaceAll(value, `"`, "")+`"`)
		}
	}
	field("since", f.since)
	field("type", f.typ)
	field("severity", f.severity)
	field("agent", f.agent)
	if f.open {
		field("is", "open")
	}
	if f.task != "" {
		t, err := findTask(b, f.task)
		if err != nil {
			return amp.EscalationSearch{}, err
		}
		field("task", string(t.ID))
	}
	s, err := amp.ParseEscalationSearch(strings.Join(text, " "), now)
	if err != nil {
		return s, usage("%v", err).then("See the fields: arbiter escalation history --help")
	}
	return s, nil
}

func (a *app) printPast(ctx context.Context, q querier, list []amp.PastEscalation, asCSV bool) error {
	var rows *csv.Writer
	if asCSV && !a.json {
		rows = csv.NewWriter(a.stdout)
		if err := rows.Write(pastColumns); err != nil {
			return fmt.Errorf("write to standard output: %w", err)
		}
		defer rows.Flush()
	}
	t, now := &table{}, time.Now()
	t.add("ENTRY", "RAISED", "TASK", "TYPE", "SEVERITY", "AGENT", "DECISION", "BY", "TOOK", "EVIDENCE")
	for i := range list {
		ev, err := list[i].ReadEvidence(ctx, q.Query)
		if err != nil {
			return err
		}
		r := list[i].Record(ev)
		switch {
		case a.json:
			a.outJSON(&r)
		case rows != nil:
			if err := rows.Write(pastCells(&r)); err != nil {
				return fmt.Errorf("write to standard output: %w", err)
			}
		default:
			t.add(fmt.Sprintf("#%d", r.Seq), ago(r.At, now), string(r.TaskID), string(r.Type), string(r.Severity), orDash(aboutWhom(&r.PastEscalation)),
				pastDecision(&r), orDash(r.ResolvedBy), pastTook(&r), evidenceLine(r.Evidence))
		}
	}
	switch {
	case a.json:
	case rows != nil:
		rows.Flush()
		return rows.Error()
	case len(list) == 0:
		a.out("No escalation is like that.\n")
	default:
		t.print(a)
		a.out("\n%s\n", totalsLine(amp.TotalsOf(list), len(list)))
	}
	return nil
}

func aboutWhom(p *amp.PastEscalation) string {
	if p.Agent != "" {
		return p.Agent
	}
	return string(p.Role)
}

func pastDecision(r *amp.EscalationRecord) string {
	switch {
	case r.IsOpen:
		return "open"
	case r.Resolution == "":
		return "none: the task is " + string(r.Status)
	}
	return stepWords(r.Resolution, r.Next)
}

func pastTook(r *amp.EscalationRecord) string {
	decided, carried, ok := r.Took()
	switch {
	case !ok:
		return "-"
	case carried-decided < time.Second:
		return span(decided)
	}
	return span(decided) + ", carried out " + span(carried)
}

func evidenceLine(ev *amp.Evidence) string {
	if ev == nil {
		return "-"
	}
	var parts []string
	if ev.Read != "" {
		parts = append(parts, ev.Read)
	}
	if ev.Unread > 0 {
		parts = append(parts, fmt.Sprintf("%d unread", ev.Unread))
	}
	if ev.Digits != "" {
		parts = append(parts, "digits "+ev.Digits)
	}
	if n := len(ev.Checks); n > 0 {
		parts = append(parts, plural(n, "check"))
	}
	if ev.Note != "" {
		parts = append(parts, "«"+ev.Note+"»")
	}
	return orDash(strings.Join(parts, ", "))
}

func totalsLine(t amp.EscalationTotals, n int) string {
	var parts []string
	for _, typ := range amp.EscalationTypes {
		if k := t.Types[typ]; k > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", typ, k))
		}
	}
	line := plural(n, "escalation") + ": " + strings.Join(parts, ", ") + fmt.Sprintf("; %d open", t.Open)
	if t.Median > 0 {
		line += "; median time to the decision " + span(t.Median)
	}
	return line
}

// pastColumns are the names of the cells of an escalation in a spreadsheet. They are stable; new ones come at the end.
var pastColumns = []string{
	"entry", "raised_at", "task_id", "title", "escalation_type", "severity", "agent", "role", "raised_by", "open", "decision", "next",
	"decided_by", "decided_at", "decided_after_sec", "carried_out_after_sec", "read", "unread", "digits", "note", "checks", "description",
}

func pastCells(r *amp.EscalationRecord) []string {
	ev := r.Evidence
	if ev == nil {
		ev = &amp.Evidence{}
	}
	checks := make([]string, len(ev.Checks))
	for i, c := range ev.Checks {
		checks[i] = c.Name + " " + string(c.Finding)
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return amp.FormatTime(t)
	}
	cells := []string{
		strconv.FormatUint(r.Seq, 10), when(r.At), string(r.TaskID), r.Title, string(r.Type), string(r.Severity), r.Agent, string(r.Role),
		string(r.TriggeredBy), strconv.FormatBool(r.IsOpen), string(r.Resolution), string(r.Next), r.ResolvedBy, when(r.DecidedAt),
		secondsOf(r.DecidedAfter, r.Resolution), secondsOf(r.CarriedOutAfter, r.Resolution), ev.Read, strconv.Itoa(ev.Unread), ev.Digits, ev.Note,
		strings.Join(checks, "; "), r.Description,
	}
	for i, c := range cells {
		cells[i] = spreadsheetCell(c)
	}
	return cells
}

func secondsOf(s float64, c amp.CommandName) string {
	if c == "" {
		return ""
	}
	return strconv.FormatFloat(s, 'f', 3, 64)
}

// spreadsheetCell is text of others that no spreadsheet takes for a formula.
func spreadsheetCell(s string) string {
	s = textsafe.Line(s)
	if s != "" && slices.Contains([]byte("=+-@"), s[0]) {
		return "'" + s
	}
	return s
}
