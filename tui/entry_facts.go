package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
)

// entryFacts is an entry and what the journal says of it: who acknowledged it, what it refers to, its neighbours, and
// whether its hash holds.
type entryFacts struct {
	entry amp.Entry
	line  line
	// whole says that the hash is that of the bytes; chained that the entry before it has the hash that it names.
	whole, chained bool
	ack            *amp.Ack
	ackSeq         uint64
	ackAfter       time.Duration
	// refs are the entries that it names, in its own order; a ref that is not in the journal has no seq.
	refs []entryRef
	// prev and next are the entries before and behind it of the same task, 0 for none.
	prev, next uint64
	head       uint64 // the journal's last entry
}

// entryRef is a reference to an entry by its id.
type entryRef struct {
	id, what string
	seq      uint64
}

const maxRefs = 12

// refsOfBody are the ids that an entry names.
func refsOfBody(l *line) (refs []entryRef) {
	add := func(id, what string) {
		if id == "" || len(refs) == maxRefs || slices.ContainsFunc(refs, func(r entryRef) bool { return r.id == id }) {
			return
		}
		if typ, _, _, err := amp.ParseMsgID(id); err == nil {
			what = string(typ)
		}
		refs = append(refs, entryRef{id: id, what: what})
	}
	switch body := l.body.(type) {
	case *amp.Message:
		switch p := body.Payload.(type) {
		case *amp.Request:
			add(p.OriginalDispatchRef, "dispatch")
			add(p.TaskResultRef, "result")
		case *amp.Escalation:
			for _, id := range p.AffectedMsgs {
				add(id, "affected")
			}
			add(p.SystemStateSnapshot.LastSuccessfulMsgID, "last good")
		case *amp.Dispatch, *amp.Result, *amp.Verdict:
		}
		for _, id := range body.ContextRef {
			add(id, "context")
		}
	case *amp.Ack:
		add(body.AckFor, "message")
	case *amp.Turn:
		add(body.For, "works on")
	case *amp.Check:
		add(body.For, "checks")
	case *amp.Command:
		add(body.Args.Withdraws, "takes back")
		add(body.Args.Escalation, "escalation")
		add(body.Args.Question, "question")
	}
	return refs
}

// readEntry reads an entry with its facts; around asks for its neighbours in the task too.
func readEntry(ctx context.Context, s Session, seq uint64, around bool) (entryFacts, error) {
	ask := func(f amp.Filter) (amp.Page, error) {
		return s.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: f})
	}
	page, err := ask(amp.Filter{After: max(seq, 2) - 2, Before: seq + 1, Limit: 2})
	if err != nil {
		return entryFacts{}, err
	}
	n := len(page.Entries)
	if n == 0 || page.Entries[n-1].Seq != seq {
		return entryFacts{}, fmt.Errorf("there is no entry #%d; the journal ends at #%d", seq, page.Head.Seq)
	}
	f := entryFacts{entry: page.Entries[n-1], head: page.Head.Seq}
	e := &f.entry
	f.line = describe(e)
	f.whole = e.Sum() == e.Hash
	f.chained = seq == 1 && e.PrevHash == amp.Hash{} || n == 2 && page.Entries[0].Hash == e.PrevHash
	if err := f.readRefs(ask); err != nil {
		return f, err
	}
	if m, ok := f.line.body.(*amp.Message); ok && m.RequiresAck {
		page, err := ask(amp.Filter{TaskID: e.TaskID, After: seq, Kinds: []amp.Kind{amp.KindAck}, Limit: 20})
		if err != nil {
			return f, err
		}
		for i := range page.Entries {
			a, err := amp.DecodeBody[amp.Ack](&page.Entries[i])
			if err == nil && a.AckFor == m.MsgID {
				f.ack, f.ackSeq, f.ackAfter = &a, page.Entries[i].Seq, page.Entries[i].At.Sub(e.At)
				break
			}
		}
	}
	if !around || e.TaskID == "" {
		return f, nil
	}
	for _, side := range []struct {
		to     *uint64
		filter amp.Filter
	}{
		{&f.prev, amp.Filter{TaskID: e.TaskID, Before: seq, Newest: true, Limit: 1}},
		{&f.next, amp.Filter{TaskID: e.TaskID, After: seq, Limit: 1}},
	} {
		page, err := ask(side.filter)
		if err != nil {
			return f, err
		}
		if len(page.Entries) > 0 {
			*side.to = page.Entries[0].Seq
		}
	}
	return f, nil
}

// readRefs finds the entries that the entry names.
func (f *entryFacts) readRefs(ask func(amp.Filter) (amp.Page, error)) error {
	f.refs = refsOfBody(&f.line)
	for i := range f.refs {
		page, err := ask(amp.Filter{ID: f.refs[i].id, Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Entries) > 0 {
			f.refs[i].seq = page.Entries[0].Seq
		}
	}
	return nil
}
