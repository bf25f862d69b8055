package coordinator

import (
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// The waits between tries of an agent at a limit that does not say how long: doubled each time up to the longest.
const (
	firstWait   = 30 * time.Second
	longestWait = 15 * time.Minute
)

// longestAsked is how long a provider may ask to be left alone. What asks for more is the admin's to decide on: it may be a mistake, or a way to
// hold a task up for ever.
const longestAsked = 24 * time.Hour

// maxPauses is how often an agent is tried again by itself before the admin is asked.
const maxPauses = 12

// retryAt is when the agent of a failed turn may be tried again: nil when that is the admin's to say.
func retryAt(t *amp.Task, agent string, f *providers.TurnError, now time.Time) *time.Time {
	switch f.Failure {
	case providers.FailRate, providers.FailOverloaded, providers.FailTransport:
	default:
		return nil
	}
	times := 0
	if i := slices.IndexFunc(t.Pauses, func(p amp.AgentPause) bool { return p.Agent == agent }); i >= 0 {
		times = t.Pauses[i].Times
	}
	if times >= maxPauses || f.Retry > longestAsked {
		return nil
	}
	wait := min(firstWait<<min(times, 10), longestWait)
	at := now.UTC().Add(max(wait, f.Retry))
	return &at
}

// limitText is what a failure at a limit says.
func limitText(f *providers.TurnError) string {
	if f.Retry > longestAsked {
		return fmt.Sprintf("it wants to be left alone for %s: %s", f.Retry.Round(time.Minute), f.Text)
	}
	return f.Text
}

// standIn is the first agent that may work in the place of one at its limit, "" when none may.
func (c *Coordinator) standIn(t *amp.Task, role amp.Role, of AgentConfig, now time.Time) (string, AgentConfig) {
	for _, name := range of.Fallback {
		a := c.cfg.Agents[name]
		if t.PauseOf(name, now) != nil || !slices.Contains(a.Roles, role) {
			continue
		}
		if role == amp.Reviewer && a.Vendor != "" {
			if _, executor, err := c.choose(t, amp.Executor); err != nil || executor.Vendor == a.Vendor {
				continue
			}
		}
		return name, a
	}
	return "", AgentConfig{}
}

// atLimit waits for an agent at its limit, or asks the admin when time does not help.
func (c *Coordinator) atLimit(t *amp.Task, role amp.Role, p *amp.AgentPause, now time.Time) []amp.Record {
	if p.Until != nil {
		return nil // a timer runs, see due
	}
	return []amp.Record{c.record(amp.KindQuestion, t.ID, amp.Coordinator, actor, now, amp.Question{
		QuestionID: c.cfg.NewID(), TaskID: t.ID, Type: amp.QuestionLimit, Agent: p.Agent, Role: role,
		Request: fmt.Sprintf("%s cannot work as %s: %s", p.Agent, role, p.Why), Options: []string{amp.OptionTryAgain},
		Why: "mend what it lacks and let it try again, or give the task to another agent",
	})}
}
