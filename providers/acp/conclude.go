package acp

import (
	"cmp"
	"fmt"

	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
)

// endTurn is the reason to stop of a turn that ended well.
const endTurn = "end_turn"

// conclude says how the turn ended.
func (r *run) conclude(end program.End) (providers.Outcome, error) {
	out := providers.Outcome{Exit: end.Exit, Usage: r.spent()}
	if !r.agent.preset.forgets {
		out.Session = r.name
	}
	failed := end.Failed
	if failed == nil {
		failed = r.judge(end)
	}
	if failed == nil {
		failed = brief.ReadSubmitted(r.turn, r.agent.config.Tools, r.answer.String(), &out, r.emit)
	}
	if failed != nil {
		failed.Tail, failed.Exit, failed.Usage = end.Tail, end.Exit, out.Usage
		out.Final, out.Question, out.Text = nil, "", ""
	}
	return out, end.Err(failed)
}

// spent is what the turn took. What the answers of the model say counts before what the program makes of them.
func (r *run) spent() providers.Usage {
	used := r.gauge.Usage()
	if used.Tokens == 0 {
		used = r.used
	}
	used.Model = cmp.Or(used.Model, r.model, r.agent.config.Model)
	if r.resume == "" { // of a continued session it would be the cost of all its turns
		used.CostUSD = r.cost
	}
	return used
}

// judge looks at a program that was not ended for a reason of ours: well is a prompt that ended its turn, and an end that is no crash.
func (r *run) judge(end program.End) *providers.TurnError {
	exit := 0
	if end.Exit != nil && *end.Exit < 128 { // a signal is our way to end a program that stays
		exit = *end.Exit
	}
	fail := func(f providers.Failure, format string, args ...any) *providers.TurnError {
		return &providers.TurnError{Failure: f, Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case !r.over && !r.spoke && exit != 0:
		return fail(providers.FailConfig, "the program ended with %s before it said anything: %s", program.Exit(end.Exit), program.LastLine(end.Tail))
	case !r.over:
		return fail(providers.FailCrashed, "the program ended with %s before its turn was over", program.Exit(end.Exit))
	case r.stop == endTurn && exit != 0:
		return fail(providers.FailCrashed, "the program ended its turn and then ended with %s", program.Exit(end.Exit))
	case r.stop == endTurn:
		return nil
	}
	if s, ok := stops[r.stop]; ok {
		return fail(s.failure, "%s", s.text)
	}
	return fail(providers.FailModel, "the program ended its turn for an unknown reason: %s", program.Short([]byte(r.stop), shortText))
}

// stops are the other reasons to stop.
var stops = map[string]struct {
	failure providers.Failure
	text    string
}{
	"max_tokens":        {providers.FailModel, "the model's answer was cut at its limit of tokens; allow it longer answers, or make the task smaller"},
	"max_turn_requests": {providers.FailQuota, "the program made as many requests to the model as it allows itself; raise its limit, or make the task smaller"},
	"refusal":           {providers.FailModel, "the model refused to go on; read what it said, then change the task or choose another agent"},
	"cancelled":         {providers.FailCrashed, "the program cancelled its turn, though nobody asked it to"},
}
