package amp

import "slices"

// facets are the values of an entry that fields of a search ask for.
type facets struct {
	types      []MessageType
	from       []string
	to         []Role
	agents     []string
	statuses   []string
	decisions  []Decision
	severities []string
	rules      []string
	is         []SearchProperty
}

// facetsOf reads them from an entry. A body that does not decode has only those of the header.
func facetsOf(e *Entry) *facets {
	f := &facets{from: []string{string(e.Role), e.Actor}, agents: []string{e.Actor}}
	switch e.Kind {
	case KindMessage:
		if m, err := read(e.Body); err == nil {
			m.normalise()
			f.message(m)
		}
	case KindAck:
		readFacets(e, f.ack)
	case KindCommand:
		readFacets(e, func(c *Command) {
			if d := c.Args.Decision; d != "" {
				f.decisions = append(f.decisions, d)
			}
			f.agent(c.Args.Executor, c.Args.Reviewer)
		})
	case KindPlan:
		readFacets(e, func(p *Plan) { f.agent(p.Author, p.Executor, p.Reviewer) })
	case KindTurn:
		readFacets(e, func(t *Turn) {
			f.agent(t.Agent)
			f.status(string(t.Outcome))
		})
	case KindQuestion:
		readFacets(e, func(q *Question) { f.agent(q.Agent) })
	case KindRefusal:
		readFacets(e, f.refusal)
	case KindChain:
		readFacets(e, func(c *Chain) {
			f.agent(c.Agent)
			f.status(string(c.Result))
			for _, p := range slices.Concat(c.Problems, c.Warnings) {
				f.rules = append(f.rules, p.Rule)
			}
			for _, r := range c.Repairs {
				f.rules = append(f.rules, r.Rule)
			}
			if c.Result == ChainHeld {
				f.is = append(f.is, IsHeld)
			}
		})
	case KindOutside:
		readFacets(e, func(o *Outside) {
			if o.CI != nil {
				f.status(string(o.CI.State))
			}
		})
	case KindCheck, KindBus:
	}
	return f
}

func readFacets[T any](e *Entry, f func(*T)) {
	if v, err := DecodeBody[T](e); err == nil {
		f(&v)
	}
}

func (f *facets) message(m *Message) {
	f.types, f.to = []MessageType{m.Type}, []Role{m.To}
	f.from = append(f.from, string(m.From))
	switch p := m.Payload.(type) {
	case *Result:
		f.status(string(p.CompletionStatus))
		if p.CompletionStatus == Partial || p.CompletionStatus == Failed {
			f.is = append(f.is, IsHeld)
		}
	case *Verdict:
		f.decisions = append(f.decisions, p.Decision)
		for _, i := range p.Issues {
			f.severities = append(f.severities, string(i.Severity))
		}
		if (&Task{}).HoldReason(p) != "" {
			f.is = append(f.is, IsHeld)
		}
	case *Escalation:
		f.severities = append(f.severities, string(p.Severity))
		f.status(string(p.SystemStateSnapshot.TaskStatus))
	}
}

func (f *facets) ack(a *Ack) {
	f.from = append(f.from, string(a.By))
	f.status(string(a.Status))
	if a.Late {
		f.is = append(f.is, IsLate)
	}
	if a.Status != AckRefused {
		return
	}
	f.is = append(f.is, IsRefused)
	if typ, _, _, err := ParseMsgID(a.AckFor); err == nil && typ == TaskDispatch {
		f.is = append(f.is, IsHeld)
	}
}

func (f *facets) refusal(r *Refusal) {
	f.types = []MessageType{MessageType(r.What)}
	f.is = append(f.is, IsRefused)
	for _, p := range r.Problems {
		f.rules = append(f.rules, p.Rule)
		if p.Rule == RuleEpoch {
			f.is = append(f.is, IsLate)
		}
	}
}

func (f *facets) agent(names ...string) {
	for _, n := range names {
		if n != "" {
			f.agents = append(f.agents, n)
		}
	}
}

func (f *facets) status(s string) {
	if s != "" {
		f.statuses = append(f.statuses, s)
	}
}
