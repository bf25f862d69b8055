package scripted

import (
	"slices"
	"strings"

	"arbiter/amp"
)

// Scenario is a wish of the demo and what is to come of it.
type Scenario struct {
	Name   string
	Title  string
	Wish   string
	Branch string
	Risk   amp.RiskLevel
	// Shows is one sentence for the person who watches.
	Shows string
	// Decisions are what the admin decides after the approval of the plan, in order.
	Decisions []Decision

	// Status is where the task ends. Rejects is its reject_total, Rounds the number of its dispatches.
	Status  amp.Status
	Rejects int
	Rounds  int
	// Refuted says that at least one claim is refuted by git, Escalations which escalations are raised, in order.
	Refuted     bool
	Escalations []amp.EscalationType
	// Hold is the kind of the hold that the admin must decide, empty for none.
	Hold amp.HoldKind

	part      string
	behaviour behaviour
}

// Decision is one decision of the admin: when the task is in that status, this command with this note.
type Decision struct {
	When    amp.Status
	Command amp.CommandName
	// Next is the follow-up of an unlock.
	Next amp.CommandName
	Note string
}

// behaviour is how the executor or the reviewer of a scenario goes about it.
type behaviour struct {
	// commits: the executor commits its work itself; otherwise it leaves that to the coordinator.
	commits bool
	// careless: the first edit is wrong. stubborn: each one is, until there is guidance.
	careless, stubborn bool
	// lies: the first report is untrue. strays: without guidance it goes for the default branch. silent: it says nothing at all.
	lies, strays, silent bool
	// unsure: the reviewer's confidence is below the limit.
	unsure bool
}

// constraint is the name in tech_constraints that tells the executor its scenario.
const constraint = "scenario"

// Scenarios are the wishes of the demo, in the order in which they are best shown.
var Scenarios = []Scenario{
	{
		Name: "approved", Title: "Bills count quantities", Branch: "feature/total", Risk: amp.Low, part: "total",
		Wish:      "A bill with two teas only charges one. Make lib/total.awk count the quantity.",
		Shows:     "A task that is approved at its first review.",
		behaviour: behaviour{commits: true}, Status: amp.StatusApproved, Rounds: 1,
	},
	{
		Name: "rework", Title: "Names without blanks", Branch: "feature/trim", Risk: amp.Low, part: "trim",
		Wish:      "Names are printed with the blanks that people type around them. Make lib/trim.awk remove them.",
		Shows:     "The first edit passes the check and is wrong all the same; the reviewer finds it, the second one is right.",
		behaviour: behaviour{careless: true}, Status: amp.StatusApproved, Rejects: 1, Rounds: 2,
	},
	{
		Name: "lies", Title: "Dates in ISO form", Branch: "feature/date", Risk: amp.Medium, part: "date",
		Wish:      "Dates come out as 31-12-2026. Make lib/date.awk print 2026-12-31.",
		Shows:     "The report names a commit and a file that git does not know; no reviewer sees it before it is true.",
		behaviour: behaviour{lies: true}, Status: amp.StatusApproved, Rounds: 2, Refuted: true,
	},
	{
		Name: "locked", Title: "Cash in steps of five cents", Branch: "feature/cash", Risk: amp.Medium, part: "cash",
		Wish:      "The till has no coins under five cents. Make lib/cash.awk round to the nearest five.",
		Shows:     "The same mistake three times: the hallucination lock. With the admin's guidance it works.",
		behaviour: behaviour{commits: true, stubborn: true}, Status: amp.StatusApproved, Rejects: 3, Rounds: 4,
		Escalations: []amp.EscalationType{amp.HallucinationLock},
		Decisions: []Decision{{
			When: amp.Locked, Command: amp.Unlock, Next: amp.Redispatch,
			Note: "You only ever round down. Add 2 before you divide by 5 and cut: 1243 must give 1245.",
		}},
	},
	{
		Name: "mainline", Title: "Article codes in capitals", Branch: "feature/code", Risk: amp.High, part: "code",
		Wish:      "Scanners send codes in small letters. Make lib/code.awk print them in capitals.",
		Shows:     "The executor goes for main. The hooks refuse it, git shows it, and the task is suspended until the admin decides.",
		behaviour: behaviour{commits: true, strays: true}, Status: amp.StatusApproved, Rounds: 2,
		Escalations: []amp.EscalationType{amp.BranchViolation},
		Decisions: []Decision{{
			When: amp.Suspended, Command: amp.Redispatch, Note: "Work on the task's own branch only; main is not yours.",
		}},
	},
	{
		Name: "silent", Title: "List of what runs out", Branch: "feature/stock", Risk: amp.Low, part: "stock",
		Wish:      "The list of what runs out shows what there is plenty of. Mend lib/stock.awk.",
		Shows:     "The executor never acknowledges: redelivered once, then escalated, then ended without a trace.",
		behaviour: behaviour{silent: true}, Status: amp.Terminated, Rounds: 1,
		Escalations: []amp.EscalationType{amp.AckTimeoutEsc},
		Decisions:   []Decision{{When: amp.Suspended, Command: amp.Terminate, Note: "This agent does not answer; somebody else will do it."}},
	},
	{
		Name: "unsure", Title: "Plurals on the receipt", Branch: "feature/plural", Risk: amp.Low, part: "plural",
		Wish:      "The receipt says 2 apple. Make lib/plural.awk add the s where it is due.",
		Shows:     "The reviewer approves, but is not sure: the verdict waits for the admin before it counts.",
		behaviour: behaviour{unsure: true}, Status: amp.StatusApproved, Rounds: 1, Hold: amp.HoldVerdict,
		Decisions: []Decision{{When: amp.Held, Command: amp.Accept, Note: "Regular plurals are enough for our shelves."}},
	},
	{
		Name: "steps", Title: "Receipts in columns", Branch: "feature/receipt", Risk: amp.Medium, part: "receipt",
		Wish:      "Prices on the receipt dance. Make lib/receipt.awk put them into a column, also behind long names.",
		Shows:     "Two subtasks, one after the other: a full review, then an incremental one.",
		behaviour: behaviour{commits: true}, Status: amp.StatusApproved, Rounds: 2,
	},
}

// scenarioOf finds a scenario by its name, nil when there is none.
func scenarioOf(name string) *Scenario {
	i := slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &Scenarios[i]
}

// scenarioFor finds the scenario of a wish: its title, its text, or the file that it names.
func scenarioFor(w *amp.Wish) *Scenario {
	for i := range Scenarios {
		s := &Scenarios[i]
		if w.Title == s.Title || strings.TrimSpace(w.Text) == s.Wish {
			return s
		}
	}
	for i := range Scenarios {
		if strings.Contains(w.Text, partOf(Scenarios[i].part).file()) {
			return &Scenarios[i]
		}
	}
	return nil
}
