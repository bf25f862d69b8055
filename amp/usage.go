package amp

import (
	"cmp"
	"math"
	"slices"
	"time"
	"unicode/utf8"
)

// The bounds of what a board keeps of the past, so that its size does not grow with the journal.
const (
	// UsageDays is how many days with turns are kept of each agent, UsageTurns how many of its last turns.
	UsageDays  = 35
	UsageTurns = 10
	// UsageAgents is how many agents are kept; the one that ended a turn longest ago makes room.
	UsageAgents = 32
	// UsageHours is how many hours are kept of the flow of verdicts.
	UsageHours = 12

	maxWhy = 160 // bytes of why a turn ended badly
)

// Usage is what turns took, as their agents reported it: an agent that reports no cost costs nothing here.
type Usage struct {
	// Turns counts turns that have ended.
	Turns   int     `json:"turns,omitzero"`
	Tokens  int     `json:"tokens,omitzero"`
	CostUSD float64 `json:"cost_usd,omitzero"`
	TookMS  int64   `json:"took_ms,omitzero"`
}

// Took is how long the turns worked in all, without what they waited for answers of the admin.
func (u Usage) Took() time.Duration { return time.Duration(u.TookMS) * time.Millisecond }

// Plus is the sum of both. It stays finite whatever a journal says.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Turns: u.Turns + v.Turns, Tokens: clamp(u.Tokens, v.Tokens), TookMS: int64(clamp(int(u.TookMS), int(v.TookMS))),
		CostUSD: min(math.Round((u.CostUSD+v.CostUSD)*1e6)/1e6, maxCost),
	}
}

const (
	maxCost  = 1e9
	maxCount = math.MaxInt64 / 4_000_000 // of milliseconds, what a duration can hold
)

func clamp(a, b int) int { return min(max(a, 0)+min(max(b, 0), maxCount), maxCount) }

// used is what one turn took.
func used(u *Turn) Usage {
	return Usage{}.Plus(Usage{Turns: 1, Tokens: u.Tokens, TookMS: u.workMS(), CostUSD: min(max(u.CostUSD, 0), maxCost)})
}

// Outcomes counts turns by how they ended.
type Outcomes struct {
	OK      int `json:"ok,omitzero"`
	Failed  int `json:"failed,omitzero"`
	Invalid int `json:"invalid,omitzero"`
	Killed  int `json:"killed,omitzero"`
	Timeout int `json:"timeout,omitzero"`
	Lost    int `json:"lost,omitzero"`
	Asked   int `json:"asked,omitzero"`
	Paused  int `json:"paused,omitzero"`
}

// Plus is the sum of both.
func (o Outcomes) Plus(p Outcomes) Outcomes {
	return Outcomes{
		OK: o.OK + p.OK, Failed: o.Failed + p.Failed, Invalid: o.Invalid + p.Invalid, Killed: o.Killed + p.Killed,
		Timeout: o.Timeout + p.Timeout, Lost: o.Lost + p.Lost,
		Asked: o.Asked + p.Asked, Paused: o.Paused + p.Paused,
	}
}

func (o *Outcomes) count(how TurnOutcome) {
	switch how {
	case TurnOK:
		o.OK++
	case TurnInvalid:
		o.Invalid++
	case TurnKilled:
		o.Killed++
	case TurnTimeout:
		o.Timeout++
	case TurnLost:
		o.Lost++
	case TurnAsked:
		o.Asked++
	case TurnPaused:
		o.Paused++
	default:
		o.Failed++
	}
}

// Bad reports whether a turn with this outcome is the agent's own trouble: it failed, gave no valid answer or took too long. A turn
// that was stopped, or lost with its coordinator, is none.
func (o TurnOutcome) Bad() bool { return o == TurnFailed || o == TurnInvalid || o == TurnTimeout }

// DayUsage is what an agent did on one day.
type DayUsage struct {
	// Day is the date in UTC, "2026-02-26", of the turns' ends.
	Day string `json:"day"`
	Usage
	Outcomes
}

// TurnEnd is a turn that has ended.
type TurnEnd struct {
	Seq     uint64      `json:"seq"`
	TurnID  string      `json:"turn_id"`
	TaskID  TaskID      `json:"task_id"`
	Role    Role        `json:"role"`
	Outcome TurnOutcome `json:"outcome"`
	At      time.Time   `json:"at"`
	TookMS  int64       `json:"took_ms,omitzero"`
	Tokens  int         `json:"tokens,omitzero"`
	CostUSD float64     `json:"cost_usd,omitzero"`
	// Why is the beginning of why it ended badly, untrusted; empty of a good one.
	Why string `json:"why,omitzero"`
}

// AgentUsage is what one agent did lately. It is never changed in place, so copies may share it.
type AgentUsage struct {
	Agent string `json:"agent"`
	// Days are the last days with turns of the agent, oldest first; Last its last turns, oldest first.
	Days []DayUsage `json:"days"`
	Last []TurnEnd  `json:"last"`
}

// On is what the agent did on the day of at, in UTC.
func (a *AgentUsage) On(at time.Time) DayUsage {
	day := DayOf(at)
	for i := len(a.Days) - 1; i >= 0; i-- {
		if a.Days[i].Day == day {
			return a.Days[i]
		}
	}
	return DayUsage{Day: day}
}

// HourFlow is what one hour brought.
type HourFlow struct {
	// Hour counts from the beginning of 1970 in UTC.
	Hour     int64 `json:"hour"`
	Verdicts int   `json:"verdicts,omitzero"`
	Rejected int   `json:"rejected,omitzero"`
	// Waits is how many things waited for the admin at the hour's last entry.
	Waits int `json:"waits,omitzero"`
}

// HourOf is the number of the hour of at in [HourFlow].
func HourOf(at time.Time) int64 { return at.Unix() / 3600 }

// DayOf is the day of at in UTC, as [DayUsage] names it.
func DayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// UsageOf is what an agent did lately, nil when no turn of it has ended.
func (b *Board) UsageOf(agent string) *AgentUsage {
	if i := b.usageAt(agent); i >= 0 {
		return &b.Usage[i]
	}
	return nil
}

func (b *Board) usageAt(agent string) int {
	return slices.IndexFunc(b.Usage, func(a AgentUsage) bool { return a.Agent == agent })
}

// UsedOn sums what all agents did on the day of at, in UTC.
func (b *Board) UsedOn(at time.Time) Usage {
	var sum Usage
	for i := range b.Usage {
		sum = sum.Plus(b.Usage[i].On(at).Usage)
	}
	return sum
}

// spend counts a turn that has ended. Slices are replaced, not written to: a store takes a board back by a copy of its fields.
func (b *Board) spend(e *Entry, u *Turn) {
	what := used(u)
	if t := b.Tasks[e.TaskID]; t != nil {
		t.Usage = t.Usage.Plus(what)
	}
	b.Usage = slices.Clone(b.Usage)
	i := b.usageAt(u.Agent)
	if i < 0 {
		b.Usage = append(b.Usage, AgentUsage{Agent: u.Agent})
		if len(b.Usage) > UsageAgents {
			b.Usage = slices.Delete(b.Usage, b.idlest(), b.idlest()+1)
		}
		i = b.usageAt(u.Agent)
	}
	a := &b.Usage[i]
	a.Days = withDay(a.Days, DayOf(e.At), func(d *DayUsage) {
		d.Usage = d.Usage.Plus(what)
		d.count(u.Outcome)
	})
	end := TurnEnd{
		Seq: e.Seq, TurnID: u.TurnID, TaskID: u.TaskID, Role: u.Role, Outcome: u.Outcome, At: e.At,
		TookMS: what.TookMS, Tokens: what.Tokens, CostUSD: what.CostUSD,
	}
	if u.Outcome.Bad() {
		end.Why = beginning(u.Text, maxWhy)
	}
	a.Last = append(slices.Clone(a.Last[max(len(a.Last)-UsageTurns+1, 0):]), end)
}

// idlest is the agent whose last turn ended first; the one that was just added has none yet and stays.
func (b *Board) idlest() int {
	at := 0
	for i := range b.Usage[:len(b.Usage)-1] {
		if last(b.Usage[i].Last).Seq < last(b.Usage[at].Last).Seq {
			at = i
		}
	}
	return at
}

func last(turns []TurnEnd) TurnEnd {
	if len(turns) == 0 {
		return TurnEnd{}
	}
	return turns[len(turns)-1]
}

// withDay is a copy of days in which one is changed, which is added when it is missing.
func withDay(days []DayUsage, day string, change func(*DayUsage)) []DayUsage {
	i, found := slices.BinarySearchFunc(days, day, func(d DayUsage, day string) int { return cmp.Compare(d.Day, day) })
	if !found {
		if len(days) >= UsageDays && i == 0 {
			return days // a day before all that are kept
		}
		days = slices.Insert(slices.Clone(days), i, DayUsage{Day: day})
		if len(days) > UsageDays {
			days, i = days[1:], i-1
		}
	} else {
		days = slices.Clone(days)
	}
	change(&days[i])
	return days
}

// hour changes the flow of the hour of at, in a copy.
func (b *Board) hour(at time.Time, change func(*HourFlow)) {
	h := HourOf(at)
	i, found := slices.BinarySearchFunc(b.Hours, h, func(f HourFlow, h int64) int { return cmp.Compare(f.Hour, h) })
	switch {
	case found:
		b.Hours = slices.Clone(b.Hours)
	case len(b.Hours) >= UsageHours && i == 0:
		return
	default:
		b.Hours = slices.Insert(slices.Clone(b.Hours), i, HourFlow{Hour: h, Waits: b.Waits})
		if len(b.Hours) > UsageHours {
			b.Hours, i = b.Hours[1:], i-1
		}
	}
	change(&b.Hours[i])
}

// awaited counts what waits for the admin after an entry about a task, of which was things waited before.
func (b *Board) awaited(e *Entry, was int) {
	if by := b.Tasks[e.TaskID].waits() - was; by != 0 {
		b.Waits += by
		b.hour(e.At, func(h *HourFlow) { h.Waits = b.Waits })
	}
}

// beginning is at most n bytes of s, cut between characters.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
