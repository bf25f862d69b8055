package tui

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// line is one entry in words. Its strings may hold an agent's text: they are made safe while drawing.
type line struct {
	// Sign is a kind of row of [theme.Signs.Timeline].
	Sign string
	Role theme.Role
	// What is the message type or the kind of entry, From and To who sent it to whom.
	What, From, To string
	// Text is the rest in one line; Quoted says that it is an agent's own words.
	Text   string
	Quoted bool

	body any // the decoded body
}

func (l *line) who() string {
	if l.To == "" {
		return l.From
	}
	return l.From + " → " + l.To
}

func (e *env) styledSign(l line) string { return e.Theme.S(l.Role, e.Theme.Signs.Timeline(l.Sign)) }

func (e *env) lineText(l line) string {
	if l.Quoted {
		return ui.Quote(e.Theme, l.Text)
	}
	return ui.Safe(l.Text)
}

// describe puts an entry into words. An entry that this version cannot read says so.
func describe(e *amp.Entry) line {
	l, err := decode(e)
	if err != nil {
		return line{Sign: "refusal", Role: theme.Danger, What: string(e.Kind), From: e.Actor, Text: "cannot be read: " + err.Error()}
	}
	return l
}

func decode(e *amp.Entry) (line, error) {
	switch e.Kind {
	case amp.KindMessage:
		m, _, err := amp.Decode(e.Body)
		if err != nil {
			return line{}, err
		}
		return messageLine(e, m), nil
	case amp.KindAck:
		return bodyLine(e, ackLine)
	case amp.KindCommand:
		return bodyLine(e, commandLine)
	case amp.KindPlan:
		return bodyLine(e, func(e *amp.Entry, p *amp.Plan) line {
			return line{
				Sign: "plan", What: "plan", From: p.Author,
				Text: fmt.Sprintf("r%d %s, %s, %s", p.Revision, plural(len(p.Subtasks), "subtask"), p.RiskLevel, short(p.Hash)),
			}
		})
	case amp.KindTurn:
		return bodyLine(e, turnLine)
	case amp.KindQuestion:
		return bodyLine(e, func(e *amp.Entry, q *amp.Question) line {
			return line{Sign: "question", Role: theme.Time, What: "question", From: q.Agent, Text: string(q.Type) + ": " + quoted(q.Request)}
		})
	case amp.KindCheck:
		return bodyLine(e, checkLine)
	case amp.KindRefusal:
		return bodyLine(e, refusalLine)
	case amp.KindChain:
		return bodyLine(e, chainLine)
	case amp.KindOutside:
		return bodyLine(e, outsideLine)
	case amp.KindBus:
		return line{Sign: "note", What: string(e.Kind), From: e.Actor, Text: fmt.Sprintf("%d bytes", len(e.Body))}, nil
	}
	return line{}, fmt.Errorf("kind %q is not known to this version", e.Kind)
}

// chainLine is a message of the planning chain and what became of it, what stands against it first.
func chainLine(e *amp.Entry, c *amp.Chain) line {
	l := line{Sign: "note", What: string(c.Stage), From: c.Agent, Text: string(c.Result)}
	switch {
	case c.Result != amp.ChainForwarded:
		l.Role = theme.Danger
	case len(c.Repairs)+len(c.Warnings) > 0:
		l.Role = theme.Time
	}
	if why := c.Why(); why != "" {
		l.Text += ": " + quoted(why)
	}
	return l
}

// outsideLine is a report of another system; what strangers wrote stands in quotation marks.
func outsideLine(e *amp.Entry, o *amp.Outside) line {
	l := line{Sign: "note", What: string(o.Event), From: o.Source, Text: quoted(o.Line())}
	switch {
	case o.CI != nil && o.CI.State == amp.CheckFailed:
		l.Role = theme.Danger
	case o.CI != nil && o.CI.State == amp.CheckPending, o.Remark != nil:
		l.Role = theme.Time
	}
	return l
}

func bodyLine[T any](e *amp.Entry, f func(*amp.Entry, *T) line) (line, error) {
	body, err := amp.DecodeBody[T](e)
	if err != nil {
		return line{}, err
	}
	l := f(e, &body)
	l.body = &body
	return l, nil
}

// quoted is somebody else's words in quotation marks, which the words themselves can not close.
func quoted(s string) string { return "«" + marksInside.Replace(s) + "»" }

var marksInside = strings.NewReplacer("«", "‹", "»", "›")

// short is the beginning of a hash.
func short(hash string) string {
	if len(hash) > 7 {
		return hash[:7]
	}
	return hash
}

func messageLine(e *amp.Entry, m *amp.Message) line {
	l := line{Sign: "sent", What: string(m.Type), From: string(m.From), To: string(m.To), body: m}
	if m.From != amp.Coordinator {
		l.Sign = "received"
		if e.Actor != "" {
			l.From = e.Actor
		}
	}
	switch p := m.Payload.(type) {
	case *amp.Dispatch:
		l.Text = plural(len(p.Subtasks), "subtask")
		if n := len(m.ContextRef); n > 0 {
			l.Text += ", " + plural(n, "ref")
		}
	case *amp.Result:
		d := p.DiffSummary
		l.Text = fmt.Sprintf("%s, %s +%d −%d", p.CompletionStatus, plural(len(d.FilesChanged), "file"), d.LinesAdded, d.LinesRemoved)
		if p.CompletionStatus != amp.Complete {
			l.Role = theme.Time
			if len(p.Blockers) > 0 {
				l.Text += ", blocked: " + quoted(p.Blockers[0])
			}
		}
	case *amp.Request:
		l.Text = fmt.Sprintf("%s, reject_count %d", p.ReviewScope, p.RejectCount)
		if p.RejectCount >= 2 {
			l.Text += ": Lock is approaching"
		}
	case *amp.Verdict:
		l.Text, l.Role = verdictWords(p)
	case *amp.Escalation:
		l.Sign, l.Role, l.What = "escalation", theme.Time, string(p.EscalationType)
		if p.Severity == amp.Critical {
			l.Role = theme.Danger
		}
		l.Text = string(p.Severity) + ": " + p.Description
		if m.From != amp.Coordinator && m.From != amp.System {
			l.Text = string(p.Severity) + ": " + quoted(p.Description)
		}
	}
	return l
}

func verdictWords(v *amp.Verdict) (string, theme.Role) {
	word, role := "✓ "+string(v.Decision), theme.Good
	switch v.Decision {
	case amp.Rejected:
		word, role = "✗ rejected", theme.Danger
	case amp.ApprovedWithFix:
		word = "✓ approved with " + plural(len(v.DirectFixes), "fix")
		if len(v.DirectFixes) != 1 {
			word = fmt.Sprintf("✓ approved with %d fixes", len(v.DirectFixes))
		}
	case amp.Approved:
	}
	word += fmt.Sprintf(", conf %.2f", v.Confidence)
	if n := len(v.Issues); n > 0 {
		word += ", " + plural(n, "issue")
	}
	return word, role
}

func ackLine(e *amp.Entry, a *amp.Ack) line {
	l := line{Sign: "accepted", Role: theme.Good, What: "ACK " + string(a.Status), From: e.Actor}
	typ, _, _, err := amp.ParseMsgID(a.AckFor)
	if err == nil {
		l.Text = "of " + string(typ)
	}
	if a.Status == amp.AckRefused {
		l.Sign, l.Role = "refused", theme.Danger
		l.Text += ": " + quoted(a.Reason)
	}
	if a.Late {
		l.Role = theme.Time
		l.Text += ", late"
	}
	if n := len(a.EchoedAcceptanceCriteria); n > 0 {
		l.Text += ", criteria echoed"
	}
	return l
}

func commandLine(e *amp.Entry, c *amp.Command) line {
	l := line{Sign: "command", Role: theme.Accent, What: string(c.Command), From: c.By}
	var parts []string
	if c.Args.Next != "" {
		parts = append(parts, "then "+string(c.Args.Next))
	}
	if c.Command == amp.Submit && c.Args.Wish != nil {
		parts = append(parts, quoted(c.Args.Wish.Text))
	}
	if c.Args.EffectiveAt != nil {
		parts = append(parts, fmt.Sprintf("runs %d s later", int(c.Args.EffectiveAt.Sub(e.At).Seconds())))
	}
	if c.Args.Option != "" {
		parts = append(parts, c.Args.Option)
	}
	if c.Note != "" {
		parts = append(parts, quoted(c.Note))
	}
	l.Text = strings.Join(parts, ", ")
	return l
}

func turnLine(e *amp.Entry, t *amp.Turn) line {
	l := line{Sign: "turn", What: "turn " + string(t.Event), From: t.Agent}
	switch t.Event {
	case amp.TurnStarted:
		l.Text = string(t.Role) + fmt.Sprintf(", epoch %d", t.Epoch)
	case amp.TurnRedelivered:
		l.Role, l.Text = theme.Time, "no ACK at half of the time: delivered once more"
	case amp.TurnProgress:
		l.Text, l.Quoted = t.Text, true
	case amp.TurnEnded:
		l.Text = string(t.Outcome)
		if t.Outcome != amp.TurnOK {
			l.Role = theme.Danger
		}
		if t.TookMS > 0 {
			l.Text += " after " + ui.Clock(time.Duration(t.TookMS)*time.Millisecond)
		}
		if t.CostUSD > 0 {
			l.Text += fmt.Sprintf(", $%.2f", t.CostUSD)
		}
		if t.Text != "" {
			l.Text += ": " + quoted(t.Text)
		}
	}
	return l
}

func checkLine(e *amp.Entry, c *amp.Check) line {
	l := line{Sign: "check", What: "check " + string(c.Subject), From: e.Actor}
	yes, no, unknown := c.Count()
	if len(c.Claims) > 0 {
		l.Text = fmt.Sprintf("claims ✓%d ✗%d ?%d", yes, no, unknown)
	}
	if no > 0 {
		l.Role = theme.Danger
		for _, cl := range c.Claims {
			if cl.Finding == amp.Refuted {
				l.Text += " " + cl.Name
			}
		}
	}
	for _, k := range sortedKeys(c.CI) {
		l.Text += ", ci " + k + " " + c.CI[k]
	}
	if c.Text != "" {
		if l.Text != "" {
			l.Text += ", "
		}
		l.Text += c.Text
	}
	return l
}

func refusalLine(e *amp.Entry, r *amp.Refusal) line {
	l := line{Sign: "refusal", Role: theme.Danger, What: "refused " + r.What, From: r.Source}
	if len(r.Problems) > 0 {
		l.Text = r.Problems[0].String()
		if n := len(r.Problems) - 1; n > 0 {
			l.Text += fmt.Sprintf(" and %d more", n)
		}
	}
	return l
}
