package notify

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
)

// maxPages is how many messages a card has at most; what is longer is read at the screen.
const maxPages = 6

// card is a need as it is told: what and why, what is decided on, and the decisions that are possible from here.
type card struct {
	// pages are the messages of the card. The last one carries the choices and changes with the need; those before never change.
	pages   []text
	choices []choice
	// short is the card in one line of ours, for lists and desktops.
	short string
}

// cardOf builds the card of a need. stat are lines on what changed in the branch, or empty.
func cardOf(n *need, t *amp.Task, stat []statLine, remote bool, zone *time.Location) card {
	body := &text{}
	switch n.Kind {
	case amp.NeedPlan:
		planBody(body, t)
	case amp.NeedEscalation:
		escalationBody(body, n.escalation(t))
	case amp.NeedQuestion:
		questionBody(body, n.question(t))
	case amp.NeedHeld:
		body.quote("Why: ", t.Hold.Why, 1000)
		if t.Hold.Kind == amp.HoldVerdict {
			body.say("Verdict: %s at confidence %.2f", t.Decision, t.Confidence)
		}
		if t.Fix != "" {
			body.quote("Fixes of the reviewer, on the branch once the verdict stands: ", t.Fix, 80)
		}
		checked(body, t)
	case amp.NeedDelivery:
		body.say("The review ended with %s at confidence %.2f.", t.Decision, t.Confidence)
		checked(body, t)
	case amp.NeedStopped:
	case amp.NeedFailed:
		for _, f := range t.Failed {
			if f.Seq == n.Seq {
				body.quote(fmt.Sprintf("%s was not carried out: ", f.Command), f.Why, 600)
				body.quote("Decided by ", f.By, 80)
			}
		}
	}
	if n.Kind != amp.NeedPlan {
		statBody(body, stat)
		if t.Commit != "" {
			body.quote("Commit: ", t.Commit, 80)
		}
	}
	all := &text{}
	all.head("%s: %s", t.ID, headline(n, t))
	all.quote("Task: ", t.Title, 200)
	all.lines, all.cut = append(all.lines, body.lines...), body.cut
	pages := all.pages()
	whole := !all.cut && len(pages) <= maxPages
	if len(pages) > maxPages {
		pages = pages[:maxPages]
		pages[maxPages-1].say("… the rest is at the screen")
	}
	c := card{pages: pages, short: fmt.Sprintf("%s: %s", t.ID, headline(n, t))}
	var notes []string
	c.choices, notes = n.choices(t, remote, whole)
	foot := &c.pages[len(c.pages)-1]
	footer(foot, n, t, notes, zone)
	return c
}

// footer is what of a card changes: what waits to take effect, what is off, and what happens without a decision.
func footer(foot *text, n *need, t *amp.Task, notes []string, zone *time.Location) {
	if n.Kind == amp.NeedPlan && t.First != nil {
		foot.quote("Approved by ", t.First.By, 80)
		foot.quote("A second admin is missing, who is not ", t.NotBy(), 160)
	}
	for _, w := range t.Waiting {
		foot.quote(fmt.Sprintf("%s runs at %s, decided by ", w.Command.Command, clock(w.Due, zone)), w.Command.By, 80)
	}
	for _, note := range notes {
		foot.quote("", note, 300)
	}
	if n.Kind != amp.NeedFailed {
		foot.say("Without a decision it stands still.")
	}
}

// headline says what waits.
func headline(n *need, t *amp.Task) string {
	switch n.Kind {
	case amp.NeedEscalation:
		if s := n.escalation(t); s != nil && s.Severity == amp.Critical {
			return "CRITICAL " + strings.ReplaceAll(string(s.Type), "_", " ")
		}
		return n.what(t)
	case amp.NeedPlan:
		return fmt.Sprintf("plan r%d needs you, %s risk", t.Plan.Revision, risk(t.Plan.RiskLevel))
	case amp.NeedQuestion:
		return "an agent waits for an answer: " + string(n.question(t).Type)
	case amp.NeedHeld:
		return strings.ReplaceAll(string(t.Hold.Kind), "_", " ") + " is held"
	case amp.NeedDelivery:
		return "approved, not delivered yet"
	case amp.NeedFailed, amp.NeedStopped:
	}
	return n.what(t)
}

func risk(r amp.RiskLevel) string {
	if r == amp.High {
		return "HIGH"
	}
	return string(r)
}

// planBody is a plan as a whole: what of it was read here counts as read.
func planBody(b *text, t *amp.Task) {
	const long = 12000
	p := t.Plan
	b.quote("Wish: ", p.Wish, long)
	b.quote("What: ", p.Description, long)
	if p.Reasons != "" {
		b.quote("Why: ", p.Reasons, long)
	}
	b.quote("Author: ", p.Author, 80)
	b.quote("Repository: ", p.Repo, 300)
	b.quote("Branch: ", p.Branch, 200)
	b.quote("Base: ", p.BaseBranch+"@"+p.BaseCommit, 300)
	if len(p.AllowedPaths) == 0 {
		b.say("May change: every file")
	}
	list := func(label string, items []string) {
		for _, s := range items {
			b.quote(label, s, long)
		}
	}
	list("May change: ", p.AllowedPaths)
	lines := 0
	for i, s := range p.Subtasks {
		b.quote(fmt.Sprintf("S%d, about %d lines: ", i+1, s.EstimatedLines), s.Description, long)
		lines += s.EstimatedLines
	}
	b.say("In all: %d subtasks, about %d lines", len(p.Subtasks), lines)
	list("Criterion: ", p.AcceptanceCriteria)
	list("Forbidden: ", p.ForbiddenActions)
	for _, argv := range p.Checks {
		b.quote("Check: ", strings.Join(argv, " "), long)
	}
	for _, k := range sortedKeys(p.TechConstraints) {
		b.quote("Constraint: ", k+" = "+amp.ConstraintText(p.TechConstraints[k]), long)
	}
	for _, who := range []struct{ label, name string }{{"Executor: ", p.Executor}, {"Reviewer: ", p.Reviewer}} {
		if who.name != "" {
			b.quote(who.label, who.name, 80)
		}
	}
	if p.Budget != (amp.Budget{}) {
		b.say("Budget: %d turns, %s, %d tokens, $%.2f (0 is the configured one)", p.Budget.Turns, time.Duration(p.Budget.WallSec)*time.Second, p.Budget.Tokens, p.Budget.CostUSD)
	}
	b.quote("Content: ", p.Hash, 80)
}

func escalationBody(b *text, s *amp.EscalationState) {
	b.say("Raised by %s about %s, severity %s", s.From, s.TriggeredBy, s.Severity)
	b.quote("What: ", s.Description, 1500)
	for _, a := range s.Suggested {
		b.quote("Suggested: ", a, 200)
	}
}

func questionBody(b *text, q *amp.QuestionState) {
	b.quote("Agent: ", string(q.Role)+" "+q.Agent, 120)
	b.quote("Asks: ", q.Request, 3000)
	if p := q.Permission; p != nil {
		b.say("To do: %s", p.Type)
		if p.Dir != "" {
			b.quote("In: ", p.Dir, 300)
		}
		for _, f := range p.Paths {
			b.quote("File: ", f, 300)
		}
		if p.Request != "" && p.Request != q.Request {
			b.quote("In its words: ", p.Request, 3000)
		}
		if p.Reason != "" {
			b.quote("Its reason: ", p.Reason, 1000)
		}
	}
	if q.Why != "" {
		b.quote("Asked because: ", q.Why, 400)
	}
	if q.Type == amp.QuestionClarification {
		for _, o := range q.Options {
			b.quote("It suggests: ", o, 200)
		}
	}
}

// checked are the claims of the report against git.
func checked(b *text, t *amp.Task) {
	if c := t.Checked; c != nil {
		b.say("Claims: %d confirmed, %d refuted, %d open", c.Confirmed, c.Refuted, c.Inconclusive)
		for i, r := range c.Refutations {
			if i == 5 {
				break
			}
			b.quote("Refuted: ", r, 200)
		}
	}
	for i := range t.Findings {
		if i == 5 {
			b.say("… and %d more findings", len(t.Findings)-i)
			break
		}
		f := &t.Findings[i]
		b.quote(fmt.Sprintf("Finding %d, %s: ", i+1, f.Severity), f.Description, 200)
	}
}

// statLine is one file of what changed.
type statLine struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// maxStat is how many files a card names.
const maxStat = 10

func statBody(b *text, stat []statLine) {
	if len(stat) == 0 {
		return
	}
	added, removed := 0, 0
	for i, s := range stat {
		added, removed = added+s.Added, removed+s.Removed
		if i < maxStat {
			b.quote(fmt.Sprintf("+%d −%d ", s.Added, s.Removed), s.Path, 200)
		}
	}
	b.say("Changed: %d files, +%d −%d", len(stat), added, removed)
}

func clock(at time.Time, zone *time.Location) string { return at.In(zone).Format("15:04:05") }
