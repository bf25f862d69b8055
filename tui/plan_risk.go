package tui

import (
	"fmt"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// riskText is the risk as the bar writes it.
func (e *env) riskText(r amp.RiskLevel) string {
	if r == amp.High {
		return "risk " + e.Theme.S(theme.Danger, "HIGH")
	}
	return "risk " + string(r)
}

// whyRisk are the facts that the risk comes from, as far as the plan says them.
func (p *planPage) whyRisk(b *ui.Block, t *amp.Task) {
	b.Rule("Why "+string(t.Plan.RiskLevel), "")
	for _, r := range riskReasons(t) {
		sign, role := p.e.Theme.Signs.Dot, theme.Text
		if r.loud {
			sign, role = "!", theme.Time
		}
		b.Para(2, p.e.Theme.S(role, sign)+" "+ui.Safe(r.text))
	}
}

// riskReason is one fact that a risk comes from; a loud one raises it.
type riskReason struct {
	loud bool
	text string
}

// riskReasons are the facts that the risk of a plan comes from, as far as the plan says them.
func riskReasons(t *amp.Task) []riskReason {
	var out []riskReason
	row := func(loud bool, text string) { out = append(out, riskReason{loud, text}) }
	pl := t.Plan
	if t.Wish != nil && t.Wish.Risk != "" && t.Wish.Risk != amp.Low {
		row(true, "the wish asks for at least "+string(t.Wish.Risk))
	}
	if len(pl.AllowedPaths) == 0 {
		row(true, "no paths are named: every file may change")
	}
	for i, s := range pl.Subtasks {
		if word := removalWord(s.Description); word != "" {
			row(true, fmt.Sprintf("S%d says «%s»", i+1, word))
		}
	}
	if len(pl.Checks) == 0 {
		row(false, "no checks of its own: those of the repository run")
	}
	row(false, pl.Author+" chose "+string(pl.RiskLevel)+"; a planner may raise the risk of the wish, never lower it")
	return out
}

// removalWord is a word of a text that speaks of taking something away, "" for none.
func removalWord(s string) string {
	for f := range strings.FieldsSeq(strings.ToLower(s)) {
		f = strings.Trim(f, ".,;:()«»\"'`")
		switch f {
		case "delete", "deletes", "remove", "removes", "drop", "drops", "migrate", "migrates", "rename", "renames", "truncate", "purge":
			return f
		}
	}
	return ""
}
