package coordinator

import (
	"slices"

	"arbiter/amp"
)

// settle ends the faults: agents answer, git works, clocks and processes go on. What is under way must come to a rest in which every
// task has ended or shows what it needs of the admin; then the admin decides what is needed, and every task must end.
func (s *sim) settle() {
	if s.failed != nil {
		return
	}
	s.calm = true
	s.tell("no more faults")
	for _, n := range s.nodes {
		n.gate.dies, n.gate.full = 0, 0
		n.gate.cut, n.gate.lost, n.apart = 0, false, false
		n.goOn()
		if n.down {
			n.start()
		}
	}
	s.quiet()
	for range 200 {
		if s.failed != nil {
			return
		}
		b := s.judge.board
		if b.Stopped != nil {
			s.admin.send(amp.Command{Command: amp.Thaw})
			s.quiet()
			continue
		}
		todo := false
		for _, id := range b.Order {
			t := b.Task(id)
			s.rests(t)
			if t.Status.Ended() {
				continue
			}
			todo = true
			if cmd := s.admin.sensible(t); cmd != nil {
				s.admin.send(*cmd)
			} else {
				s.fail("ends", "nobody can help %s on, which is %s", id, t.Status)
			}
		}
		if !todo {
			s.judge.ended()
			return
		}
		s.quiet()
	}
	for _, id := range s.judge.board.Order {
		if t := s.judge.board.Task(id); !t.Status.Ended() {
			s.fail("ends", "%s is still %s after 200 decisions", id, t.Status)
		}
	}
}

// quiet lets everything happen that happens by itself.
func (s *sim) quiet() {
	for range 20000 {
		if s.failed != nil {
			return
		}
		if s.goOn() {
			continue
		}
		if s.atRest() {
			return
		}
		s.pass(s.untilDue())
	}
	for _, n := range s.nodes {
		s.tell("%s: deadlines %v, wanted %v, dirty %v, stalled %v, at %v of %v", n.name, n.c.deadlines, n.c.wanted, n.c.dirty, n.c.stalled, n.c.board.Head.Seq, len(s.judge.entries))
	}
	var names []string
	for _, f := range s.fibers {
		names = append(names, f.name)
	}
	s.fail("ends", "it never comes to a rest: %v", names)
}

// atRest reports whether nothing waits for a clock any more.
func (s *sim) atRest() bool {
	for _, n := range s.nodes {
		if len(n.c.deadlines)+len(n.c.wanted)+len(n.c.dirty) > 0 || n.c.stalled.After(n.c.now()) || n.c.board.Head != s.judge.board.Head {
			return false
		}
	}
	return !slices.ContainsFunc(s.fibers, func(f *fiber) bool { return !f.chore })
}

// rests holds a task at rest to showing what it waits for.
func (s *sim) rests(t *amp.Task) {
	var why string
	shown := len(t.Questions) + len(t.Failed) + len(t.OpenEscalations())
	switch {
	case t.Turn != nil:
		why = "turn " + t.Turn.TurnID + " is open and nothing happens"
	case t.Status.Ended() && !t.Released && t.Round > 0:
		why = "its worktree is not given back"
	case t.Status.Ended(), t.Status == amp.StatusApproved, t.Status == amp.AwaitingApproval, t.Status == amp.Held && t.Hold != nil:
	case shown == 0:
		why = "it shows no need"
	}
	if (t.Status == amp.Suspended || t.Status == amp.Locked) && t.Proof == 0 {
		why = "nothing proves that it stands still"
	}
	if why != "" {
		s.fail("ends", "%s is %s at rest, but %s", t.ID, t.Status, why)
	}
	for _, p := range s.order {
		if p.works() && p.task == t.ID {
			s.fail("ends", "%s is at rest, but turn %s runs", t.ID, p.turn)
		}
	}
}
