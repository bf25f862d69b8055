package tui

import (
	"fmt"
	"strings"

	"arbiter/amp"
)

// menuRoom is where a conversation begins. Its first numbers are those of the tabs of the screens.
type menuRoom struct{}

func (*menuRoom) at() Place { return Place{Kind: KindNow} }

// tell says how things stand, in a few sentences.
func (*menuRoom) tell(p *plain) {
	x := p.e.Index
	if s := p.e.Board.Stopped; s != nil {
		p.say("Everything stands still since %s: %s stopped it. thaw lets it go on.", p.e.Clock(s.At), s.By)
	}
	switch n := len(x.Needs); n {
	case 0:
		p.say("Nothing needs you.")
	case 1:
		p.say("One thing needs you: %s.", p.needCounts())
	default:
		p.say("%s need you: %s.", capital(counted(n, "thing")), p.needCounts())
	}
	p.say("%s", p.taskCounts())
	p.tellWaiting()
}

// taskCounts is how the tasks stand.
func (p *plain) taskCounts() string {
	x := p.e.Index
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{x.Count(amp.Drafting, amp.Dispatched, amp.Executing, amp.Verifying, amp.Reviewing), "at work"},
		{x.Count(amp.AwaitingApproval), "awaiting approval"},
		{x.Count(amp.Held, amp.Suspended, amp.Locked), "standing still"},
		{x.Count(amp.StatusApproved), "approved"},
		{x.Count(amp.Delivered), "delivered"},
		{x.Count(amp.Terminated), "terminated"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	all := capital(counted(len(p.e.Board.Order), "task"))
	if parts == nil {
		return all + "."
	}
	return all + ": " + strings.Join(parts, ", ") + "."
}

// tellWaiting says which decisions still can be taken back.
func (p *plain) tellWaiting() {
	if w, mine := p.e.soonest(); w != nil {
		by, undo := w.Command.By+"'s", ""
		if mine {
			by, undo = "Your", "; u takes it back"
		}
		p.say("%s %s of %s runs %s%s.", by, strings.ReplaceAll(string(w.Command.Command), "_", " "), w.Command.TaskID, p.until(w.Due), undo)
	}
}

// needCounts is what waits, by kind.
func (p *plain) needCounts() string {
	var parts []string
	for _, k := range []struct {
		kind amp.NeedKind
		word string
	}{
		{amp.NeedEscalation, "escalation"},
		{amp.NeedQuestion, "question"},
		{amp.NeedHeld, "held task"},
		{amp.NeedFailed, "decision not carried out"},
		{amp.NeedPlan, "plan"},
		{amp.NeedDelivery, "delivery"},
		{amp.NeedStopped, "task that stands still"},
	} {
		n := 0
		for i := range p.e.Index.Needs {
			if p.e.Index.Needs[i].Kind == k.kind {
				n++
			}
		}
		switch {
		case n > 1 && k.kind == amp.NeedFailed:
			parts = append(parts, fmt.Sprintf("%d decisions not carried out", n))
		case n > 1 && k.kind == amp.NeedStopped:
			parts = append(parts, fmt.Sprintf("%d tasks that stand still", n))
		case n > 1 && k.kind == amp.NeedDelivery:
			parts = append(parts, fmt.Sprintf("%d deliveries", n))
		case n > 0:
			parts = append(parts, counted(n, k.word))
		}
	}
	return strings.Join(parts, ", ")
}

func (*menuRoom) choices(p *plain) []way {
	x := p.e.Index
	to := func(r room) func() error { return func() error { p.enter(r); return nil } }
	return []way{
		{text: fmt.Sprintf("All that needs you: %d.", len(x.Needs)), do: to(&needsRoom{})},
		{text: fmt.Sprintf("Tasks: %d.", len(p.e.Board.Order)), do: to(&tasksRoom{})},
		{text: fmt.Sprintf("Inbox: %d.", x.Inbox), do: to(&needsRoom{inbox: true})},
		{text: fmt.Sprintf("Plans: %d.", x.Plans), do: to(&needsRoom{plans: true})},
		{text: "History: search the journal.", do: to(&historyRoom{})},
		{text: "Agents.", do: to(&agentsRoom{})},
		{text: "Errors.", do: to(&errorsRoom{})},
		{text: "New wish: a task from your own words.", off: p.e.Off(), do: func() error { return p.act(wishNew) }},
		{text: "Help.", do: func() error { p.help(); return nil }},
		{text: "Quit.", do: func() error { return errLeft }},
	}
}

// needsRoom lists what waits, the gravest first: all of it, the Inbox, or the plans.
type needsRoom struct{ inbox, plans bool }

func (r *needsRoom) at() Place {
	switch {
	case r.inbox:
		return Place{Kind: KindInbox}
	case r.plans:
		return Place{Kind: KindPlans}
	}
	return Place{Kind: KindNow}
}

func (r *needsRoom) needs(p *plain) []need {
	var out []need
	for _, n := range p.e.Index.Needs {
		if r.inbox && n.Kind == amp.NeedPlan || r.plans && n.Kind != amp.NeedPlan {
			continue
		}
		out = append(out, n)
	}
	return out
}

func (r *needsRoom) tell(p *plain) {
	name := map[bool]string{true: "Plans", false: "What needs you"}[r.plans]
	if r.inbox {
		name = "Inbox"
	}
	n := len(r.needs(p))
	if n == 0 {
		p.say("%s: nothing waits. What is stuck comes here by itself.", name)
		return
	}
	p.say("%s, %s, the gravest first. A number opens one.", name, counted(n, "item"))
}

func (r *needsRoom) choices(p *plain) []way {
	var out []way
	for _, n := range r.needs(p) {
		out = append(out, way{text: p.needWords(&n), do: func() error { p.enter(p.roomAt(n.Place())); return nil }})
	}
	return append(out, way{text: "Back.", do: func() error { p.back(); return nil }})
}

// tasksRoom lists the tasks, those at work first.
type tasksRoom struct{ filter string }

func (*tasksRoom) at() Place { return Place{Kind: KindTasks} }

func (r *tasksRoom) tell(p *plain) {
	p.say("Tasks: %d. Those at work come first. A number opens one; show and an id opens any.", len(p.e.Board.Order))
	if r.filter != "" {
		p.say("Only those with %s.", quoted(r.filter))
	}
}

func (r *tasksRoom) choices(p *plain) []way {
	order := taskOrder{by: byWork}
	if r.filter != "" {
		order.keep = func(t *amp.Task) bool { return strings.Contains(p.e.Index.Match(t.ID), strings.ToLower(r.filter)) }
	}
	order.rebuild(p.e.Board)
	out := make([]way, 0, len(order.keys)+2)
	for _, k := range order.keys {
		out = append(out, way{text: p.taskWords(p.task(k.id)), do: func() error { p.enter(&taskRoom{id: k.id}); return nil }})
	}
	return append(out,
		way{text: "Only tasks with some words.", do: func() error {
			text, given, err := p.text("words", "", nil, false)
			if err == nil && given {
				p.enter(&tasksRoom{filter: text})
			}
			return err
		}},
		way{text: "Back.", do: func() error { p.back(); return nil }})
}

// agentsRoom says who works on what.
type agentsRoom struct{}

func (*agentsRoom) at() Place { return Place{Kind: KindAgents} }

func (*agentsRoom) tell(p *plain) {
	all := p.e.agents()
	if len(all) == 0 {
		p.say("Agents: the coordinator has named none.")
		return
	}
	if n := p.e.slots(); n > 0 {
		p.say("Agents: %s, %d of %d turns at work.", counted(len(all), "agent"), len(p.e.Index.Running), n)
	}
	for _, a := range all {
		if a.turns == 0 {
			p.say("%s is idle.", a.name)
			continue
		}
		watch := ""
		if p.e.Now.Sub(a.last) >= watchAfter {
			watch = ", worth a look"
		}
		p.say("%s has %s at work; the longest silence began %s%s.", a.name, counted(a.turns, "turn"), p.ago(a.last), watch)
	}
}

func (*agentsRoom) choices(p *plain) []way {
	var out []way
	for _, id := range p.e.Board.Order {
		t := p.task(id)
		if t.Turn == nil {
			continue
		}
		out = append(out, way{
			text: fmt.Sprintf("%s works on %s as %s, since %s.", t.Turn.Agent, id, t.Turn.Role, p.e.Clock(t.Turn.StartedAt)),
			do:   func() error { p.enter(&taskRoom{id: id}); return nil },
		})
	}
	return append(out, way{text: "Back.", do: func() error { p.back(); return nil }})
}

// errorsRoom lists what went wrong here and what the protocol refused.
type errorsRoom struct{ log []amp.Entry }

func (*errorsRoom) at() Place { return Place{Kind: KindErrors} }

func (r *errorsRoom) tell(p *plain) {
	p.say("Errors of this conversation: %d.", len(p.e.errors))
	for _, f := range p.e.errors[max(len(p.e.errors)-onPage, 0):] {
		p.say("%s: %s", p.e.Clock(f.At), sentence(spoken(f.What)))
		if f.Means != "" {
			p.say("%s", sentence(f.Means))
		}
		if f.Next != "" {
			p.say("Next: %s", sentence(f.Next))
		}
	}
	page, err := p.query(amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{Kinds: []amp.Kind{amp.KindRefusal}, Newest: true, Limit: windowPage}})
	if err != nil {
		p.say("What the protocol refused could not be read: %s", sentence(err.Error()))
		return
	}
	r.log = page.Entries
	p.say("Refused by the protocol: %d in all. A number opens one.", p.e.Board.Refusals)
}

func (r *errorsRoom) choices(p *plain) []way {
	return append(p.entryWays(r.log), way{text: "Back.", do: func() error { p.back(); return nil }})
}
