package tui

import (
	"strings"

	"arbiter/amp"
)

// tellPermission tells a request of an agent with all its parts, and what the plan lets it do.
func (p *plain) tellPermission(who string, q *amp.QuestionState, t *amp.Task) {
	r := q.Permission
	what := r.Command
	if what == "" {
		what = strings.Join(r.Paths, "\n")
	}
	if what == "" {
		what = r.Request
	}
	p.quote(capital(who)+" asks to "+string(r.Type)+":", what, 0)
	if r.Tool != "" {
		p.say("With its tool %s.", quoted(r.Tool))
	}
	if r.Command != "" && len(r.Paths) > 0 {
		p.say("Files: %s.", quoted(strings.Join(r.Paths, "  ")))
	}
	if r.Dir != "" {
		p.say("In the folder %s.", quoted(r.Dir))
	}
	if r.Reason != "" {
		p.quote("It says:", r.Reason, 0)
	}
	if q.Why != "" {
		p.say("You are asked because: %s.", q.Why)
	}
	if t.Plan == nil {
		return
	}
	p.say("The plan has %s risk and may change: %s.", t.Plan.RiskLevel, quoted(pathsOf(t.Plan)))
	for _, f := range t.Plan.ForbiddenActions {
		p.say("The plan forbids: %s.", quoted(f))
	}
}
