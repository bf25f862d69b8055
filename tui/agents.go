package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// agentState is one agent: what is known of it, what it does now and what it did lately.
type agentState struct {
	name  string
	facts *amp.AgentFacts // nil when the coordinator has no such agent, or said nothing of it
	turns int
	last  time.Time // the longest silence
	usage *amp.AgentUsage
}

// crew is what agents and turns returned for one version of the board.
type crew struct {
	version uint64
	at      time.Time
	state   *amp.CoordinatorState
	agents  []agentState
	running []amp.TaskID
	stopped []amp.TaskID
	near    []near
}

// manyTurns is how many running turns are counted at most once a second.
const manyTurns = 256

// known is the crew of now.
func (e *env) known() *crew {
	c := &e.crew
	fresh := c.version == e.Index.Version || len(e.Index.Running) > manyTurns && e.Now.Sub(c.at) < time.Second
	if c.agents == nil || c.state != e.State || !fresh {
		*c = crew{
			version: e.Index.Version, at: e.Now, state: e.State, agents: e.countAgents(),
			running: sortedTasks(e.Index.Running), stopped: sortedTasks(e.Index.Stopped),
		}
		c.near = e.nearBounds(c.running)
	}
	return c
}

// agents are the agents that the coordinator has, those with a turn at work, and those that worked lately: the busy ones first.
func (e *env) agents() []agentState { return e.known().agents }

func sortedTasks(set map[amp.TaskID]bool) []amp.TaskID {
	out := make([]amp.TaskID, 0, len(set))
	for id := range set {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func (e *env) countAgents() []agentState {
	byName := map[string]*agentState{}
	of := func(name string) *agentState {
		a := byName[name]
		if a == nil {
			a = &agentState{name: name, usage: e.Board.UsageOf(name)}
			byName[name] = a
		}
		return a
	}
	if e.State != nil {
		for _, names := range e.State.Agents {
			for _, n := range names {
				of(n)
			}
		}
		for i := range e.State.Crew {
			of(e.State.Crew[i].Name).facts = &e.State.Crew[i]
		}
	}
	for i := range e.Board.Usage {
		of(e.Board.Usage[i].Agent)
	}
	for id := range e.Index.Running {
		turn := e.Board.Task(id).Turn
		a := of(turn.Agent)
		a.turns++
		if a.last.IsZero() || turn.LastAt.Before(a.last) {
			a.last = turn.LastAt
		}
	}
	out := make([]agentState, 0, len(byName))
	for _, a := range byName {
		out = append(out, *a)
	}
	slices.SortFunc(out, func(a, b agentState) int {
		return cmp.Or(cmp.Compare(b.turns, a.turns), cmp.Compare(a.name, b.name))
	})
	return out
}

// trouble is the agent's last turn when that ended badly, nil otherwise.
func (a *agentState) trouble() *amp.TurnEnd {
	if a.usage == nil || len(a.usage.Last) == 0 {
		return nil
	}
	if end := &a.usage.Last[len(a.usage.Last)-1]; end.Outcome.Bad() {
		return end
	}
	return nil
}

// today is what the agent did on this day, in UTC.
func (a *agentState) today(e *env) amp.DayUsage {
	if a.usage == nil {
		return amp.DayUsage{}
	}
	return a.usage.On(e.Now)
}

// sign is how the agent is, in a sign and a word.
func (a *agentState) sign(e *env) string {
	sg := e.Theme.Signs
	switch end := a.trouble(); {
	case a.turns > 0:
		return e.Theme.S(theme.Good, sg.Live) + " busy"
	case end != nil:
		return e.Theme.S(theme.Time, sg.Severity(string(amp.Warning))+" "+outcomeWord(end.Outcome))
	case a.facts == nil && e.State != nil && len(e.State.Crew) > 0:
		return e.Theme.S(theme.Muted, sg.Off+" gone")
	}
	if b := e.busAgent(a.name); b != nil && !b.Healthy {
		return e.Theme.S(theme.Time, sg.Severity(string(amp.Warning))+" away")
	}
	return e.Theme.S(theme.Muted, sg.Off+" idle")
}

// outcomeWord is how a turn ended, in a word or two.
func outcomeWord(o amp.TurnOutcome) string {
	switch o {
	case amp.TurnOK:
		return "ended well"
	case amp.TurnInvalid:
		return "bad output"
	case amp.TurnTimeout:
		return "too long"
	case amp.TurnKilled:
		return "stopped"
	case amp.TurnLost:
		return "lost"
	case amp.TurnAsked:
		return "asked you"
	case amp.TurnPaused:
		return "at its limit"
	case amp.TurnFailed:
	}
	return "failed"
}

// through is the way to the agent.
func (a *agentState) through() string {
	if a.facts == nil {
		return "--"
	}
	return a.facts.Through
}

// way is through; in its place and in red, that nothing confines what goes that way.
func (a *agentState) way(e *env) ui.Cell {
	if a.facts != nil && (a.facts.Confined == "off" || a.facts.Confined == "none") {
		return ui.Cell{Text: e.Theme.Signs.No + " " + a.facts.Confined, Role: theme.Danger}
	}
	return ui.Cell{Text: a.through()}
}

func (a *agentState) roles(e *env) string {
	var out []string
	for _, r := range []amp.Role{amp.Coordinator, amp.Executor, amp.Reviewer} {
		if e.State != nil && slices.Contains(e.State.Agents[r], a.name) {
			out = append(out, string(r))
		}
	}
	if len(out) == 0 {
		return "--"
	}
	return strings.Join(out, ", ")
}

// agentText is "● 2 turns 4/30 min" for a row of several agents.
func (e *env) agentText(a *agentState) string {
	if a.turns == 0 {
		return a.sign(e)
	}
	return e.Theme.S(theme.Good, e.Theme.Signs.Live) + " " + plural(a.turns, "turn") + " " + e.silence(a.last, false)
}

// cost is an amount of money as it was reported; with a report of tokens alone it is those.
func cost(u amp.Usage) string {
	switch {
	case u.CostUSD > 0:
		return dollars(u.CostUSD)
	case u.Tokens > 0:
		return tokens(u.Tokens)
	case u.Turns > 0:
		return "--"
	}
	return ""
}

func dollars(v float64) string {
	if v >= 10_000 {
		return fmt.Sprintf("$%.0f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}

// tokens is a number of tokens, short: "950 tok", "212k tok", "3.4M tok".
func tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d tok", n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk tok", n/1000)
	}
	return fmt.Sprintf("%.1fM tok", float64(n)/1e6)
}

// mirrored is how the mirror of the journal stands, empty without one.
func (e *env) mirrored() string {
	if e.State == nil || e.State.Mirror == nil {
		return ""
	}
	switch m := e.State.Mirror; {
	case m.Stopped:
		return " · mirror STOPPED"
	case m.Trouble != "":
		return fmt.Sprintf(" · mirror waits, %d behind", m.Behind)
	case m.Public:
		return fmt.Sprintf(" · mirror %d behind, PUBLIC", m.Behind)
	case m.WithheldCount > 0:
		return fmt.Sprintf(" · mirror %d behind, %d withheld", m.Behind, m.WithheldCount)
	default:
		return fmt.Sprintf(" · mirror %d behind", m.Behind)
	}
}

// onBus is what waits on the bus, empty without one.
func (e *env) onBus() string {
	if e.State == nil || e.State.Bus == nil {
		return ""
	}
	b := e.State.Bus
	text := " · bus"
	if b.Queued > 0 {
		text += fmt.Sprintf(" %d wait,", b.Queued)
	}
	if b.Dead > 0 {
		return text + " " + plural(b.Dead, "dead letter")
	}
	well := 0
	for i := range b.Agents {
		if b.Agents[i].Healthy {
			well++
		}
	}
	return text + fmt.Sprintf(" %d of %d healthy", well, len(b.Agents))
}

// busAgent is what the bus knows of an agent, nil for one that is not on it.
func (e *env) busAgent(name string) *amp.BusAgent {
	if e.State == nil || e.State.Bus == nil {
		return nil
	}
	for i := range e.State.Bus.Agents {
		if b := &e.State.Bus.Agents[i]; b.Name == name {
			return b
		}
	}
	return nil
}

// spentToday is what all agents used on this day, in words: "today $12.40 · 212k tok · 31 turns".
func (e *env) spentToday() string {
	u := e.Board.UsedOn(e.Now)
	if u.Turns == 0 {
		return "no turn ended today"
	}
	var parts []string
	if u.CostUSD > 0 {
		parts = append(parts, dollars(u.CostUSD))
	}
	if u.Tokens > 0 {
		parts = append(parts, tokens(u.Tokens))
	}
	return "today " + strings.Join(append(parts, plural(u.Turns, "turn")), " · ")
}

// clockOf is how long ago something was, to the second.
func (e *env) clockOf(at time.Time) string {
	return ui.Clock(max(e.Now.Sub(at), 0).Truncate(time.Second))
}

// beat is the heartbeat of a running turn: what it waits for, the time to its ACK, or a gauge of its silence.
func (e *env) beat(t *amp.Task, cells int) string {
	u := t.Turn
	switch {
	case e.Board.Stopped != nil:
		return e.Theme.S(theme.Muted, "frozen")
	case len(t.Questions) > 0:
		return e.Theme.S(theme.Time, "waits for you "+seqName(t.Questions[0].Seq))
	case u == nil:
		return ""
	}
	if o := t.Obligation(u.For); o != nil {
		return "ACK " + ui.Countdown{Start: o.SentAt, Deadline: o.Deadline(), Redone: o.Redelivered, BarCells: cells - 2}.Text(e.Theme, e.Now)
	}
	silent := max(e.Now.Sub(e.counted(u.LastAt)), 0)
	share := min(float64(silent)/float64(e.heartbeat()), 1)
	gauge := ui.Gauge(e.Theme, cells, share)
	if silent >= watchAfter {
		gauge = e.Theme.S(theme.Time, gauge)
	}
	return gauge + " " + e.silence(u.LastAt, false)
}
