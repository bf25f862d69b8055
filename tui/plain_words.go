package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
)

// numbers are said in words up to twelve.
var numbers = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}

// counted is a number of things in words: "no plans", "one plan", "six plans", "52 plans".
func counted(n int, word string) string {
	w := strconv.Itoa(n)
	if n >= 0 && n < len(numbers) {
		w = numbers[n]
	}
	if n != 1 {
		word += "s"
	}
	return w + " " + word
}

// capital is a sentence with a capital first letter.
func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// spoken is text of the screens with words for their signs. What is in quotation marks stays as it was written.
func spoken(s string) string {
	var b strings.Builder
	for s != "" {
		own, rest, found := strings.Cut(s, "«")
		b.WriteString(signWords.Replace(own))
		if !found {
			break
		}
		words, after, closed := strings.Cut(rest, "»")
		b.WriteString("«" + words)
		if closed {
			b.WriteString("»")
		}
		s = after
	}
	return b.String()
}

var signWords = strings.NewReplacer(
	"✗ rejected", "rejected", "✓ approved", "approved", " → ", " to ", "→", " to ", " ← ", " from ", "✓ ", "confirmed: ", "✗ ", "refuted: ", "? not", "not", "✓", "confirmed ", "✗", "refuted ",
	" · ", ", ", "×", "times ", "−", "minus ", "±", "changed", "…", "...", "awaiting_approval", "awaiting approval", " ?", " unclear ",
	"task_dispatch", "task dispatch", "review_request", "review request", "task_result", "task result", "review_verdict", "review verdict",
	"reject_count", "reject count", "context_ref", "referring to", "hallucination_lock", "hallucination lock", "ack_timeout",
	"acknowledgement timeout", "heartbeat_timeout", "heartbeat timeout", "branch_violation", "branch violation",
	"permission_denied", "permission denied", "ci_failure", "CI failure", "task_status", "task status", "raise_limit", "raise limit", "stop_all", "stop all", "approved_with_fix", "approved with fix",
)

// timeWords is a time in words, said in its largest unit that tells enough.
func timeWords(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return counted(int(d/time.Second), "second")
	case d < 2*time.Hour:
		return counted(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return counted(int(d/time.Hour), "hour")
	}
	return counted(int(d/(24*time.Hour)), "day")
}

// ago is how long ago something was.
func (p *plain) ago(t time.Time) string {
	if d := p.e.Now.Sub(t); d >= time.Second {
		return timeWords(d) + " ago"
	}
	return "just now"
}

// until is how long it is until something.
func (p *plain) until(t time.Time) string {
	if d := t.Sub(p.e.Now); d > 0 {
		return "in " + timeWords(d+time.Second-1)
	}
	return "now"
}

// statusWords is a status as it is said.
func statusWords(s amp.Status) string { return strings.ReplaceAll(string(s), "_", " ") }

// truthWords is a three-valued answer.
func truthWords(v *bool) string {
	switch {
	case v == nil:
		return "says nothing"
	case *v:
		return "says it is met"
	}
	return "says it is not met"
}

// needWords is one thing that waits, in one sentence.
func (p *plain) needWords(n *need) string {
	t := p.e.Board.Task(n.TaskID)
	if t == nil {
		return string(n.TaskID)
	}
	text := n.Text
	if n.Quoted {
		text = quoted(text)
	}
	switch n.Kind {
	case amp.NeedEscalation:
		what := fmt.Sprintf("%s escalation, %s, of %s, %s: %s", n.Severity, n.What, n.TaskID, p.ago(n.At), text)
		if s := escalationOf(n, t); s != nil && s.SeenBy != "" {
			what += ". Seen by " + s.SeenBy
		}
		return capital(spoken(what)) + "."
	case amp.NeedQuestion:
		return fmt.Sprintf("Question of %s, %s, %s: %s.", n.TaskID, n.What, p.ago(n.At), text)
	case amp.NeedHeld:
		return spoken(fmt.Sprintf("Held: %s, %s: %s.", n.TaskID, p.ago(n.At), text))
	case amp.NeedFailed:
		return spoken(fmt.Sprintf("Not carried out for %s, %s: %s.", n.TaskID, p.ago(n.At), text))
	case amp.NeedStopped:
		return spoken(fmt.Sprintf("Stands still: %s, %s: %s.", n.TaskID, p.ago(n.At), text))
	case amp.NeedDelivery:
		return spoken(fmt.Sprintf("To deliver: %s, %s: %s.", n.TaskID, p.ago(n.At), text))
	case amp.NeedPlan:
		return fmt.Sprintf("Plan of %s, revision %d, %s risk, %s, %s: %s.", n.TaskID, t.Plan.Revision, t.Plan.RiskLevel,
			counted(len(t.Plan.Subtasks), "subtask"), p.ago(n.At), quoted(t.Plan.Title))
	}
	return string(n.TaskID) + ": " + text
}

// taskWords is a task in one sentence.
func (p *plain) taskWords(t *amp.Task) string {
	out := fmt.Sprintf("%s is %s: %s", t.ID, statusWords(t.Status), quoted(titleOf(t)))
	if who := p.e.withWhom(t); who != "--" {
		out += ", with " + who
	}
	if t.RejectCount > 0 {
		out += fmt.Sprintf(", rejected %d of %d times", t.RejectCount, t.LockAt())
	}
	if r := riskOf(t); r != "--" {
		out += ", " + r + " risk"
	}
	return out + "."
}

// entryWords is one entry in one sentence.
func (p *plain) entryWords(en *amp.Entry) string {
	l := describe(en)
	text := spoken(l.Text)
	if l.Quoted {
		text = quoted(l.Text)
	}
	out := fmt.Sprintf("Entry %s, %s", seqName(en.Seq), p.e.Clock(en.At))
	if en.TaskID != "" {
		out += ", " + string(en.TaskID)
	}
	out += ": " + spoken(strings.ReplaceAll(l.What, "_", " "))
	switch {
	case l.From != "" && l.To != "":
		out += " from " + l.From + " to " + l.To
	case l.From != "":
		out += " by " + l.From
	}
	if text != "" {
		out += ": " + text
	}
	return out + "."
}
