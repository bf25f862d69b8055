package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sacp"
)

// Agent is a model behind an API. It is safe for concurrent use.
type Agent struct {
	config  Config
	dialect dialect
	client  *http.Client
	where   string // the service, in words
}

var (
	_ providers.Agent     = (*Agent)(nil)
	_ providers.Describer = (*Agent)(nil)
)

// New makes an agent of a model, or reports every problem of the configuration. Whether the service is there shows in a turn.
func New(c Config) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configure agent %s: %w", c.Name, err)
	}
	c.defaults()
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("configure agent %s: %w", c.Name, err)
	}
	return &Agent{config: c, dialect: dialects[c.Dialect], client: client(c.Transport), where: u.Host}, nil
}

// Describe says what an API promises, see [providers.Describer].
func (a *Agent) Describe(l providers.Limits) amp.AgentFacts {
	l = program.Defaults(l, a.config.Limits)
	return amp.AgentFacts{
		Through: "api", Acks: "auto", ReportsCost: true, Stops: true,
		SilenceSec: int(l.Silence.Seconds()), TotalSec: int(l.Total.Seconds()), OutputBytes: l.Output,
	}
}

// run is one turn.
type run struct {
	agent    *Agent
	turn     *providers.Turn
	emit     func(providers.Event)
	limits   providers.Limits
	deadline time.Time
	key      string
	usage    providers.Usage
	acked    bool
	logErr   error
	// tooLarge says that the last request failed because the model does not read so much at once; density is how many bytes a token is
	// taken to be, less each time that happens.
	tooLarge bool
	density  float64
	// short is how many tokens a service read of more than that.
	short int
}

// Run runs one turn, see [providers.Agent]. A turn of an executor fails: an API changes no files.
func (a *Agent) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	r := &run{agent: a, turn: &turn, emit: emit, limits: program.Defaults(turn.Limits, a.config.Limits), density: bytesPerToken}
	r.deadline = time.Now().Add(r.limits.Total)
	ctx, cancel := context.WithDeadlineCause(ctx, r.deadline, errTotal)
	defer cancel()
	out, failed := r.play(ctx)
	out.Usage = r.usage
	if failed != nil {
		out.Final, out.Question = nil, ""
		failed.Usage = r.usage
		return out, failed
	}
	return out, nil
}

// play asks what the turn asks, in as many requests as it takes.
func (r *run) play(ctx context.Context) (providers.Outcome, *providers.TurnError) {
	var out providers.Outcome
	config := func(err error) *providers.TurnError {
		return &providers.TurnError{Failure: providers.FailConfig, Text: r.clip(err.Error())}
	}
	if r.turn.Role == amp.Executor && r.turn.Prompt == nil {
		return out, config(fmt.Errorf("an API changes no files: name a program as executor"))
	}
	prompt, err := brief.Write(r.turn)
	if err != nil {
		return out, config(err)
	}
	if failed := r.unlock(); failed != nil {
		return out, failed
	}
	var parts []Part
	if r.agent.config.Material != nil && (r.turn.Prompt == nil || r.turn.Role == amp.Coordinator && r.turn.Dir != "") {
		parts, err = r.agent.config.Material(ctx, *r.turn)
		switch {
		case err != nil && ctx.Err() != nil:
			return out, r.stopped(ctx)
		case err != nil:
			return out, config(fmt.Errorf("read what the model is to see: %w", err))
		}
	}
	for {
		out, failed := r.review(ctx, prompt, parts)
		if failed == nil || !r.tooLarge || len(parts) == 0 || r.density < leastDensity {
			return out, failed
		}
		r.density *= 0.6
		r.progress("%s; tries again with smaller parts", failed.Text)
	}
}

// review asks about all parts, in as many requests as it takes, and joins what is found.
func (r *run) review(ctx context.Context, prompt providers.Prompt, parts []Part) (providers.Outcome, *providers.TurnError) {
	plan, err := r.split(&prompt, parts)
	if err != nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: r.clip(err.Error())}
	}
	if len(parts) > 0 {
		r.progress("%s", plan.coverage())
	}
	findings := make([]providers.Outcome, 0, len(plan.requests))
	for i, text := range plan.requests {
		if len(plan.requests) > 1 {
			r.progress("asks about part %d of %d", i+1, len(plan.requests))
		}
		r.short = 0
		one, failed := r.converse(ctx, prompt, text)
		if failed != nil || one.Question != "" {
			return one, failed
		}
		if len(parts) > 0 && r.short > 0 {
			plan.missing = append(plan.missing, fmt.Sprintf("of %d bytes in request %d the service read only %d tokens and left out the rest: "+
				"its context is smaller than context_tokens says", len(text), i+1, r.short))
		}
		findings = append(findings, one)
	}
	if r.turn.Role != amp.Reviewer || r.turn.Prompt != nil {
		return findings[0], nil
	}
	return r.merge(plan, findings)
}

// shortened reports whether a service read less than it was sent, as local servers do with what does not fit. A token is three or four bytes
// of a text, of the emptiest hardly ever a dozen.
func shortened(sent, tokens int) bool { return tokens > 0 && sent > 32<<10 && sent/tokens > 12 }

// unlock gets the key.
func (r *run) unlock() *providers.TurnError {
	if r.agent.config.Key == nil {
		return nil
	}
	key, err := r.agent.config.Key()
	if err != nil {
		return &providers.TurnError{Failure: providers.FailAuth, Text: err.Error()}
	}
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return &providers.TurnError{Failure: providers.FailAuth, Text: "the key holds a blank or another character that no key has: set it again"}
	}
	r.key = key
	return nil
}

// converse asks one request, and once more when the answer cannot be used.
func (r *run) converse(ctx context.Context, prompt providers.Prompt, text string) (providers.Outcome, *providers.TurnError) {
	t := &talk{system: prompt.System, said: []string{text}, schema: prompt.Schema}
	all := r.agent.config.Dialect == Responses || r.agent.config.Dialect == Chat
	if len(prompt.Schema) > 0 {
		t.exact = exact(prompt.Schema, all)
	}
	for round := 0; ; round++ {
		var out providers.Outcome
		answer, failed := r.ask(ctx, t)
		if failed != nil {
			return out, failed
		}
		said := answer.text
		if all && len(t.exact) > 0 {
			said = withoutNulls(prompt.Schema, said)
		}
		failed = brief.Read(r.turn, said, &out)
		problems := r.problems(&out, failed)
		if len(problems) == 0 {
			return out, failed
		}
		if round > 0 {
			return out, &providers.TurnError{
				Failure: providers.FailAnswer, Text: "its answer cannot be used, also after it was told so: " + r.clip(strings.Join(problems, "; ")),
				Tail: r.tail(answer.text),
			}
		}
		r.progress("its answer cannot be used, it is asked once more: %s", r.clip(strings.Join(problems, "; ")))
		t.said = append(t.said, answer.text, repair(problems))
	}
}

// problems are what makes an answer unusable; none when it is a payload, a question, or a failure that the model says itself.
func (r *run) problems(out *providers.Outcome, failed *providers.TurnError) []string {
	switch {
	case failed != nil && gaveUp(out):
		return nil
	case failed != nil:
		return []string{failed.Text}
	case len(out.Final) == 0:
		return nil
	}
	problems := brief.Check(r.turn, out.Final)
	var v amp.Verdict
	if r.turn.Role == amp.Reviewer && json.Unmarshal(out.Final, &v) == nil && v.Decision == amp.ApprovedWithFix {
		problems = append(problems, "data.decision: you cannot change files, so it is approved or rejected")
	}
	return problems
}

// gaveUp reports whether the model itself said that it cannot do what was asked.
func gaveUp(out *providers.Outcome) bool {
	a, problems, _ := sacp.Decode(out.Answer)
	return len(problems) == 0 && a.Status == sacp.Failure && !a.IsWrapper()
}

func repair(problems []string) string {
	return "Your answer cannot be used:\n- " + strings.Join(problems, "\n- ") +
		"\nAnswer again with the whole corrected JSON object, and nothing else."
}

// taken acknowledges the message, once.
func (r *run) taken() {
	if ack := brief.Accept(r.turn); ack != nil && !r.acked {
		r.acked = true
		r.emit(providers.Event{Type: providers.EventAck, Ack: ack})
	}
}

func (r *run) progress(format string, args ...any) {
	r.emit(providers.Event{Type: providers.EventProgress, Text: fmt.Sprintf(format, args...)})
}

// logf writes to the turn's log. What cannot be written is said once.
func (r *run) logf(format string, args ...any) {
	if r.turn.Log == nil || r.logErr != nil {
		return
	}
	if _, r.logErr = fmt.Fprintf(r.turn.Log, format, args...); r.logErr != nil {
		r.progress("the log of the turn ends here: %v", r.logErr)
	}
}
