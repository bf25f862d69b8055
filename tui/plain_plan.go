package tui

import (
	"fmt"
	"strings"

	"arbiter/amp"
)

// planRoom is one plan: the contract, its subtasks, which are read out, and the decision about it.
type planRoom struct{ id amp.TaskID }

func (r *planRoom) at() Place { return Place{Kind: KindPlan, ID: string(r.id)} }

// page is the page of the screens that stands for the room, nil when another one is open.
func (r *planRoom) page(p *plain) *planPage {
	page, _ := p.e.nav.top().page.(*planPage)
	return page
}

func (r *planRoom) tell(p *plain) {
	t := p.task(r.id)
	switch {
	case t == nil:
		p.say("There is no task %s any more.", r.id)
		return
	case t.Plan == nil:
		p.say("%s has no plan yet: the task is %s.", r.id, statusWords(t.Status))
		if t.Wish != nil {
			p.quote("The wish:", t.Wish.Text, 0)
		}
		if t.Guidance != "" {
			p.quote("Guidance for the next revision:", t.Guidance, 0)
		}
		return
	}
	pl := t.Plan
	p.say("Plan of %s, revision %d, %s since %s.", r.id, pl.Revision, statusWords(t.Status), p.e.Clock(t.Since))
	p.quote("Title:", pl.Title, 0)
	lines := 0
	for _, s := range pl.Subtasks {
		lines += s.EstimatedLines
	}
	p.say("By %s, %s, about %d lines.", pl.Author, counted(len(pl.Subtasks), "subtask"), lines)
	r.tellRisk(p, t)
	r.tellDelta(p, t)
	r.tellContract(p, pl)
	for i, c := range pl.AcceptanceCriteria {
		p.quote(fmt.Sprintf("Criterion %d of %d:", i+1, len(pl.AcceptanceCriteria)), c, 0)
	}
	if pl.Description != "" && pl.Description != pl.Title {
		p.quote("Description:", pl.Description, 0)
	}
	if pl.Reasons != "" {
		p.quote(pl.Author+" says:", pl.Reasons, 0)
	}
	r.tellSubtasks(p, t)
	p.tellWaiting()
}

func (r *planRoom) tellRisk(p *plain, t *amp.Task) {
	p.say("The risk is %s.", t.Plan.RiskLevel)
	for _, why := range riskReasons(t) {
		text := sentence(why.text)
		if strings.HasPrefix(why.text, t.Plan.Author) { // a name stays as it is
			text = why.text + "."
		}
		p.say("%s", text)
	}
}

// tellDelta is what a revision changes: a re-approval asks about it and binds the whole.
func (r *planRoom) tellDelta(p *plain, t *amp.Task) {
	page := r.page(p)
	if page == nil || t.Plan.Revision < 2 {
		return
	}
	from := page.before()
	if from == nil {
		p.say("This is no first revision, and the one before is not known.")
		p.tellPastError(t)
		return
	}
	changes := page.changes()
	if len(changes) == 0 {
		p.say("From revision %d to %d nothing that an approval binds has changed.", from.Revision, t.Plan.Revision)
		return
	}
	p.say("From revision %d to %d, %s:", from.Revision, t.Plan.Revision, counted(len(changes), "change"))
	for _, ch := range changes {
		p.quote(fmt.Sprintf("%s, %s:", map[string]string{"+": "Added", "−": "Taken away"}[ch.Sign]+map[bool]string{true: "Changed"}[ch.Sign == "±"], ch.What), ch.Text, 0)
	}
	for _, before := range p.e.desk.past(r.id).facts(t).plans {
		if before.reject != nil {
			p.quote(fmt.Sprintf("Revision %d was rejected by %s:", before.plan.Revision, before.reject.By), before.reject.Note, 0)
		}
	}
}

// tellContract is what an approval binds besides the steps.
func (r *planRoom) tellContract(p *plain, pl *amp.Plan) {
	p.say("Branch: %s, from %s at %s.", quoted(pl.Branch), quoted(pl.BaseBranch), short(pl.BaseCommit))
	p.say("Repository: %s.", quoted(pl.Repo))
	if len(pl.AllowedPaths) == 0 {
		p.say("Paths: none are named, so every file may change.")
	} else {
		p.say("Paths that may change: %s.", quotedAll(pl.AllowedPaths))
	}
	if len(pl.ForbiddenActions) > 0 {
		p.say("Forbidden: %s.", quotedAll(pl.ForbiddenActions))
	}
	if tech := techs(pl.TechConstraints); len(tech) > 0 {
		p.say("Technical constraints: %s.", quotedAll(tech))
	}
	if len(pl.Checks) > 0 {
		p.say("Checks: %s.", quotedAll(argvs(pl.Checks)))
	}
	if b := budgetOf(pl.Budget); b != "" {
		p.say("Budget: %s.", b)
	}
}

func quotedAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quoted(s)
	}
	return strings.Join(out, ", ")
}

// tellSubtasks says the steps. At low risk they are said here; above it they are read out one by one, because each must have been
// heard before an approval.
func (r *planRoom) tellSubtasks(p *plain, t *amp.Task) {
	read := p.e.desk.reading(r.id)
	read.look(p.e.Now)
	p.say("Executor %s, reviewer %s.", p.e.agentOf(t, amp.Executor), p.e.agentOf(t, amp.Reviewer))
	if t.Plan.RiskLevel != amp.Low {
		n := len(t.Plan.Subtasks)
		p.say("The subtasks are read out one by one before you can approve: %d of %d heard.", n-len(read.unread(t.Plan)), n)
		return
	}
	for i, s := range t.Plan.Subtasks {
		p.quote(subtaskHead(t.Plan, i), s.Description, 0)
		read.saw(s)
	}
}

func subtaskHead(pl *amp.Plan, i int) string {
	return fmt.Sprintf("Subtask %d of %d, about %d lines:", i+1, len(pl.Subtasks), pl.Subtasks[i].EstimatedLines)
}

func (r *planRoom) choices(p *plain) []way {
	var out []way
	t := p.task(r.id)
	if t != nil && t.Plan != nil {
		approve := p.action(planApprove)
		prop := proposal{Command: amp.Approve, TaskID: r.id}
		approve.off = prop.off(p.e)
		approve.do = func() error { return r.approve(p) }
		if n := len(p.e.desk.reading(r.id).unread(t.Plan)); n > 0 && t.Plan.RiskLevel != amp.Low {
			approve.text = fmt.Sprintf("Approve: %s to hear first.", counted(n, "subtask"))
		}
		out = append(out, approve, p.action(planReject), r.edit(p), way{
			text: "Hear the subtasks one by one.", do: func() error { _, err := r.read(p, true); return err },
		})
	}
	return append(out, p.action("decide.own_words"), way{text: "Everything about the task.", do: func() error {
		p.enter(&taskRoom{id: r.id})
		return nil
	}}, way{text: "Back.", do: func() error { p.back(); return nil }})
}

// approve has what is unread read out, where the risk demands it, and opens the decision.
func (r *planRoom) approve(p *plain) error {
	t := p.task(r.id)
	if t == nil || t.Plan == nil {
		return nil
	}
	if readGate(t.Plan, p.e.desk.reading(r.id).unread(t.Plan)) != "" {
		if whole, err := r.read(p, false); err != nil || !whole {
			return err
		}
	}
	prop := proposal{Command: amp.Approve, TaskID: r.id}
	p.e.desk.reading(r.id).look(p.e.now())
	p.launch(p.e.decide(prop))
	return nil
}

// edit opens the whole plan in an editor. What is to be read before an approval is read out first: the edited plan can be approved
// at once, and what the edit leaves alone counts as heard only then. Who stops listening may edit all the same.
func (r *planRoom) edit(p *plain) way {
	w := p.action(planEdit)
	open := w.do
	w.do = func() error {
		if t := p.task(r.id); t != nil && t.Plan != nil && readGate(t.Plan, p.e.desk.reading(r.id).unread(t.Plan)) != "" {
			p.say("First what you may approve together with your change:")
			if _, err := r.read(p, false); err != nil {
				return err
			}
		}
		return open()
	}
	return w
}

// read reads the subtasks out, one by one: all of them, or those that were not heard. A subtask counts as heard when the person says
// so; whole is true when none is left.
func (r *planRoom) read(p *plain, all bool) (whole bool, err error) {
	read := p.e.desk.reading(r.id)
	hash := p.task(r.id).Plan.Hash
	for i := 0; ; i++ {
		t := p.task(r.id)
		switch {
		case t == nil || t.Plan == nil:
			return false, nil
		case t.Plan.Hash != hash:
			p.say("Revision %d came while you listened: it begins anew.", t.Plan.Revision)
			hash, i = t.Plan.Hash, -1
			continue
		case i >= len(t.Plan.Subtasks):
			if n := len(read.unread(t.Plan)); n > 0 {
				p.say("%s left to hear.", capital(counted(n, "subtask"))+map[bool]string{true: " is", false: " are"}[n == 1])
				return false, nil
			}
			p.say("Every subtask was heard.")
			return true, nil
		case !all && read.has(t.Plan.Subtasks[i]):
			continue
		}
		s := t.Plan.Subtasks[i]
		p.quote(subtaskHead(t.Plan, i), s.Description, 0)
		read.look(p.e.Now)
		heard, err := p.heard()
		read.look(p.e.now())
		switch {
		case err != nil:
			return false, err
		case heard == "stop":
			return false, nil
		case heard == "again":
			i--
		default:
			read.release(s)
			read.saw(s)
		}
	}
}

// heard asks whether what was read out was listened to; "" is yes.
func (p *plain) heard() (string, error) {
	for {
		p.lines.Discard()
		answer, err := p.ask("Type h when you have heard it, a to hear it again, s to stop:")
		if err != nil {
			return "", err
		}
		switch strings.ToLower(answer) {
		case "h", "heard":
			return "", nil
		case "a", "again":
			return "again", nil
		case "s", "stop", "cancel", "back":
			return "stop", nil
		}
		p.say("It does not count as heard yet.")
	}
}
