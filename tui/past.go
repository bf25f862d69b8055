package tui

import "arbiter/amp"

// pastPlan is a plan revision of the journal and what became of it.
type pastPlan struct {
	entry  amp.Entry
	plan   *amp.Plan
	reject *amp.Command // the reject that ended it, nil
}

// round is one round of a task: from a dispatch to its verdict, as far as it came.
type round struct {
	// N counts dispatches of the task from 1.
	N                            int
	Dispatch, Outcome, Judgement amp.Entry
	result                       *amp.Result
	verdict                      *amp.Verdict
	check                        *amp.Check // of the result, nil before
	checkSeq                     uint64
}

// pastFacts is what the entries of a past say, decoded once.
type pastFacts struct {
	n         int // entries that were decoded
	lines     map[uint64]line
	rows      map[uint64]string // as cards show them, drawn for look
	look      rowLook
	plans     []pastPlan
	rounds    []round
	snapshots map[string]amp.Snapshot // by msg_id of the escalation
	seqs      map[string]uint64       // of messages, by msg_id
	commands  map[string]amp.Command  // by id
	ci        *amp.Check              // the last one that failed
}

// rowLook is what a drawn row depends on besides its entry.
type rowLook struct {
	epoch uint64
	day   int
}

// line is what an entry says, decoded once.
func (f *pastFacts) line(en *amp.Entry) line {
	l, ok := f.lines[en.Seq]
	if !ok {
		l = describe(en)
		if f.lines == nil {
			f.lines = map[uint64]line{}
		}
		f.lines[en.Seq] = l
	}
	return l
}

// facts decodes the entries that came since it was asked last.
func (p *past) facts(t *amp.Task) *pastFacts {
	f := p.known
	if f == nil {
		f = &pastFacts{snapshots: map[string]amp.Snapshot{}, seqs: map[string]uint64{}, commands: map[string]amp.Command{}}
		p.known = f
	}
	for ; f.n < len(p.entries); f.n++ {
		f.take(&p.entries[f.n])
	}
	if n := len(f.rounds); n > 0 && t != nil { // the oldest may lie before the entries that are known
		for i := range f.rounds {
			f.rounds[i].N = max(t.Round-n+1+i, 1)
		}
	}
	return f
}

func (f *pastFacts) take(en *amp.Entry) {
	switch en.Kind {
	case amp.KindPlan:
		if plan, err := amp.DecodeBody[amp.Plan](en); err == nil {
			f.plans = append(f.plans, pastPlan{entry: *en, plan: &plan})
		}
	case amp.KindCommand:
		c, err := amp.DecodeBody[amp.Command](en)
		if err != nil {
			return
		}
		f.commands[c.ID] = c
		if c.Command == amp.Reject && len(f.plans) > 0 {
			f.plans[len(f.plans)-1].reject = &c
		}
	case amp.KindCheck:
		c, err := amp.DecodeBody[amp.Check](en)
		switch n := len(f.rounds); {
		case err != nil:
		case c.Subject == amp.CheckCI && c.Output != "":
			f.ci = &c
		case c.Subject == amp.CheckResult && n > 0:
			f.rounds[n-1].check, f.rounds[n-1].checkSeq = &c, en.Seq
		}
	case amp.KindMessage:
		if m, _, err := amp.Decode(en.Body); err == nil {
			f.message(en, m)
		}
	case amp.KindAck, amp.KindTurn, amp.KindQuestion, amp.KindRefusal, amp.KindChain, amp.KindBus, amp.KindOutside:
	}
}

func (f *pastFacts) message(en *amp.Entry, m *amp.Message) {
	f.seqs[m.MsgID] = en.Seq
	var last *round
	if n := len(f.rounds); n > 0 {
		last = &f.rounds[n-1]
	}
	switch p := m.Payload.(type) {
	case *amp.Dispatch:
		f.rounds = append(f.rounds, round{Dispatch: *en})
	case *amp.Result:
		if last != nil {
			last.Outcome, last.result = *en, p
		}
	case *amp.Verdict:
		if last != nil {
			last.Judgement, last.verdict = *en, p
		}
	case *amp.Escalation:
		f.snapshots[m.MsgID] = p.SystemStateSnapshot
	}
}

// lastRound is the newest round, nil for none.
func (f *pastFacts) lastRound() *round {
	if len(f.rounds) == 0 {
		return nil
	}
	return &f.rounds[len(f.rounds)-1]
}
