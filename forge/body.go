package forge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"arbiter/amp"
)

const (
	// maxBody is the most of a body, below GitHub's own 65,536 characters; maxQuoted the most of one text of others in it.
	maxBody   = 60_000
	maxQuoted = 4_000
	maxRows   = 60
)

// Title is a pull request's title: that of the task, on one line.
func Title(d *amp.PullDraft) string {
	return cmp.Or(cut(strings.Join(strings.Fields(d.Title), " "), 200), string(d.TaskID))
}

// Body is what a pull request says of its task: the plan, what was claimed and found, the verdict, and where in the journal all of it
// stands. Words of agents stand in blocks of code, where they mention nobody and close no issue.
func Body(d *amp.PullDraft) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Task `%s`, delivered by %s.\n\n## Plan\n\n", d.TaskID, code(d.By))
	if p := d.Plan; p != nil {
		fmt.Fprintf(&b, "Revision %d, %s risk, content `%s`", p.Revision, p.RiskLevel, p.Hash)
		if a := d.Approval; a != nil {
			fmt.Fprintf(&b, ", approved by %s as entry %d", code(a.By), a.Seq)
		}
		b.WriteString(".\n\n" + quote(p.Description) + "\nAcceptance criteria:\n\n" + quote(numbered(p.AcceptanceCriteria)))
	}
	fmt.Fprintf(&b, "\n## Claims\n\n%d confirmed, %d refuted, %d inconclusive over all rounds. Of the last result:\n\n| claim | finding | found |\n|---|---|---|\n",
		d.Checks.Confirmed, d.Checks.Refuted, d.Checks.Inconclusive)
	for i, c := range d.Claims {
		if i == maxRows {
			fmt.Fprintf(&b, "| … | | %d more are in the journal |\n", len(d.Claims)-i)
			break
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", code(c.Name), c.Finding, code(c.Found))
	}
	if len(d.CI) > 0 {
		b.WriteString("\nChecks:")
		for _, name := range slices.Sorted(maps.Keys(d.CI)) {
			fmt.Fprintf(&b, " %s %s;", code(name), code(d.CI[name]))
		}
		b.WriteString("\n")
	}
	if v := d.Verdict; v != nil {
		fmt.Fprintf(&b, "\n## Verdict\n\n%s at confidence %.2f, entry %d.\n\n", v.Decision, v.Confidence, d.VerdictSeq)
		var lines []string
		for _, r := range v.CriteriaResults {
			passed := "unknown"
			if r.Passed != nil {
				passed = map[bool]string{true: "passed", false: "not passed"}[*r.Passed]
			}
			lines = append(lines, passed+": "+r.Criterion+"; "+r.Evidence)
		}
		b.WriteString(quote(numbered(lines)))
	}
	text := cut(b.String(), maxBody)
	if len(text) < b.Len() {
		text += "\n~~~~~~~~\n\nThe rest is in the journal.\n"
	}
	return text + fmt.Sprintf("\nJournal head: entry %d, `%s`\n", d.Head.Seq, d.Head.Hash)
}

func numbered(all []string) string {
	var b strings.Builder
	for i, s := range all {
		if i == maxRows {
			fmt.Fprintf(&b, "… and %d more\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "%d. %s\n", i+1, strings.Join(strings.Fields(s), " "))
	}
	return b.String()
}

// quote is a text of others in a block that it cannot close.
func quote(s string) string {
	fence := "~~~~"
	for strings.Contains(s, fence) {
		fence += "~"
	}
	return fence + "text\n" + strings.TrimRight(cut(clean(s), maxQuoted), "\n") + "\n" + fence + "\n"
}

// code is a short text of others on one line, which no character of it ends.
func code(s string) string {
	s = cut(strings.Join(strings.Fields(clean(s)), " "), 300)
	if s == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "|", "¦").Replace(s) + "`"
}

func clean(s string) string {
	o := amp.Outside{Remark: &amp.Remark{Text: s}}
	o.Clean()
	return o.Remark.Text
}

// cut is at most n bytes of s, cut between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
