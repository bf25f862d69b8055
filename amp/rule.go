package amp

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed rules.txt
var ruleLines string

// ruleTable is rules.txt by id: one rule a line, its id and its sentence.
var ruleTable = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	for l := range strings.Lines(ruleLines) {
		id, text, _ := strings.Cut(strings.TrimSpace(l), " ")
		table[id] = text
	}
	return table
})

// RuleText is the sentence of a rule or decision of the protocol by its id, such as AMP-085 or A07, and of the rules that
// Arbiter has beside them. It is "" for an id that is none.
func RuleText(id string) string {
	if text, ok := ownRules[id]; ok {
		return text
	}
	return ruleTable()[id]
}

// RuleExpects is the rule that a decision breaks when the task has moved on since.
const RuleExpects = "expects"

// ownRules are Arbiter's rules for decisions; the protocol leaves them open.
var ownRules = map[string]string{
	RuleExpects: "a decision names the state that it was made on, and is refused when the task has moved on",
	"checklist": "a resume or unlock needs branch, base and worktree as recorded, and no process of the old epoch",
	"command":   "a command carries what its name needs, and nothing that contradicts it",
	"plan":      "a plan says what is to be done, where, and how it is known to be done",
}

// meanings say, for the families of rules, what a refusal means to a person.
var meanings = []struct{ rules, means string }{
	{RuleEpoch, "it comes from a run that was stopped before: the task goes on, or stands still, without it"},
	{RuleExpects, "the task had moved on: the decision was made on a state that is gone"},
	{"checklist", "what the task needs to go on is not in place"},
	{"command", "the decision is not complete, or contradicts itself"},
	{"plan", "the plan is not complete, so nobody could approve it"},
	{"AMP-002 AMP-004", "what arrived cannot be read as a message"},
	{"AMP-001 AMP-003 AMP-010 AMP-017 AMP-030 AMP-031 AMP-135 A28 A29", "the message does not have the form of the protocol"},
	{"AMP-005 AMP-023 AMP-025 AMP-027 A18", "it says wrongly whether and when it must be acknowledged"},
	{"AMP-007 AMP-008 AMP-018 AMP-019 AMP-032 AMP-033 AMP-034 AMP-035 AMP-036 AMP-072 AMP-102 AMP-122 AMP-152 A08 A09", "its sender may not send this, or not to whom it went"},
	{"AMP-011 AMP-012 AMP-014 A04 A05", "its msg_id does not name it, so nothing could be traced back to it"},
	{"AMP-013", "its msg_id stands for another message already, and an id stands for one content for ever"},
	{"AMP-015 AMP-016", "its sender speaks another version of the protocol"},
	{"AMP-020 AMP-021 A06", "it is about a task that is not known here"},
	{"AMP-022 AMP-083", "a time in it cannot be read, or has no zone"},
	{"AMP-028 AMP-029 AMP-103 AMP-104 AMP-105 AMP-159", "it refers to messages that it does not name"},
	{"AMP-047 AMP-048 AMP-049 A22", "it would work on a protected branch"},
	{"AMP-088 AMP-089 AMP-168 AMP-172", "the turn that it comes from did what its agent may not do"},
	{"AMP-045 AMP-046 A23", "it names no git repository on this machine"},
	{"AMP-040 AMP-059 AMP-060", "it was not approved by an admin as it stands"},
	{"AMP-050 AMP-051 AMP-052 AMP-053 AMP-054", "the subtasks are not said so that an agent could do them one by one"},
	{"AMP-043 AMP-044 AMP-055 AMP-056 AMP-057 AMP-058 AMP-061 AMP-062", "it does not say completely what is to be done and how it is known to be done"},
	{"AMP-070 AMP-073", "it reports on a subtask that was not dispatched"},
	{"AMP-074 AMP-075 AMP-076 AMP-084", "the executor does not say what it has done in a form that can be checked"},
	{"AMP-077 AMP-078 AMP-079 AMP-081 A11 A12", "the executor does not answer the criteria one by one"},
	{"AMP-082", "the executor does not say step by step what it has done"},
	{"AMP-085 AMP-086", "the executor stopped half-way and did not say why"},
	{"AMP-100 AMP-106 AMP-107 AMP-108 AMP-110 AMP-111 AMP-112 AMP-113", "the reviewer would not get what it needs for a review"},
	{"AMP-109 A02", "it counts the rejects in another way than the journal"},
	{"AMP-120 AMP-139", "the verdict belongs to no review that is open"},
	{"AMP-123 AMP-124", "the reviewer does not say clearly what it decided"},
	{"AMP-125 AMP-126 A13", "the reviewer does not answer the criteria one by one, or contradicts itself"},
	{"AMP-127 AMP-128 AMP-129 AMP-130", "the reviewer does not say what is wrong, where, and how bad it is"},
	{"AMP-131 AMP-132 AMP-133 AMP-134 A14 A15", "the reviewer changed more by itself than a reviewer may"},
	{"AMP-136", "the reviewer does not say how sure it is, from 0.0 to 1.0"},
	{"AMP-153 AMP-154 AMP-155 AMP-157 AMP-158 AMP-160 AMP-161 AMP-163 AMP-164 AMP-165 AMP-166 A17", "an agent raised an alarm that is not complete"},
	{"A07", "the acknowledgement does not fit what it acknowledges"},
}

var meaningOf = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	for _, m := range meanings {
		for id := range strings.FieldsSeq(m.rules) {
			table[id] = m.means
		}
	}
	return table
})

// Means is what a refusal means to a person, in one plain sentence: of its first problem's rule, and of a rule that this version
// does not know the problem's own words.
func (r *Refusal) Means() string {
	if len(r.Problems) == 0 {
		return "no reason was kept with it"
	}
	p := r.Problems[0]
	if means, ok := meaningOf()[p.Rule]; ok {
		return means
	}
	return p.Message
}

// Rule is the rule of the first problem, or "" when none was kept.
func (r *Refusal) Rule() string {
	if len(r.Problems) == 0 {
		return ""
	}
	return r.Problems[0].Rule
}
