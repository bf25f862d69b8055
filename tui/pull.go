package tui

import (
	"fmt"
	"net/url"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui/bar"
)

// outgoing is what a delivery by pull request would send: asked for when the bar opens, and judged again when it runs.
type outgoing struct {
	done bool
	plan *amp.PullPlan
	err  error
}

// outgoingMsg is the answer to [decision.look].
type outgoingMsg struct {
	plan *amp.PullPlan
	err  error
}

// pulls reports whether the coordinator delivers by pull request.
func (e *env) pulls() bool { return e.State != nil && e.State.Pulls }

// look asks the coordinator what it would send.
func (d *decision) look() tea.Cmd {
	s, ctx, id := d.e.Session, d.e.ctx, d.prop.TaskID
	return d.e.To(d, func() tea.Msg {
		page, err := s.Query(ctx, amp.Query{Kind: amp.QueryPull, TaskID: id})
		return outgoingMsg{page.Pull, err}
	})
}

// rows say what would go where.
func (o *outgoing) rows(e *env) []bar.Row {
	switch {
	case !o.done:
		return []bar.Row{{Label: "sends", Items: []string{"the coordinator looks at what it would send"}}}
	case o.err != nil:
		return []bar.Row{{Label: "sends", Items: []string{"not known: " + e.explained(o.err).What}}}
	case o.plan == nil:
		return []bar.Row{{Label: "sends", Items: []string{"not known: the coordinator answered nothing"}}}
	}
	p := o.plan
	rows := []bar.Row{}
	if p.Repo != "" {
		to := p.Repo
		if u, err := url.Parse(p.At); err == nil && u.Host != "" {
			to += " at " + u.Host
		}
		rows = append(rows, bar.Row{Label: "to", Items: []string{to, "branch " + p.Branch, "into " + p.Base}})
	}
	if p.Refused != "" {
		return append(rows, bar.Row{Label: "sends", Items: []string{"nothing: " + p.Refused}}, bar.Row{Label: "next", Items: []string{p.Next}})
	}
	return append(rows, bar.Row{Label: "sends", Items: []string{
		fmt.Sprintf("%s, %s the last", p.Count(), short(p.Commit)), size(p.BodyBytes) + " of text: plan, claims, verdict, journal head",
	}}, bar.Row{Label: "title", Items: []string{p.Title}})
}

// off says why nothing would be sent, and the way out.
func (o *outgoing) off() string {
	switch {
	case !o.done:
		return "the coordinator looks at what it would send"
	case o.err != nil || o.plan == nil:
		return "what would be sent is not known: esc, then stage it again"
	case o.plan.Refused != "":
		return o.plan.Refused
	}
	return ""
}

// tellPulls says where the pull request of a delivery is, when it was opened just now.
func (e *env) tellPulls(fresh []amp.Entry) {
	for i := range fresh {
		if fresh[i].Kind != amp.KindCheck {
			continue
		}
		if c, err := amp.DecodeBody[amp.Check](&fresh[i]); err == nil && c.Subject == amp.CheckWorkspace && c.Pull != nil {
			e.Toast(theme.Good, string(fresh[i].TaskID)+" is delivered: "+c.Pull.Name()+" "+c.Pull.URL)
		}
	}
}
