package amp

import (
	"context"
	"fmt"
)

// Evidence is on what an escalation was decided: the state that the admin named, what was on the screen, what was typed, and what
// the coordinator verified for the decision.
type Evidence struct {
	// Seq is the entry of the decision.
	Seq     uint64   `json:"seq"`
	Expects *Expects `json:"expects,omitzero"`
	Read    string   `json:"read,omitzero"`
	Unread  int      `json:"unread,omitzero"`
	Digits  string   `json:"digits,omitzero"`
	Note    string   `json:"note,omitzero"`
	// Checks are the checklist of a resume or unlock, and what was verified when the decision was carried out.
	Checks []Claim `json:"checks,omitzero"`
}

// EscalationRecord is an escalation with its decision, evidence and durations, as it is exported. Its names are stable.
type EscalationRecord struct {
	PastEscalation
	IsOpen bool `json:"open"`
	// DecidedAfter and CarriedOutAfter are seconds since it was raised.
	DecidedAfter    float64   `json:"decided_after_sec,omitzero"`
	CarriedOutAfter float64   `json:"carried_out_after_sec,omitzero"`
	Evidence        *Evidence `json:"evidence,omitzero"`
}

// Record is the escalation as it is exported, with the evidence of its decision or nil.
func (p *PastEscalation) Record(ev *Evidence) EscalationRecord {
	r := EscalationRecord{PastEscalation: *p, IsOpen: p.Open(), Evidence: ev}
	if decided, carried, ok := p.Took(); ok {
		r.DecidedAfter, r.CarriedOutAfter = decided.Seconds(), carried.Seconds()
	}
	return r
}

// checksBefore is how many entries before a decision its checklist stands at most: they are of one append.
const checksBefore = 4

// ReadEvidence reads on what an escalation was decided, from whoever answers ask; nil while it is not decided.
func (p *PastEscalation) ReadEvidence(ctx context.Context, ask func(context.Context, Query) (Page, error)) (*Evidence, error) {
	if p.Decision == "" {
		return nil, nil //nolint:nilnil // what is not decided has none
	}
	got, err := ask(ctx, Query{Kind: QueryEntries, Filter: Filter{ID: p.Decision, Limit: 1}})
	if err != nil {
		return nil, err
	}
	if len(got.Entries) == 0 {
		return nil, fmt.Errorf("the decision %s of %s is not in the journal", p.Decision, p.MsgID)
	}
	e := &got.Entries[0]
	c, err := DecodeBody[Command](e)
	if err != nil {
		return nil, fmt.Errorf("read the decision in entry %d: %w", e.Seq, err)
	}
	ev := &Evidence{Seq: e.Seq, Expects: c.Expects, Read: c.Args.Read, Unread: c.Args.Unread, Digits: c.Args.Digits, Note: c.Note}
	f := Filter{TaskID: p.TaskID, Kinds: []Kind{KindCheck}, After: e.Seq - min(e.Seq, checksBefore), Before: max(p.ResolvedSeq, e.Seq) + 1}
	if got, err = ask(ctx, Query{Kind: QueryEntries, Filter: f}); err != nil {
		return nil, err
	}
	for i := range got.Entries {
		if check, err := DecodeBody[Check](&got.Entries[i]); err == nil && check.For == p.Decision {
			ev.Checks = append(ev.Checks, check.Claims...)
		}
	}
	return ev, nil
}
